package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// confTakes lets gangs take from others.
const confTakes = `actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: pdb}]
- plugins: [{name: predicates}, {name: capacity}, {name: nodeorder}, {name: binpack}]
`

// newTaking is a world in which gangs may take from others.
func newTaking(t *testing.T, nodes int) *world {
	t.Helper()
	w := newWorld(t, cluster.Config{Nodes: nodes})
	w.restart(t, takes(t))
	return w
}

// takes is the flag for a configuration that lets gangs take from others.
func takes(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	replace(t, path, confTakes)
	return "--scheduler-conf=" + path
}

// urgent makes a PodGroup of high priority.
func (w *world) urgent(t *testing.T, namespace, name string, least int32) {
	t.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "taking-" + name}, Value: 1000}
	if err := w.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), class) })
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       schedulingv1beta1.PodGroupSpec{MinMember: least, Queue: "default", PriorityClassName: class.Name},
	}
	if err := w.Create(t.Context(), pg); err != nil {
		t.Fatal(err)
	}
}

// slow makes a gang of 8 pods of one GPU that take their time to go, and waits until it runs.
func (w *world) slow(t *testing.T, namespace, gang string) {
	t.Helper()
	w.podGroup(t, namespace, gang, 8, "default")
	for i := range 8 {
		p := member(namespace, gang, i, 1)
		p.Labels = map[string]string{"gang": gang}
		p.Finalizers = []string{"example.com/slow"}
		if err := w.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	w.allBound(t, namespace, gang, 8)
}

// protect forbids to disrupt a gang.
func (w *world) protect(t *testing.T, namespace, gang string) {
	t.Helper()
	none := intstr.FromInt32(0)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: gang},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"gang": gang}}},
	}
	if _, err := w.core.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), budget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pods makes so many pods of a gang, of one GPU each.
func (w *world) pods(t *testing.T, namespace, gang string, count int) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range count {
		group.Go(func() error { return w.Create(ctx, member(namespace, gang, i, 1)) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// allBound waits until a gang has so many pods with a node.
func (w *world) allBound(t *testing.T, namespace, gang string, want int) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if n, err := w.bound(ctx, namespace, gang); err != nil || n != want {
			return fmt.Errorf("%s: %d of %d pods are bound (%w)", gang, n, want, err)
		}
		return nil
	})
}

func gpuList(n int64) corev1.ResourceList {
	return corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
}

// TestAnOwnerReclaimsFiveHundredGPUsInOnePlan lets five queues borrow 100 GPUs each beyond
// what they are guaranteed, and the owner of those ask for all of them at once.
func TestAnOwnerReclaimsFiveHundredGPUsInOnePlan(t *testing.T) {
	w := newTaking(t, 65)
	ns := w.Namespace(t)
	w.queue(t, "owner", schedulingv1beta1.QueueSpec{Deserved: gpuList(500)})
	for i := range 5 {
		queue := fmt.Sprintf("borrower-%d", i)
		w.queue(t, queue, schedulingv1beta1.QueueSpec{Guarantee: schedulingv1beta1.Guarantee{Resource: gpuList(4)}})
		w.podGroup(t, ns, "kept-"+queue, 4, queue)
		w.podGroup(t, ns, "lent-"+queue, 100, queue)
		w.pods(t, ns, "kept-"+queue, 4)
		w.pods(t, ns, "lent-"+queue, 100)
	}
	for i := range 5 {
		w.allBound(t, ns, fmt.Sprintf("kept-borrower-%d", i), 4)
		w.allBound(t, ns, fmt.Sprintf("lent-borrower-%d", i), 100)
	}
	w.podGroup(t, ns, "mine", 500, "owner")
	w.pods(t, ns, "mine", 500)
	w.allBound(t, ns, "mine", 500)
	for i := range 5 {
		w.allBound(t, ns, fmt.Sprintf("kept-borrower-%d", i), 4)
		w.allBound(t, ns, fmt.Sprintf("lent-borrower-%d", i), 0)
	}
	if err := w.counts(t.Context(), "volcano_pod_preemption_victims 500", `volcano_evictions_total{reason="Reclaimed"} 500`); err != nil {
		t.Error(err)
	}
	t.Logf("GPUs lay idle for %v GPU-seconds", w.metric(t, "volcano_preemption_idle_seconds_total", `resource="nvidia.com/gpu"`))
	events, err := w.core.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Reclaimed"})
	if err != nil || len(events.Items) == 0 {
		t.Fatalf("nobody says why pods had to go (%v)", err)
	}
	for _, want := range []string{"PodGroup " + ns + "/mine", `queue "owner"`, `queue "borrower-`, "nvidia.com/gpu"} {
		if !strings.Contains(events.Items[0].Message, want) {
			t.Errorf("%q does not say %q", events.Items[0].Message, want)
		}
	}
}

// evictedByScheduler is why pods go though no other pod needs their room.
const evictedByScheduler = "EvictionByScheduler"

// disrupted counts the pods whose DisruptionTarget condition has that reason, and those words.
func (w *world) disrupted(t *testing.T, namespace, why, words string) func() int {
	t.Helper()
	seen, err := w.core.CoreV1().Pods(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(seen.Stop)
	var mu sync.Mutex
	names := map[string]bool{}
	go func() {
		for ev := range seen.ResultChan() {
			p, ok := ev.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.DisruptionTarget && c.Reason == why && strings.Contains(c.Message, words) {
					mu.Lock()
					names[p.Name] = true
					mu.Unlock()
				}
			}
		}
	}()
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(names)
	}
}

// newGuarded fills two nodes with two gangs that take their time to go, of which "safe" may
// not be disrupted.
func newGuarded(t *testing.T) (w *world, namespace string) {
	t.Helper()
	w = newTaking(t, 2)
	namespace = w.Namespace(t)
	w.slow(t, namespace, "safe")
	w.slow(t, namespace, "victim")
	t.Cleanup(func() { w.unfinalize(t, namespace) })
	w.protect(t, namespace, "safe")
	return w, namespace
}

// TestAHigherPriorityPreemptsAWholeGangThatNoBudgetProtects fills the cluster with two
// gangs, of which one may not be disrupted.
func TestAHigherPriorityPreemptsAWholeGangThatNoBudgetProtects(t *testing.T) {
	w, ns := newGuarded(t)
	named := w.disrupted(t, ns, corev1.PodReasonPreemptionByScheduler, "PodGroup "+ns+"/high")
	w.urgent(t, ns, "high", 4)
	w.pods(t, ns, "high", 4)
	eventually(t, func(context.Context) error {
		if n := named(); n != 8 {
			return fmt.Errorf("%d of 8 pods say who needs their room", n)
		}
		return nil
	})
	w.waitsFor(t, ns, "high", "MakingRoom")
	w.single(t, ns, "late", "default", 1)
	w.waitsFor(t, ns, "late", "MakingRoom") // what high does not need of it
	w.unfinalize(t, ns)
	w.allBound(t, ns, "high", 4)
	w.allBound(t, ns, "safe", 8)
	w.allBound(t, ns, "late", 1)
}

// unfinalize lets all pods of a namespace that are being deleted go.
func (w *world) unfinalize(t *testing.T, namespace string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; len(p.Finalizers) > 0 && (p.DeletionTimestamp != nil || t.Context().Err() != nil) {
			if err := w.Patch(ctx, p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	}
}

// leaving waits until so many pods of a gang are being deleted.
func (w *world) leaving(t *testing.T, namespace, gang string, n int) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		there := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
			return p.DeletionTimestamp == nil || p.Annotations[schedulingv1beta1.GroupNameAnnotation] != gang
		})
		if len(there) != n {
			return fmt.Errorf("%s: %d of %d pods are being deleted", gang, len(there), n)
		}
		return nil
	})
}

// nominated waits until all pods of the gang high are bound, and nominated for a node, or not.
func (w *world) nominated(t *testing.T, namespace string, bound, nominated bool) (on string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Annotations[schedulingv1beta1.GroupNameAnnotation] != "high" {
				continue
			}
			if (p.Spec.NodeName != "") != bound || (p.Status.NominatedNodeName != "") != nominated {
				return fmt.Errorf("pod %s is bound to %q and nominated for %q", p.Name, p.Spec.NodeName, p.Status.NominatedNodeName)
			}
			on = p.Spec.NodeName + p.Status.NominatedNodeName
		}
		return nil
	})
	return on
}

// TestRoomThatIsMadeOutlastsTheScheduler kills Muster while victims leave. Another takes
// over, and gives nobody else their room, though a rival of equal priority came first.
func TestRoomThatIsMadeOutlastsTheScheduler(t *testing.T) {
	w, ns := newGuarded(t)
	w.urgent(t, ns, "rival", 1)
	w.urgent(t, ns, "high", 8)
	w.pods(t, ns, "high", 8)
	on := w.nominated(t, ns, false, true)
	w.leaving(t, ns, "victim", 8) // else the next scheduler tells the others, when it comes to that
	if err := w.Kill(cluster.Muster); err != nil {
		t.Fatal(err)
	}
	w.pods(t, ns, "rival", 1)
	if err := w.StartMuster(t.Context(), w.binary, takes(t)); err != nil {
		t.Fatal(err)
	}
	w.waitsFor(t, ns, "high", "MakingRoom")
	w.unfinalize(t, ns)
	w.allBound(t, ns, "high", 8)
	if got := w.nominated(t, ns, true, false); got != on {
		t.Errorf("high runs on %s, room was made for it on %s", got, on)
	}
	w.allBound(t, ns, "rival", 0)
	w.allBound(t, ns, "safe", 8)
}

// TestANominationEndsWithTheHold has room made for a gang that then lacks a pod.
func TestANominationEndsWithTheHold(t *testing.T) {
	w := newTaking(t, 1)
	ns := w.Namespace(t)
	w.slow(t, ns, "victim")
	t.Cleanup(func() { w.unfinalize(t, ns) })
	w.urgent(t, ns, "high", 4)
	w.pods(t, ns, "high", 4)
	w.nominated(t, ns, false, true)
	if err := w.Delete(t.Context(), member(ns, "high", 0, 1)); err != nil {
		t.Fatal(err)
	}
	w.nominated(t, ns, false, false)
}
