package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
)

const (
	// eventLimit bounds the Scheduled events that wait to be written. Beyond it
	// they are dropped, as events may be.
	eventLimit = 50_000
	// eventPause is how long events wait before it is looked again whether bindings wait.
	eventPause = 50 * time.Millisecond
	// waitPause is how long a gang waits before its pods are told why.
	waitPause = 3 * time.Second
	// podPause is the least time between two pods that are told why they wait.
	podPause = 20 * time.Millisecond
	// podsATurn is how many pods of a gang are told before the next gang's turn.
	podsATurn = 100
	// byGang is the index of pods by the key of their PodGroup.
	byGang = "muster/gang"
)

// announcer writes an event for each pod that was bound, and tells the pods of gangs
// that wait why. Each costs the API server as much as a binding, so they are written by
// one worker each, and only while no binding waits: a burst is bound first and spoken
// of afterwards.
type announcer struct {
	*Scheduler
	binds   *mailbox[engine.Bind]
	waiters workqueue.TypedRateLimitingInterface[string] // gangs

	mu   sync.Mutex
	made map[string]time.Time // when pods were made that wait for a node, by UID
}

func newAnnouncer(s *Scheduler) *announcer {
	return &announcer{Scheduler: s, binds: newMailbox[engine.Bind](), waiters: newQueue[string](time.Second, time.Minute), made: map[string]time.Time{}}
}

// watched takes notice of a pod: one that waits for a node is followed until its binding
// was answered, which may be after the watch showed it, or the pod is gone.
func (a *announcer) watched(p *corev1.Pod, gone bool) {
	uid, waits := string(p.UID), !gone && p.Spec.NodeName == "" && a.answersTo(p.Spec.SchedulerName)
	a.mu.Lock()
	_, known := a.made[uid]
	switch {
	case waits:
		a.made[uid] = p.CreationTimestamp.Time
	case gone:
		delete(a.made, uid)
	}
	a.mu.Unlock()
	if waits && !known {
		a.reached(Watched, uid)
	}
}

// reached tells how long a pod took to come to a stage, if that is known.
func (a *announcer) reached(stage Span, uid string) {
	a.mu.Lock()
	made, known := a.made[uid]
	if stage == Bound {
		delete(a.made, uid)
	}
	a.mu.Unlock()
	if known {
		a.took(stage, "", time.Since(made))
	}
}

// waits takes notice that a gang waits. It never waits itself.
func (a *announcer) waits(gang string) { a.waiters.AddAfter(gang, waitPause) }

// tellPods tells some pods of a gang that waits why: each once for each cause, however
// often the numbers change. The words begin with the cause, so that a pod shows what it
// was told.
func (a *announcer) tellPods(ctx context.Context, gang string) error {
	var pods corev1.PodList
	if err := a.cache.List(ctx, &pods, client.MatchingFields{byGang: gang}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the pods of gang %s: %w", gang, err)
	}
	told := 0
	for i := range pods.Items {
		why, waits := a.waitsFor(gang)
		if !waits {
			return nil
		}
		p, cause := &pods.Items[i], string(why.Code)+": "
		if !a.answersTo(p.Spec.SchedulerName) || !toBeTold(p, cause) {
			continue
		}
		if told++; told > podsATurn || !pause(ctx, podPause) || !a.quiet(ctx) {
			a.waiters.Add(gang) // the others are told in its next turn
			return nil
		}
		meta := map[string]any{"uid": p.UID, "resourceVersion": p.ResourceVersion} // it may be bound by now
		err := a.unschedulable(ctx, p.Namespace+"/"+p.Name, meta, why, clip(cause+why.String()))
		switch {
		case apierrors.IsConflict(err):
			a.waits(gang)
		case err != nil && !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}

// toBeTold reports whether a pod waits for a node and was not told of a cause yet.
func toBeTold(p *corev1.Pod, cause string) bool {
	if p.Spec.NodeName != "" || p.DeletionTimestamp != nil || len(p.Spec.SchedulingGates) > 0 || p.Status.Phase != corev1.PodPending {
		return false
	}
	return !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && strings.HasPrefix(c.Message, cause)
	})
}

// gangIndex is the index of pods by PodGroup.
func gangIndex(o client.Object) []string {
	if p, ok := o.(*corev1.Pod); ok && intake.GangOf(p) != "" {
		return []string{intake.GangOf(p)}
	}
	return nil
}

// bound takes notice of a binding that was written. It never waits.
func (a *announcer) bound(d engine.Bind) {
	a.reached(Bound, d.UID)
	a.binds.offer(d, eventLimit)
}

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
