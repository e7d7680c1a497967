package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// TestAnElasticGangGrowsByWhatOthersCanDoWithout has a gang ask for more than its minimum
// on a full cluster: it gets what its queue deserves, of what others have beyond theirs.
func TestAnElasticGangGrowsByWhatOthersCanDoWithout(t *testing.T) {
	w := newTaking(t, 2)
	ns := w.Namespace(t)
	w.queue(t, "grows", schedulingv1beta1.QueueSpec{Deserved: gpuList(8)})
	w.queue(t, "lends", schedulingv1beta1.QueueSpec{})
	for gang, size := range map[string]int{"rigid": 4, "loose": 12} {
		w.podGroup(t, ns, gang, 4, "lends")
		w.pods(t, ns, gang, size)
	}
	w.allBound(t, ns, "rigid", 4)
	w.allBound(t, ns, "loose", 12)
	w.podGroup(t, ns, "mine", 2, "grows")
	w.pods(t, ns, "mine", 10)
	w.allBound(t, ns, "mine", 8)
	eventually(t, func(ctx context.Context) error { // for more than its queue deserves
		return w.event(ctx, ns, "PodGroup", "mine", "2 more than the minimum wait: the gang needs 2 with nvidia.com/gpu 1 each, room for 0 (short 2); of 2 nodes: 2 insufficient nvidia.com/gpu")
	})
	w.allBound(t, ns, "loose", 4)
	w.allBound(t, ns, "rigid", 4)
	if err := w.counts(t.Context(), `volcano_evictions_total{reason="Reclaimed"} 8`); err != nil {
		t.Error(err)
	}
}

// TestPodsOfHighPriorityTakeThePlacesThatTheirGangCanSpare has more of them come to a gang
// that fills the cluster than it can do without others.
func TestPodsOfHighPriorityTakeThePlacesThatTheirGangCanSpare(t *testing.T) {
	w := newTaking(t, 1)
	ns := w.Namespace(t)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "within-high"}, Value: 1000}
	w.make(t, class)
	w.podGroup(t, ns, "job", 6, "default")
	w.pods(t, ns, "job", 8)
	w.allBound(t, ns, "job", 8)
	least := w.fewest(t, ns)
	for i := 8; i < 11; i++ {
		p := member(ns, "job", i, 1)
		p.Spec.PriorityClassName = class.Name
		w.create(t, ns, p)
	}
	eventually(t, func(ctx context.Context) error {
		for i := range 11 {
			name := fmt.Sprintf("job-%d", i)
			p, err := w.core.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
			if err != nil && i >= 8 || err == nil && p.Spec.NodeName == "" {
				return fmt.Errorf("pod %s waits (%w)", name, err)
			}
		}
		return nil
	})
	w.allBound(t, ns, "job", 8)
	if n := least(); n < 6 {
		t.Errorf("%d of its minimum of 6 ran at a time", n)
	}
	if err := w.counts(t.Context(), `volcano_evictions_total{reason="Swapped"} 3`); err != nil {
		t.Error(err)
	}
	eventually(t, func(ctx context.Context) error {
		told, err := w.core.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=Swapped"})
		if err != nil || len(told.Items) != 3 {
			return fmt.Errorf("%d of 3 pods are told why they have to go (%w)", len(told.Items), err)
		}
		for i := range told.Items {
			if said := told.Items[i].Message; !strings.Contains(said, "of its own gang, whose priority is 1000, its own 0") {
				return fmt.Errorf("%s is told %q", told.Items[i].InvolvedObject.Name, said)
			}
		}
		return nil
	})
}

// fewest counts the pods of a namespace that have a node and are not told to go, from now
// on; the least of that it returns.
func (w *world) fewest(t *testing.T, namespace string) func() int {
	t.Helper()
	ctx := t.Context()
	pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := w.core.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: pods.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]bool{}
	for i := range pods.Items {
		run[pods.Items[i].Name] = true
	}
	least := len(run)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range seen.ResultChan() {
			p, ok := ev.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if ev.Type == "DELETED" || p.DeletionTimestamp != nil || p.Spec.NodeName == "" {
				delete(run, p.Name)
			} else {
				run[p.Name] = true
			}
			least = min(least, len(run))
		}
	}()
	return func() int {
		seen.Stop()
		<-done
		return least
	}
}
