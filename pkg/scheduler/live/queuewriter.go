package live

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// queueDelay gathers changes of a queue's status: under load it is written once per delay.
const queueDelay = 500 * time.Millisecond

// queueWriter writes what queues use to their status. Their state is not its
// business: the queue controller alone writes that.
type queueWriter struct {
	*Scheduler
	queue workqueue.TypedRateLimitingInterface[string]

	mu   sync.Mutex
	uses map[string]engine.QueueUse
}

func newQueueWriter(s *Scheduler) *queueWriter {
	return &queueWriter{
		Scheduler: s,
		queue:     newQueue[string](queueDelay, time.Minute),
		uses:      map[string]engine.QueueUse{},
	}
}

// ensure makes the queues that must always be there.
func (w *queueWriter) ensure(ctx context.Context) error {
	for _, q := range []schedulingv1beta1.Queue{
		{
			ObjectMeta: metav1.ObjectMeta{Name: schedulingv1beta1.RootQueue},
			Spec:       schedulingv1beta1.QueueSpec{Weight: 1, Reclaimable: new(false)},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: schedulingv1beta1.DefaultQueue},
			Spec:       schedulingv1beta1.QueueSpec{Weight: 1, Reclaimable: new(true), Parent: schedulingv1beta1.RootQueue},
		},
	} {
		if err := w.client.Create(ctx, &q); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create queue %s: %w; are Muster's CRDs installed?", q.Name, err)
		}
	}
	return nil
}

// permanent reports whether a queue must always be there.
func permanent(name string) bool {
	return name == schedulingv1beta1.RootQueue || name == schedulingv1beta1.DefaultQueue
}

// lost takes notice of a queue that is gone. Those that must be there are made anew.
func (w *queueWriter) lost(name string) {
	if permanent(name) {
		w.queue.Add(name)
	}
}

// note takes what queues use after a cycle.
func (w *queueWriter) note(uses []engine.QueueUse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, use := range uses {
		if use.Known && !reflect.DeepEqual(w.uses[use.Name], use) {
			w.uses[use.Name] = use
			w.queue.AddAfter(use.Name, queueDelay)
		}
	}
}

// seen takes notice of a queue that came or changed: one that was made anew, or
// that somebody wrote to, does not say what it uses.
func (w *queueWriter) seen(q *schedulingv1beta1.Queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if use, known := w.uses[q.Name]; known && !equality.Semantic.DeepEqual(q.Status, nextQueueStatus(q.Status, use)) {
		w.queue.AddAfter(q.Name, queueDelay)
	}
}

func (w *queueWriter) write(ctx context.Context, name string) error {
	var q schedulingv1beta1.Queue
	err := w.cache.Get(ctx, types.NamespacedName{Name: name}, &q)
	if apierrors.IsNotFound(err) && permanent(name) {
		return w.ensure(ctx)
	}
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	w.mu.Lock()
	use, known := w.uses[name]
	w.mu.Unlock()
	if !known {
		return nil
	}
	now := q.DeepCopy()
	now.Status = nextQueueStatus(q.Status, use)
	if equality.Semantic.DeepEqual(q.Status, now.Status) {
		return nil
	}
	patch, err := difference(&q, now)
	if err != nil {
		return fmt.Errorf("queue %s: %w", name, err)
	}
	err = w.client.Status().Patch(ctx, now, patch)
	switch {
	case outdated(err):
		w.queue.AddAfter(name, conflictPause)
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("queue %s: %w", name, err)
	}
	return nil
}

func nextQueueStatus(old schedulingv1beta1.QueueStatus, use engine.QueueUse) schedulingv1beta1.QueueStatus {
	next := *old.DeepCopy()
	next.Allocated = corev1.ResourceList{}
	next.Reservation = schedulingv1beta1.Reservation{Nodes: use.Reserved}
	for _, sum := range use.Sums {
		if sum.Set > 0 {
			if next.Reservation.Resource == nil {
				next.Reservation.Resource = corev1.ResourceList{}
			}
			next.Reservation.Resource[corev1.ResourceName(sum.Resource)] = quantity(sum.Resource, sum.Set)
		}
		if sum.Used == 0 && sum.Capability < 0 {
			continue
		}
		next.Allocated[corev1.ResourceName(sum.Resource)] = quantity(sum.Resource, sum.Used)
	}
	count := func(p model.Phase) int32 { return int32(use.Phases[p]) }
	next.Pending, next.Inqueue, next.Running = count(model.Pending), count(model.Inqueue), count(model.Running)
	next.Unknown, next.Completed = count(model.Unknown), count(model.Completed)
	return next
}

// quantity writes an amount in the unit users expect for its resource.
func quantity(name string, value int64) apiresource.Quantity {
	switch {
	case name == resource.CPU:
		return *apiresource.NewMilliQuantity(value, apiresource.DecimalSI)
	case resource.Bytes(name):
		return *apiresource.NewQuantity(value, apiresource.BinarySI)
	default:
		return *apiresource.NewQuantity(value, apiresource.DecimalSI)
	}
}
