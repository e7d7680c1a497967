package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// queues applies a manifest of queues, which end with the test.
func (w *world) queues(t *testing.T, manifest string, names ...string) {
	t.Helper()
	if err := w.Cluster.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range names {
			_ = w.Delete(context.WithoutCancel(t.Context()), &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	})
}

// notebooks makes pods of one GPU that name no PodGroup, only our scheduler and a queue.
func (w *world) notebooks(t *testing.T, namespace, name, queue string, count int) {
	t.Helper()
	for i := range count {
		p := member(namespace, name, i, 1)
		p.Annotations = map[string]string{schedulingv1beta1.QueueNameAnnotation: queue}
		p.Labels = map[string]string{"app": name}
		if err := w.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// placed waits until so many notebooks of a name have a node, and returns those that have none.
func (w *world) placed(t *testing.T, namespace, name string, want int) (waiting []corev1.Pod) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return err
		}
		waiting = nil
		for _, p := range pods.Items {
			if p.Spec.NodeName == "" {
				waiting = append(waiting, p)
			}
		}
		if n := len(pods.Items) - len(waiting); n != want {
			return fmt.Errorf("%s: %d notebooks have a node, want %d", name, n, want)
		}
		return nil
	})
	return waiting
}

// TestSeed23DoesWhatItSays applies the seed's queues as they are: elastic-ai-training is
// guaranteed 16 GPUs, burst-inference 4 of its 32, and nobody reclaims from it.
func TestSeed23DoesWhatItSays(t *testing.T) {
	seed := filepath.Join(seeds, "23-queues-guarantee-elastic.yaml")
	if _, err := os.Stat(seed); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("there is no %s", seed)
	}
	w := newTaking(t, 9)
	ns := w.Namespace(t)
	w.queues(t, seed, "elastic-ai-training", "burst-inference")
	w.notebooks(t, ns, "serve", "burst-inference", 33)
	for _, p := range w.placed(t, ns, "serve", 32) {
		w.waitsFor(t, ns, "podgroup-"+string(p.UID), "QueueCapability")
	}
	w.podGroup(t, ns, "guest", 1, "default")
	for i := range 10 {
		w.make(t, member(ns, "guest", i, 4))
	}
	w.allBound(t, ns, "guest", 6) // but for the 16 GPUs that are kept
	w.podGroup(t, ns, "train", 4, "elastic-ai-training")
	for i := range 4 {
		w.make(t, member(ns, "train", i, 4))
	}
	w.allBound(t, ns, "train", 4)
	w.notebooks(t, ns, "more", "elastic-ai-training", 1)
	more := w.placed(t, ns, "more", 0)
	w.waitsFor(t, ns, "podgroup-"+string(more[0].UID), "NotEnoughResources")
	if err := w.counts(t.Context(), "volcano_pod_preemption_victims 0"); err != nil {
		t.Error(err)
	}
	for i := range 10 {
		w.delete(t, ns, fmt.Sprintf("guest-%d", i))
	}
	w.placed(t, ns, "more", 1) // what is free is lent
	w.placed(t, ns, "serve", 32)
}

// delete deletes a pod at once.
func (w *world) delete(t *testing.T, namespace, name string) {
	t.Helper()
	if err := w.core.CoreV1().Pods(namespace).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
}

// elastic is 64 GPUs divided by hand, on two levels.
const elastic = `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: elastic-dept}
spec:
  guarantee: {resource: {nvidia.com/gpu: 8}}
  deserved: {nvidia.com/gpu: 32}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: elastic-team}
spec:
  parent: elastic-dept
  guarantee: {resource: {nvidia.com/gpu: 8}}
  deserved: {nvidia.com/gpu: 24}
  capability: {nvidia.com/gpu: 32}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: elastic-kept}
spec:
  deserved: {nvidia.com/gpu: 8}
  reclaimable: false
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: elastic-guest}
spec:
  deserved: {nvidia.com/gpu: 8}
`

// TestQueuesGetWhatTheyDeserveOnDemand has notebooks borrow all but a guarantee, and give
// back as many as are asked for.
func TestQueuesGetWhatTheyDeserveOnDemand(t *testing.T) {
	w := newTaking(t, 8)
	ns := w.Namespace(t)
	path := filepath.Join(t.TempDir(), "queues.yaml")
	replace(t, path, elastic)
	w.queues(t, path, "elastic-team", "elastic-dept", "elastic-kept", "elastic-guest")
	w.notebooks(t, ns, "kept", "elastic-kept", 16) // 8 of them borrow
	w.placed(t, ns, "kept", 16)
	w.notebooks(t, ns, "guest", "elastic-guest", 41)
	for _, p := range w.placed(t, ns, "guest", 40) { // 8 are kept for the team
		w.waitsFor(t, ns, "podgroup-"+string(p.UID), "QueueGuarantee")
	}
	w.notebooks(t, ns, "team", "elastic-team", 8) // its guarantee
	w.placed(t, ns, "team", 8)
	w.podGroup(t, ns, "train", 4, "elastic-team") // up to what it deserves
	for i := range 4 {
		w.make(t, member(ns, "train", i, 4))
	}
	w.allBound(t, ns, "train", 4)
	w.placed(t, ns, "guest", 24)
	w.placed(t, ns, "kept", 16)
	w.notebooks(t, ns, "extra", "elastic-team", 1)
	extra := w.placed(t, ns, "extra", 0)
	w.waitsFor(t, ns, "podgroup-"+string(extra[0].UID), "NotEnoughResources") // it would have to borrow
	events, err := w.core.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Reclaimed"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if !strings.HasPrefix(e.InvolvedObject.Name, "guest-") && !strings.HasPrefix(e.InvolvedObject.Name, "podgroup-") {
			t.Errorf("%s had to go: %s", e.InvolvedObject.Name, e.Message)
		}
	}
	var pg schedulingv1beta1.PodGroup
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "podgroup-" + string(extra[0].UID)}, &pg); err != nil || pg.Spec.Queue != "elastic-team" || pg.Spec.MinMember != 1 {
		t.Errorf("a notebook's PodGroup is %+v (%v)", pg.Spec, err)
	}
}
