package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

const (
	gpusPerNode = 8
	gpu         = "nvidia.com/gpu"
	namespace   = "default"
	// makers is how many objects are made or deleted at once, outside of what is measured.
	makers = 32
)

// world is etcd, kube-apiserver and nodes that are objects and nothing else:
// no kubelet, simulated or not, and no controllers compete for the processors.
type world struct {
	cluster *cluster.Cluster
	core    kubernetes.Interface // in protobuf
	custom  client.Client
	nodes   []string
}

// newWorld brings up a control plane, makes the nodes and leaves only etcd and
// the API server running.
func newWorld(ctx context.Context, nodes int) (*world, error) {
	crds, err := cluster.CRDs()
	if err != nil {
		return nil, err
	}
	c, err := cluster.Up(ctx, cluster.Config{CRDs: []string{crds}, Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	w := &world{cluster: c}
	if err := w.furnish(ctx, nodes); err != nil {
		_ = w.down(context.WithoutCancel(ctx))
		return nil, err
	}
	return w, nil
}

func (w *world) furnish(ctx context.Context, nodes int) error {
	for _, idle := range []string{"kwok", "kube-controller-manager"} {
		if err := w.cluster.Kill(idle); err != nil {
			return err
		}
	}
	cfg := w.cluster.RESTConfig()
	var err error
	if w.core, err = protobuf(cfg); err != nil {
		return err
	}
	known := runtime.NewScheme()
	if err := schedulingv1beta1.AddToScheme(known); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	if w.custom, err = client.New(cfg, client.Options{Scheme: known}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	for i := range nodes {
		w.nodes = append(w.nodes, fmt.Sprintf("node-%04d", i))
	}
	return each(ctx, nodes, func(ctx context.Context, i int) error { return w.addNode(ctx, w.nodes[i]) })
}

// protobuf makes a client as light as there is.
func protobuf(cfg *rest.Config) (kubernetes.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	cfg.UserAgent = "bench"
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return core, nil
}

func (w *world) down(ctx context.Context) error { return w.cluster.Down(ctx) }

// each does n things, [makers] at once.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(makers)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// addNode makes a node that is ready. The API server taints each new one until
// somebody says that it is.
func (w *world) addNode(ctx context.Context, name string) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("96"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods: resource.MustParse("110"), gpu: *resource.NewQuantity(gpusPerNode, resource.DecimalSI),
	}
	_, err := w.core.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelTopologyZone: "zone-a",
		}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Bench"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	if _, err := w.core.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("take the taint off node %s: %w", name, err)
	}
	return nil
}

// member is pod i of a gang. It asks for one GPU.
func member(gang string, i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", gang, i),
			Annotations: map[string]string{schedulingv1beta1.GroupNameAnnotation: gang},
		},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano", AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{
				Name: "main", Image: "image",
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: *resource.NewQuantity(1, resource.DecimalSI)}},
			}},
		},
	}
}

// addGang makes a PodGroup that needs all its pods.
func (w *world) addGang(ctx context.Context, name string, size int) error {
	err := w.custom.Create(ctx, &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       schedulingv1beta1.PodGroupSpec{MinMember: int32(size), Queue: schedulingv1beta1.DefaultQueue},
	})
	if err != nil {
		return fmt.Errorf("create PodGroup %s: %w", name, err)
	}
	return nil
}

func (w *world) addPod(ctx context.Context, gang string, i int) (*corev1.Pod, error) {
	pod, err := w.core.CoreV1().Pods(namespace).Create(ctx, member(gang, i), metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create pod %d of %s: %w", i, gang, err)
	}
	return pod, nil
}

// clear deletes all pods, their events and all PodGroups, and waits until they are gone.
func (w *world) clear(ctx context.Context) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	pods := w.core.CoreV1().Pods(namespace)
	for {
		if err := pods.DeleteCollection(ctx, now, metav1.ListOptions{}); err != nil {
			return fmt.Errorf("delete pods: %w", err)
		}
		left, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		if len(left.Items) == 0 {
			break
		}
	}
	if err := w.core.CoreV1().Events(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete events: %w", err)
	}
	if err := w.custom.DeleteAllOf(ctx, &schedulingv1beta1.PodGroup{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("delete PodGroups: %w", err)
	}
	return nil
}

// countBound asks the API server how many pods have a node.
func (w *world) countBound(ctx context.Context) (int, error) {
	pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	if err != nil {
		return 0, fmt.Errorf("list pods: %w", err)
	}
	return len(pods.Items), nil
}

// say tells the person who waits what goes on.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// closing closes c when it is done with, whatever comes of it.
func closing(c io.Closer) { _ = c.Close() }
