package integration_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

func gpus(n int64) corev1.ResourceList {
	return corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
}

func cpu(amount string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}}
}

// allocated waits until a queue's status says that it is charged that much.
func (w *world) allocated(t *testing.T, queue string, name corev1.ResourceName, want string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var q schedulingv1beta1.Queue
		if err := w.Get(ctx, client.ObjectKey{Name: queue}, &q); err != nil {
			return err
		}
		if have := q.Status.Allocated[name]; have.Cmp(resource.MustParse(want)) != 0 {
			return fmt.Errorf("queue %s is charged %s %s, want %s", queue, have.String(), name, want)
		}
		return nil
	})
}

// TestPodsAreChargedWhatTheyReallyAskFor puts one pod after the other into a queue
// with a ceiling, each with another way of asking.
func TestPodsAreChargedWhatTheyReallyAskFor(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	class := &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "sandbox-"}, Handler: "sandbox",
		Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}},
	}
	if err := w.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), class) })
	pods := map[string]struct {
		edit func(*corev1.PodSpec)
		want string // cpu that is charged
	}{
		"the largest init container": {func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "a", Image: "i", Resources: cpu("3")}, {Name: "b", Image: "i", Resources: cpu("2")}}
		}, "3"},
		"a sidecar beside the container": {func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "side", Image: "i", Resources: cpu("500m"), RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		}, "1500m"},
		"the overhead of a sandbox": {func(s *corev1.PodSpec) { s.RuntimeClassName = &class.Name }, "1250m"},
		"the pod's own resources": {func(s *corev1.PodSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
		}, "2"},
	}
	number := 0
	for name, tt := range pods {
		number++
		gang := fmt.Sprintf("charged-%d", number)
		t.Run(name, func(t *testing.T) {
			limit := resource.MustParse(tt.want)
			w.queue(t, gang, schedulingv1beta1.QueueSpec{Capability: corev1.ResourceList{corev1.ResourceCPU: limit}})
			w.podGroup(t, ns, gang, 1, gang)
			p := member(ns, gang, 0, 0)
			p.Spec.Containers[0].Resources = cpu("1")
			tt.edit(&p.Spec)
			if err := w.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			w.allocated(t, gang, corev1.ResourceCPU, tt.want)
			more := gang + "-more" // the ceiling is met to the last thousandth
			w.podGroup(t, ns, more, 1, gang)
			p = member(ns, more, 0, 0)
			p.Spec.Containers[0].Resources = cpu("1m")
			if err := w.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			w.waitsFor(t, ns, more, "QueueCapability")
		})
	}
}

// kubelet says, in its place, what a pod's container has been given.
func (w *world) kubelet(t *testing.T, namespace, name, amount string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		p, err := w.core.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(p.Status.ContainerStatuses) == 0 {
			return fmt.Errorf("pod %s does not run yet", name)
		}
		given := cpu(amount)
		p.Status.ContainerStatuses[0].Resources, p.Status.ContainerStatuses[0].AllocatedResources = &given, given.Requests
		_, err = w.core.CoreV1().Pods(namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
		return err
	})
}

// TestAResizeInPlaceChangesTheCharge gives a running pod more and then less: more
// is charged when it is asked for, less once the node has taken it back.
func TestAResizeInPlaceChangesTheCharge(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.queue(t, "resized", schedulingv1beta1.QueueSpec{})
	w.podGroup(t, ns, "resized", 1, "resized")
	p := member(ns, "resized", 0, 0)
	p.Spec.Containers[0].Resources = cpu("1")
	if err := w.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	charged := func(want string) {
		t.Helper()
		w.allocated(t, "resized", corev1.ResourceCPU, want)
	}
	resize := func(amount string) {
		t.Helper()
		body := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":%q}}}]}}`, amount)
		if _, err := w.core.CoreV1().Pods(ns).Patch(t.Context(), p.Name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "resize"); err != nil {
			t.Fatal(err)
		}
	}
	charged("1")
	w.kubelet(t, ns, p.Name, "1")
	resize("4")
	charged("4")
	w.kubelet(t, ns, p.Name, "4")
	resize("2")
	w.kubelet(t, ns, p.Name, "3") // halfway
	charged("3")
	w.kubelet(t, ns, p.Name, "2")
	charged("2")
}

// TestAGatedPodNeitherCountsNorBlocks lets a gang of two run beside a third pod
// that has a scheduling gate, and makes a gang that needs its gated pod wait.
func TestAGatedPodNeitherCountsNorBlocks(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.queue(t, "gated", schedulingv1beta1.QueueSpec{Capability: gpus(6)})
	gate := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "muster.sh/test"}} }
	w.podGroup(t, ns, "loose", 2, "gated")
	for i := range 3 {
		p := member(ns, "loose", i, 1)
		if i == 0 {
			gate(p)
		}
		if err := w.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func(ctx context.Context) error { return w.inPhase(ctx, ns, "loose", schedulingv1beta1.PodGroupRunning) })
	w.allocated(t, "gated", "nvidia.com/gpu", "2")

	w.podGroup(t, ns, "tight", 2, "gated")
	for i := range 2 {
		p := member(ns, "tight", i, 2)
		if i == 0 {
			gate(p)
		}
		if err := w.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	w.waitsFor(t, ns, "tight", "SchedulingGated")
	w.allocated(t, "gated", "nvidia.com/gpu", "2")
	if _, err := w.core.CoreV1().Pods(ns).Patch(t.Context(), "tight-0", types.MergePatchType, []byte(`{"spec":{"schedulingGates":[]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return w.inPhase(ctx, ns, "tight", schedulingv1beta1.PodGroupRunning) })
	w.allocated(t, "gated", "nvidia.com/gpu", "6")
}
