package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/reason"
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

// evictor tells pods to go. What can't be made to goes back to the engine as an event.
type evictor struct {
	*Scheduler
	queue     workqueue.TypedRateLimitingInterface[string] // UIDs
	mu        sync.Mutex
	evictions map[string]engine.Evict // by UID
	evicted   map[reason.Code]int64   // by why they had to go
	failed    atomic.Int64
}

// evictWorkers is how many pods are told to go at once.
const evictWorkers = 16

// evictTries is how often the API server is asked when it does not answer.
const evictTries = 5

func newEvictor(s *Scheduler) *evictor {
	return &evictor{
		Scheduler: s,
		queue:     newQueue[string](50*time.Millisecond, 5*time.Second),
		evictions: map[string]engine.Evict{},
		evicted:   map[reason.Code]int64{},
	}
}

// counts is how many pods were told to go so far, by why they had to.
func (v *evictor) counts() map[reason.Code]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.evicted)
}

func (v *evictor) add(d engine.Evict) {
	v.mu.Lock()
	v.evictions[d.UID] = d
	v.mu.Unlock()
	v.queue.Add(d.UID)
}

// write asks for one eviction. That a budget forbids it, or the API server does not
// answer, time and again, ends it: the engine then plans anew.
func (v *evictor) write(ctx context.Context, uid string) error {
	v.mu.Lock()
	d, ok := v.evictions[uid]
	v.mu.Unlock()
	if !ok {
		return nil
	}
	pod := podReference(d.Name, d.UID)
	err := v.pods.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(uid)},
	})
	switch {
	case err == nil:
		v.mu.Lock()
		v.evicted[d.Why.Code]++
		v.mu.Unlock()
		v.recorder.Event(pod, corev1.EventTypeWarning, string(d.Why.Code), d.Why.String())
		v.explain(ctx, d)
	case v.late(ctx, d.Name, d.UID, err): // it is gone, which the watch tells
	case apierrors.IsTooManyRequests(err), apierrors.IsForbidden(err), v.queue.NumRequeues(uid) >= evictTries:
		v.failed.Add(1)
		v.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedEviction", "%s; evicting it: %v", d.Why, err)
		v.mailbox.put(engine.EvictFailed{UID: uid, Why: err.Error()})
	default:
		return fmt.Errorf("evict pod %s: %w", d.Name, err)
	}
	v.mu.Lock()
	delete(v.evictions, uid)
	v.mu.Unlock()
	return nil
}

// explain says in a pod's condition why it has to go, in place of the words that the API
// server puts there. It may be gone already; its event stays.
func (v *evictor) explain(ctx context.Context, d engine.Evict) {
	_, err := v.setCondition(ctx, d.Name, map[string]any{"uid": d.UID}, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: disruption(d), Message: d.Why.String(),
	})
	if err != nil && !v.late(ctx, d.Name, d.UID, err) {
		logr.FromContextOrDiscard(ctx).Error(err, "say why a pod has to go", "task", d.Name)
	}
}

// evictionByScheduler is the reason of those that go though no gang needs their room.
// Kubernetes has a word only for preemption, and leaves reasons to who writes them.
const evictionByScheduler = "EvictionByScheduler"

// disruption is the reason of a pod's condition DisruptionTarget.
func disruption(d engine.Evict) string {
	if d.Why.Code.MakesRoom() {
		return corev1.PodReasonPreemptionByScheduler
	}
	return evictionByScheduler
}

// nominator tells pods on which node room is being made for them, so that another
// scheduler, and whoever adds nodes, knows. One worker writes it, each once, and only while
// no binding waits: those say more.
type nominator struct {
	*Scheduler
	queue    workqueue.TypedRateLimitingInterface[string] // UIDs
	mu       sync.Mutex
	nominees map[string]engine.Nominate // by UID, to be written
}

func newNominator(s *Scheduler) *nominator {
	return &nominator{Scheduler: s, queue: newQueue[string](50*time.Millisecond, 30*time.Second), nominees: map[string]engine.Nominate{}}
}

func (n *nominator) add(d engine.Nominate) {
	n.mu.Lock()
	n.nominees[d.UID] = d
	n.mu.Unlock()
	n.queue.Add(d.UID)
}

// forget drops what was not written yet of a pod: it is being bound, which ends its
// nomination, or it is gone.
func (n *nominator) forget(uid string) {
	n.mu.Lock()
	delete(n.nominees, uid)
	n.mu.Unlock()
}

func (n *nominator) write(ctx context.Context, uid string) error {
	if !n.announcer.quiet(ctx) {
		return nil
	}
	n.mu.Lock()
	d, ok := n.nominees[uid]
	delete(n.nominees, uid)
	n.mu.Unlock()
	if !ok {
		return nil
	}
	var node any // null takes it away
	if d.Node != "" {
		node = d.Node
	}
	_, err := n.patchStatus(ctx, d.Name, map[string]any{"uid": d.UID}, map[string]any{"nominatedNodeName": node})
	if err == nil || n.late(ctx, d.Name, d.UID, err) {
		return nil
	}
	n.mu.Lock()
	if _, newer := n.nominees[uid]; !newer {
		n.nominees[uid] = d
	}
	n.mu.Unlock()
	return fmt.Errorf("nominate a node for pod %s: %w", d.Name, err)
}

// gateWorkers is how many gates are opened at once.
const gateWorkers = 4

// gatekeeper opens the gates of pods whose queue has room for them.
type gatekeeper struct {
	*Scheduler
	queue workqueue.TypedRateLimitingInterface[engine.Ungate]
}

func newGatekeeper(s *Scheduler) *gatekeeper {
	return &gatekeeper{Scheduler: s, queue: newQueue[engine.Ungate](50*time.Millisecond, 30*time.Second)}
}

func (k *gatekeeper) write(ctx context.Context, d engine.Ungate) error {
	pod := podReference(d.Name, d.UID)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": d.UID},
		"spec": map[string]any{"schedulingGates": []map[string]string{
			{"$patch": "delete", "name": schedulingv1beta1.QueueAllocationGate},
		}},
	})
	if err != nil {
		return fmt.Errorf("pod %s: %w", d.Name, err)
	}
	_, err = k.pods.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && k.late(ctx, d.Name, d.UID, err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the gate of pod %s: %w", d.Name, err)
	}
	k.recorder.Event(pod, corev1.EventTypeNormal, "QueueAdmitted", "its queue has room: the gate is open")
	return nil
}
