package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// binder writes bindings, many at once. What fails goes back to the engine as an
// event, later each time for the same pod, so that a refusal makes no hot loop.
type binder struct {
	*Scheduler
	queue         workqueue.TypedInterface[engine.Bind]
	backoff       workqueue.TypedRateLimiter[string]
	bound, failed atomic.Int64
}

func newBinder(s *Scheduler) *binder {
	return &binder{
		Scheduler: s,
		queue:     workqueue.NewTyped[engine.Bind](),
		backoff:   workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 10*time.Second),
	}
}

// forget lets go of a pod that is gone.
func (b *binder) forget(uid string) { b.backoff.Forget(uid) }

// run works until the queue is shut down and empty.
func (b *binder) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range b.options.BindWorkers {
		workers.Go(func() {
			for {
				d, end := b.queue.Get()
				if end {
					return
				}
				b.bind(ctx, d)
				b.queue.Done(d)
				if b.queue.Len() == 0 {
					b.statuses.release()
				}
			}
		})
	}
	workers.Wait()
}

func (b *binder) bind(ctx context.Context, d engine.Bind) {
	pod := podReference(d.Name, d.UID)
	err := b.pods.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: d.Node},
	}, metav1.CreateOptions{})
	if err == nil {
		b.bound.Add(1)
		b.backoff.Forget(d.UID)
		b.announcer.bound(d)
		return
	}
	b.refused(ctx, d, err)
}

// refused tells the engine, later each time for the same pod, that a pod was not bound.
func (b *binder) refused(ctx context.Context, d engine.Bind, err error) {
	b.failed.Add(1)
	delay := b.backoff.When(d.UID)
	logr.FromContextOrDiscard(ctx).Error(err, "bind", "task", d.Name, "node", d.Node, "gang", d.Gang, "retryIn", delay)
	b.recorder.Eventf(podReference(d.Name, d.UID), corev1.EventTypeWarning, "FailedBinding", "binding to %s: %v", d.Node, err)
	// That a pod is gone the watch will tell, and it needs no reason; when it does
	// not, the pod waits like any other.
	if !apierrors.IsNotFound(err) || b.backoff.NumRequeues(d.UID) > 1 {
		b.mailbox.put(engine.BindRefused{UID: d.UID, Node: d.Node, Why: err.Error()})
	}
	time.AfterFunc(delay, func() { b.mailbox.put(engine.BindFailed{UID: d.UID, Node: d.Node}) })
}
