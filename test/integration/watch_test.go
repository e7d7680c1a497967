package integration_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// binds is what a watch at the API server saw of bindings in one namespace.
type binds struct {
	broken  chan error    // told when more is bound than fits
	changed chan struct{} // rings after a change

	mu   sync.Mutex
	pods map[string]string // gang by pod that is bound
}

// watchBinds watches until ctx ends. Pods ask for whole GPUs; never may more than gpus be bound.
func watchBinds(ctx context.Context, t *testing.T, w *world, namespace string, gpus int64) *binds {
	t.Helper()
	b := &binds{broken: make(chan error, 1), changed: make(chan struct{}, 1), pods: map[string]string{}}
	events, err := w.core.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer events.Stop()
		var used int64
		for ev := range events.ResultChan() {
			p, ok := ev.Object.(*corev1.Pod)
			if !ok || p.Spec.NodeName == "" || !b.add(p) {
				continue
			}
			q := p.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]
			if used += q.Value(); used > gpus {
				select {
				case b.broken <- fmt.Errorf("%d GPUs are bound, there are %d", used, gpus):
				default:
				}
			}
		}
	}()
	return b
}

// add notes a bound pod and reports whether it is new.
func (b *binds) add(p *corev1.Pod) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.pods[p.Name]; known {
		return false
	}
	b.pods[p.Name] = p.Annotations[schedulingv1beta1.GroupNameAnnotation]
	select {
	case b.changed <- struct{}{}:
	default:
	}
	return true
}

func (b *binds) total() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pods)
}

func (b *binds) byGang() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := map[string]int{}
	for gang := range maps.Values(b.pods) {
		n[gang]++
	}
	return n
}

// inPhase returns nil when a PodGroup is in a phase.
func (w *world) inPhase(ctx context.Context, namespace, name string, want schedulingv1beta1.PodGroupPhase) error {
	var pg schedulingv1beta1.PodGroup
	if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pg); err != nil {
		return err
	}
	if pg.Status.Phase != want {
		return fmt.Errorf("PodGroup %s is %q, want %s: %+v", name, pg.Status.Phase, want, pg.Status.Conditions)
	}
	return nil
}

// event returns nil when an object has an event with that message.
func (w *world) event(ctx context.Context, namespace, kind, name, message string) error {
	events, err := w.core.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name,
	})
	if err != nil {
		return err
	}
	for i := range events.Items {
		if events.Items[i].Message == message {
			return nil
		}
	}
	return fmt.Errorf("%s %s has %d events, none says %q", kind, name, len(events.Items), message)
}

// TestConditionsOfOthersStay: another controller writes a condition of its own to a
// PodGroup between two of Muster's verdicts.
func TestConditionsOfOthersStay(t *testing.T) {
	const theirs = schedulingv1beta1.PodGroupConditionType("Theirs")
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.single(t, ns, "shared", "later-"+ns, 1)
	w.waitsFor(t, ns, "shared", "QueueMissing")
	var pg schedulingv1beta1.PodGroup
	eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Namespace: ns, Name: "shared"}, &pg); err != nil {
			return err
		}
		pg.Status.Conditions = append(pg.Status.Conditions, schedulingv1beta1.PodGroupCondition{Type: theirs, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
		return w.Update(ctx, &pg)
	})
	w.queue(t, "later-"+ns, schedulingv1beta1.QueueSpec{Weight: 1})
	eventually(t, func(ctx context.Context) error {
		return w.inPhase(ctx, ns, "shared", schedulingv1beta1.PodGroupRunning)
	})
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(&pg), &pg); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(pg.Status.Conditions, func(c schedulingv1beta1.PodGroupCondition) bool { return c.Type == theirs }) {
		t.Errorf("it is gone: %+v", pg.Status.Conditions)
	}
}

// TestADeadlineThatCantBeMetIsSaidUntilItCan takes the deadline of seed 24, which has passed,
// and then moves it to where it has passed soon, and out of sight.
func TestADeadlineThatCantBeMetIsSaidUntilItCan(t *testing.T) {
	const deadline = "2025-06-01T00:00:00Z"
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	replace(t, path, "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: slo\n  - name: priority\n  - name: gang\n")
	w.restart(t, "--scheduler-conf="+path)
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "bert", Annotations: map[string]string{schedulingv1beta1.SLODeadlineAnnotation: deadline}},
		Spec:       schedulingv1beta1.PodGroupSpec{MinMember: 1, Queue: "default"},
	}
	if err := w.Create(t.Context(), pg); err != nil {
		t.Fatal(err)
	}
	w.create(t, ns, member(ns, "bert", 0, 1))
	says := func(status corev1.ConditionStatus, why string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			var pg schedulingv1beta1.PodGroup
			if err := w.Get(ctx, client.ObjectKey{Namespace: ns, Name: "bert"}, &pg); err != nil {
				return err
			}
			for _, c := range pg.Status.Conditions {
				if c.Type == schedulingv1beta1.PodGroupUnmet && c.Status == status && c.Reason == why {
					return nil
				}
			}
			return fmt.Errorf("its conditions are %+v", pg.Status.Conditions)
		})
	}
	move := func(to time.Time, estimate string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
			schedulingv1beta1.SLODeadlineAnnotation, to.UTC().Format(time.RFC3339), schedulingv1beta1.SLORunningEstimateAnnotation, estimate)
		if err := w.Patch(t.Context(), pg, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	says(corev1.ConditionTrue, "DeadlineMissed")
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, ns, "PodGroup", "bert", "the deadline "+deadline+" has passed, and it is not done")
	})
	move(time.Now().Add(100*time.Hour), "1h")
	says(corev1.ConditionFalse, "MayBeMet")
	move(time.Now().Add(3*time.Second), "1h") // nothing but time happens after that
	says(corev1.ConditionTrue, "DeadlineTooSoon")
	says(corev1.ConditionTrue, "DeadlineMissed")
	eventually(t, func(ctx context.Context) error {
		return w.counts(ctx, "volcano_slo_missed_total 1", fmt.Sprintf(`volcano_slo_urgency{job_id="bert",job_ns=%q,queue_name="default",slo="deadline"} 1000`, ns))
	})
}
