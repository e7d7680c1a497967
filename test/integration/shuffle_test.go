package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// confLends lends the nodes of a zone by the clock of a time zone, in the hours that %s gives.
const confLends = `actions: "enqueue, allocate, shuffle"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins:
  - name: predicates
  - name: tdm
    arguments: {tdm.time-zone: %s, tdm.revocable-zone.lent: "%s", tdm.evict.period: 1s}
`

// TestNodesThatAreLentAreGivenBack opens a zone with one node now, and then closes it.
func TestNodesThatAreLentAreGivenBack(t *testing.T) {
	const zone, node = "Asia/Kathmandu", "node-002"
	w := newWorld(t, cluster.Config{Nodes: 3})
	ns := w.Namespace(t)
	there, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	hours := func(from, to time.Duration) string {
		const clock = "15:04"
		text := time.Now().In(there).Add(from).Format(clock) + "-" + time.Now().In(there).Add(to).Format(clock)
		replace(t, path, fmt.Sprintf(confLends, zone, text))
		return text
	}
	hours(-2*time.Hour, 2*time.Hour)
	w.restart(t, "--scheduler-conf="+path)
	w.patchNode(t, node, `{"metadata":{"labels":{"volcano.sh/revocable-zone":"lent"}}}`)
	t.Cleanup(func() { w.patchNode(t, node, `{"metadata":{"labels":{"volcano.sh/revocable-zone":null}}}`) })

	w.podGroup(t, ns, "day", 1, "default")
	w.create(t, ns, on(member(ns, "day", 0, 1), node))
	w.saysWhy(t, ns, "day", "in revocable zone lent, which neither the pod nor its PodGroup allows by volcano.sh/revocable-zone")
	w.podGroup(t, ns, "night", 2, "default")
	for i := range 3 {
		p := on(member(ns, "night", i, 1), node)
		p.Annotations["volcano.sh/revocable-zone"] = "*"
		p.Finalizers = []string{"example.com/slow"} // so that what is said of it can be read
		w.create(t, ns, p)
	}
	t.Cleanup(func() { w.unfinalize(t, ns) })
	w.allBound(t, ns, "night", 3)

	closed := hours(2*time.Hour, 3*time.Hour) + " (" + zone + ")"
	itself := w.disrupted(t, ns, evictedByScheduler, "plugin tdm has it leave node "+node+": revocable zone lent is open "+closed)
	eventually(t, func(context.Context) error {
		if n := itself(); n != 3 {
			return fmt.Errorf("%d of 3 pods are told why they have to leave", n)
		}
		return nil
	})
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, ns, "Pod", "night-0", "plugin tdm has it leave node "+node+": revocable zone lent is open "+closed)
	})
	w.unfinalize(t, ns)
	w.allBound(t, ns, "night", 0)
	w.saysWhy(t, ns, "day", "and which is open "+closed)
}

// confCools protects pods that were placed a while ago.
const confCools = `actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: cdp}]
- plugins: [{name: predicates}, {name: nodeorder}]
`

// TestACooldownKeepsPodsFromBeingVictims fills two nodes with gangs of which one has a
// cooldown: the other gives way at once, it when that has passed.
func TestACooldownKeepsPodsFromBeingVictims(t *testing.T) {
	const cooldown = 10 * time.Second
	w := newWorld(t, cluster.Config{Nodes: 2})
	ns := w.Namespace(t)
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	replace(t, path, confCools)
	w.restart(t, "--scheduler-conf="+path)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "cools-high"}, Value: 1000}
	w.make(t, class)
	w.podGroup(t, ns, "warm", 1, "default")
	w.create(t, ns, member(ns, "warm", 0, 8))
	w.allBound(t, ns, "warm", 1)
	w.podGroup(t, ns, "cool", 1, "default")
	cool := member(ns, "cool", 0, 8) // started last, it would go first
	cool.Annotations["volcano.sh/cooldown-time"] = cooldown.String()
	cool.Finalizers = []string{"example.com/slow"}
	w.create(t, ns, cool)
	t.Cleanup(func() { w.unfinalize(t, ns) })
	w.allBound(t, ns, "cool", 1)
	for _, gang := range []string{"first", "second"} {
		pg := &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: gang},
			Spec:       schedulingv1beta1.PodGroupSpec{MinMember: 1, Queue: "default", PriorityClassName: class.Name},
		}
		w.make(t, pg)
		w.create(t, ns, member(ns, gang, 0, 8))
		if gang == "first" {
			w.allBound(t, ns, gang, 1)
			w.allBound(t, ns, "warm", 0)
		}
	}
	gone := w.disrupted(t, ns, corev1.PodReasonPreemptionByScheduler, "PodGroup "+ns+"/second")
	eventually(t, func(context.Context) error {
		if gone() == 0 {
			return fmt.Errorf("cool is still there")
		}
		return nil
	})
	p, err := w.core.CoreV1().Pods(ns).Get(t.Context(), "cool-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	since := func(kind corev1.PodConditionType) time.Time {
		i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
		if i < 0 {
			t.Fatalf("it has no condition %s: %+v", kind, p.Status.Conditions)
		}
		return p.Status.Conditions[i].LastTransitionTime.Time
	}
	if ran := since(corev1.DisruptionTarget).Sub(since(corev1.PodScheduled)); ran < cooldown {
		t.Errorf("it was told to go after %v, its cooldown is %v", ran, cooldown)
	}
	w.unfinalize(t, ns)
	w.allBound(t, ns, "second", 1)
}
