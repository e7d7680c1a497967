package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record/util"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

const (
	// eventLimit bounds the Scheduled events that wait to be written. Beyond it
	// they are dropped, as events may be.
	eventLimit = 50_000
	// eventPause is how long events wait before it is looked again whether bindings wait.
	eventPause = 50 * time.Millisecond
)

// announcer writes an event for each pod that was bound. An event costs the API
// server as much as a binding, so events are written by one worker, and only
// while no binding waits: a burst is bound first and spoken of afterwards.
type announcer struct {
	*Scheduler
	bell chan struct{} // rings when there is something to write

	mu      sync.Mutex
	waiting []engine.Bind
}

func newAnnouncer(s *Scheduler) *announcer {
	return &announcer{Scheduler: s, bell: make(chan struct{}, 1)}
}

// bound takes notice of a binding that was written. It never waits.
func (a *announcer) bound(d engine.Bind) {
	a.mu.Lock()
	if len(a.waiting) < eventLimit {
		a.waiting = append(a.waiting, d)
	}
	a.mu.Unlock()
	select {
	case a.bell <- struct{}{}:
	default:
	}
}

func (a *announcer) take() []engine.Bind {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.waiting
	a.waiting = nil
	return waiting
}

// run works until ctx ends. What then still waits is dropped.
func (a *announcer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.bell:
		}
		for _, d := range a.take() {
			if !a.quiet(ctx) {
				return
			}
			if err := a.write(ctx, d); err != nil && ctx.Err() == nil {
				logr.FromContextOrDiscard(ctx).V(1).Info("event was not written", "task", d.Name, "why", err.Error())
			}
		}
	}
}

// quiet waits until no binding waits. It returns false when ctx ends.
func (a *announcer) quiet(ctx context.Context) bool {
	for a.binder.queue.Len() > 0 {
		if !pause(ctx, eventPause) {
			return false
		}
	}
	return ctx.Err() == nil
}

func (a *announcer) write(ctx context.Context, d engine.Bind) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(d.Name)
	if err != nil {
		return fmt.Errorf("pod %s: %w", d.Name, err)
	}
	now := metav1.Now()
	_, err = a.pods.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: util.GenerateEventName(name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: namespace, Name: name, UID: types.UID(d.UID)},
		Type:           corev1.EventTypeNormal, Reason: "Scheduled", Message: fmt.Sprintf("Successfully assigned %s to %s", d.Name, d.Node),
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: component}, ReportingController: component,
	}, metav1.CreateOptions{})
	return err
}
