package live

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	binds *mailbox[engine.Bind]
}

func newAnnouncer(s *Scheduler) *announcer {
	return &announcer{Scheduler: s, binds: newMailbox[engine.Bind]()}
}

// bound takes notice of a binding that was written. It never waits.
func (a *announcer) bound(d engine.Bind) { a.binds.offer(d, eventLimit) }

// run works until ctx ends. What then still waits is dropped.
func (a *announcer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.binds.bell:
		}
		for _, d := range a.binds.take() {
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
	pod := podReference(d.Name, d.UID)
	now := metav1.Now()
	_, err := a.pods.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: pod.Namespace, Name: util.GenerateEventName(pod.Name, now.UnixNano())},
		InvolvedObject: *pod,
		Type:           corev1.EventTypeNormal, Reason: "Scheduled", Message: fmt.Sprintf("Successfully assigned %s to %s", d.Name, d.Node),
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: component}, ReportingController: component,
	}, metav1.CreateOptions{})
	return err
}
