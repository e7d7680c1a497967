// Package integration_test watches Muster from outside: a real API server, real
// operators, simulated nodes, and muster as a process of its own.
package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/controllers"
	"github.com/muster-sh/muster/test/cluster"
)

func TestMain(m *testing.M) {
	code := m.Run()
	cluster.Stop()
	os.Exit(code)
}

// world is a cluster with Muster running on it, and clients to look at it.
type world struct {
	*cluster.Cluster
	client.Client
	core   kubernetes.Interface
	binary string
}

// newWorld starts, or shares, a cluster of that configuration and runs Muster on it.
func newWorld(t *testing.T, cfg cluster.Config) *world {
	t.Helper()
	crds, err := cluster.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	cfg.CRDs = append([]string{crds}, cfg.CRDs...)
	binary, err := cluster.BuildMuster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: cluster.Start(t, cfg), binary: binary}
	scheme, err := controllers.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if w.Client, err = client.New(w.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if w.core, err = kubernetes.NewForConfig(w.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	if err := w.StartMuster(t.Context(), binary, "--log-level=debug"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.Kill(cluster.Muster)
		if t.Failed() {
			t.Logf("muster's log: %s", w.Logs(cluster.Muster))
		}
	})
	return w
}

// eventually waits until holds returns nil, at most for a time that no healthy machine needs.
func eventually(t *testing.T, holds func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := holds(ctx)
		if err == nil {
			return
		}
		if last == nil || ctx.Err() == nil { // else the time is up, which says nothing
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("in vain: %v", last)
		case <-tick.C:
		}
	}
}

// podGroup makes a PodGroup.
func (w *world) podGroup(t *testing.T, namespace, name string, least int32, queue string) {
	t.Helper()
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       schedulingv1beta1.PodGroupSpec{MinMember: least, Queue: queue},
	}
	if err := w.Create(t.Context(), pg); err != nil {
		t.Fatal(err)
	}
}

// member is a pod of a gang that asks for GPUs.
func member(namespace, gang string, i, gpus int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", gang, i),
			Annotations: map[string]string{schedulingv1beta1.GroupNameAnnotation: gang},
		},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano",
			Containers: []corev1.Container{{
				Name: "main", Image: "image",
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(int64(gpus), resource.DecimalSI)}},
			}},
		},
	}
}

// bound counts the pods of a gang that have a node.
func (w *world) bound(ctx context.Context, namespace, gang string) (bound int, err error) {
	pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Annotations[schedulingv1beta1.GroupNameAnnotation] == gang && p.Spec.NodeName != "" {
			bound++
		}
	}
	return bound, nil
}

// unschedulable returns the message of a PodGroup's Unschedulable condition.
func (w *world) unschedulable(ctx context.Context, namespace, name string) (string, error) {
	var pg schedulingv1beta1.PodGroup
	if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pg); err != nil {
		return "", err
	}
	for _, c := range pg.Status.Conditions {
		if c.Type == schedulingv1beta1.PodGroupUnschedulableType && c.Status == corev1.ConditionTrue {
			return c.Message, nil
		}
	}
	return "", fmt.Errorf("PodGroup %s/%s is %s: %+v", namespace, name, pg.Status.Phase, pg.Status.Conditions)
}
