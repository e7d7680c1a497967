package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// late reports whether a write to a pod, of which key is namespace/name, failed because it
// came too late: the pod is gone, or another now has its name. That the API server calls a
// conflict, or invalid; but a conflict may also be that somebody else writes to the pod.
func (s *Scheduler) late(ctx context.Context, key, uid string, err error) bool {
	if !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
		return apierrors.IsNotFound(err)
	}
	namespace, name, _ := strings.Cut(key, "/")
	pod, err := s.pods.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && string(pod.UID) != uid
}

// difference is the merge patch from base to next, which are the same object at
// two times. What next no longer says is taken away, zeros and map entries
// included. The UID in it keeps it off an object that was made anew under the
// same name. Conditions are a list, which a patch replaces whole, and others write
// theirs to it: one that changes them is refused when base is not the newest.
func difference(base, next client.Object) (client.Patch, error) {
	data, err := client.MergeFrom(base).Data(next)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	meta := map[string]any{"uid": base.GetUID()}
	if status, ok := fields["status"].(map[string]any); ok && status["conditions"] != nil {
		meta["resourceVersion"] = base.GetResourceVersion()
	}
	fields["metadata"] = meta
	if data, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// outdated reports whether a patch of [difference] was refused because somebody else wrote
// to the object meanwhile, or another has its name: the cache will tell.
func outdated(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return apierrors.IsConflict(err)
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// newer reports whether version a of an object came after b.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// newQueue makes a queue of what is to be written. What fails comes back after
// first, then after twice that and so on, up to last.
func newQueue[K comparable](first, last time.Duration) workqueue.TypedRateLimitingInterface[K] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, last))
}

// podReference names a pod, of which key is namespace/name, in bindings and events.
func podReference(key, uid string) *corev1.ObjectReference {
	namespace, name, _ := strings.Cut(key, "/")
	return &corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: namespace, Name: name, UID: types.UID(uid)}
}

// work does the keys of a queue, so many at once and never one twice at once,
// until the queue is shut down and empty. What fails is done again, later each time.
func work[K comparable](ctx context.Context, workers int, queue workqueue.TypedRateLimitingInterface[K], do func(context.Context, K) error) {
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for {
				key, end := queue.Get()
				if end {
					return
				}
				if err := do(ctx, key); err != nil {
					logr.FromContextOrDiscard(ctx).Error(err, "write", "object", fmt.Sprint(key))
					queue.AddRateLimited(key)
				} else {
					queue.Forget(key)
				}
				queue.Done(key)
			}
		})
	}
	wait.Wait()
}

// mailbox holds what comes from all sides until somebody takes it all.
type mailbox[T any] struct {
	bell  chan struct{} // rings when there is something to take
	mu    sync.Mutex
	items []T
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{bell: make(chan struct{}, 1)} }

// put adds items. It never blocks.
func (m *mailbox[T]) put(items ...T) {
	m.mu.Lock()
	m.items = append(m.items, items...)
	m.mu.Unlock()
	m.ring()
}

// offer adds an item unless so many wait already. It never blocks.
func (m *mailbox[T]) offer(item T, most int) {
	m.mu.Lock()
	if len(m.items) < most {
		m.items = append(m.items, item)
	}
	m.mu.Unlock()
	m.ring()
}

func (m *mailbox[T]) ring() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// take empties the mailbox.
func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
