// Package queue opens and closes queues: it alone writes their state, carries out
// the Commands that name them, and says what can't be right about their limits.
// What they use is the scheduler's to write.
package queue

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// byParent is the value of the annotation on a queue that is closed because one above it is.
const byParent = "true"

// Observed is what there is around one queue.
type Observed struct {
	Queue    *schedulingv1beta1.Queue // nil: there is none of that name
	Parent   *schedulingv1beta1.Queue // nil: none
	Commands []busv1alpha1.Command    // that target it
	AtWork   int                      // gangs at work in it and below; only asked for when Closes
}

// AtWork reports whether a gang keeps its queue from being empty: it holds room,
// or was told that it may. One that waits or has ended does not.
func AtWork(pg *schedulingv1beta1.PodGroup) bool {
	switch pg.Status.Phase {
	case schedulingv1beta1.PodGroupRunning, schedulingv1beta1.PodGroupUnknown:
		return true
	case schedulingv1beta1.PodGroupInqueue:
		refused := slices.ContainsFunc(pg.Status.Conditions, func(c schedulingv1beta1.PodGroupCondition) bool {
			return c.Type == schedulingv1beta1.PodGroupUnschedulableType && c.Status == corev1.ConditionTrue
		})
		return !refused || pg.Status.Running > 0
	default:
		return pg.Status.Running > 0
	}
}

// wish is whether a queue is to be closed, by itself or by the queue above it.
type wish struct{ itself, parent bool }

func (w wish) closed() bool { return w.itself || w.parent }

// Closes reports whether the queue is to be closed, so that it matters who works in it.
func Closes(o Observed) bool {
	if o.Queue == nil {
		return false
	}
	w, _ := decide(o)
	return w.closed()
}

// Step says what must be done so that a queue has the state it should have, and
// every Command that names it is carried out, or refused, and gone.
func Step(o Observed) outcome.Outcome {
	var out outcome.Outcome
	for _, c := range ordered(o.Commands) {
		out.Delete = append(out.Delete, c)
	}
	if o.Queue == nil {
		out.Events = unmet(o.Commands)
		return out
	}
	w, events := decide(o)
	q, was, next := o.Queue, o.Queue.Status.State, schedulingv1beta1.QueueStateOpen
	switch {
	case w.closed() && o.AtWork > 0:
		next = schedulingv1beta1.QueueStateClosing
	case w.closed():
		next = schedulingv1beta1.QueueStateClosed
	}
	p := outcome.Patch{Object: q, Fields: fields(q, w)}
	if next != was {
		p.Status = map[string]any{"state": next}
		if e := moved(q, w, next, o.AtWork); len(events) == 0 && e.Message != "" {
			events = append(events, e)
		}
	}
	if len(p.Fields)+len(p.Status) > 0 {
		out.Patch = append(out.Patch, p)
	}
	out.Events = events
	return out
}

// decide carries the Commands out in thought, in order.
func decide(o Observed) (wish, []outcome.Event) {
	q := o.Queue
	var w wish
	if q.Name != schedulingv1beta1.RootQueue { // which stays open, whatever somebody wrote
		w.itself = q.Closed() && q.Annotations[schedulingv1beta1.ClosedByParentAnnotation] != byParent
		w.parent = o.Parent != nil && o.Parent.Closed()
	}
	var events []outcome.Event
	for _, c := range ordered(o.Commands) {
		if why := refusal(c, o, w); why != "" {
			events = append(events,
				outcome.Event{On: c, Warning: true, Reason: invalidCommand, Message: why},
				outcome.Event{On: q, Warning: true, Reason: invalidCommand, Message: "Command " + c.Namespace + "/" + c.Name + ": " + why})
			continue
		}
		closes := c.Action == string(busv1alpha1.CloseQueueAction)
		if closes != w.itself {
			events = append(events, outcome.Event{On: q, Reason: c.Action, Message: carriedOut(c, closes)})
		}
		w.itself = closes
	}
	return w, events
}

const invalidCommand = "InvalidCommand"

// refusal says why a Command can't be carried out; empty: it can.
func refusal(c *busv1alpha1.Command, o Observed, w wish) string {
	if uid := c.TargetObject.UID; uid != "" && uid != o.Queue.UID {
		return fmt.Sprintf("target.uid is %q: the queue of that name is another now, with uid %q; name that, or none", uid, o.Queue.UID)
	}
	switch busv1alpha1.Action(c.Action) {
	case busv1alpha1.CloseQueueAction:
		if o.Queue.Name == schedulingv1beta1.RootQueue {
			return fmt.Sprintf("target.name is %q: that queue is above all others and stays open; close the queues below it", o.Queue.Name)
		}
	case busv1alpha1.OpenQueueAction:
		if w.parent {
			return fmt.Sprintf("target.name is %q: the queue %q above it is %s; open that first", o.Queue.Name, o.Parent.Name, o.Parent.Status.State)
		}
	default:
		return fmt.Sprintf("action is %q: give OpenQueue or CloseQueue to a queue", c.Action)
	}
	return ""
}

// unmet refuses Commands whose target does not exist.
func unmet(commands []busv1alpha1.Command) []outcome.Event {
	var events []outcome.Event
	for _, c := range ordered(commands) {
		var why string
		switch t := c.TargetObject; {
		case t == nil:
			why = "target is missing: give kind and name of a queue or job"
		case t.Kind == "":
			why = `target.kind is "": give Queue or Job`
		default:
			why = fmt.Sprintf("target.name is %q: there is no such queue; create it, or name another", t.Name)
		}
		events = append(events, outcome.Event{On: c, Warning: true, Reason: invalidCommand, Message: why})
	}
	return events
}

func carriedOut(c *busv1alpha1.Command, closes bool) string {
	text := "opened by Command " + c.Namespace + "/" + c.Name
	if closes {
		text = "closed to new gangs by Command " + c.Namespace + "/" + c.Name + "; what runs goes on"
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// moved tells of a change of state that no Command asked for.
func moved(q *schedulingv1beta1.Queue, w wish, next schedulingv1beta1.QueueState, atWork int) outcome.Event {
	e := outcome.Event{On: q, Reason: string(busv1alpha1.CloseQueueAction)}
	switch {
	case !w.closed() && q.Closed():
		e.Reason, e.Message = string(busv1alpha1.OpenQueueAction), fmt.Sprintf("opened with queue %q above it", q.ParentName())
	case w.closed() && !q.Closed():
		e.Message = fmt.Sprintf("closed to new gangs with queue %q above it; what runs goes on", q.ParentName())
	case next == schedulingv1beta1.QueueStateClosed:
		e.Message = "closed: no gang is at work in it any more"
	case next == schedulingv1beta1.QueueStateClosing:
		e.Message = fmt.Sprintf("closing: %d gangs are at work in it", atWork)
	}
	return e
}

// fields is what must change outside of status. That a queue was closed by the
// one above it is noted before its state is written, and struck out after it is
// open again: forgotten half way, it would stay closed for good.
func fields(q *schedulingv1beta1.Queue, w wish) map[string]any {
	changed := map[string]any{}
	if q.Spec.Parent == "" && q.Name != schedulingv1beta1.RootQueue {
		changed["spec"] = map[string]any{"parent": schedulingv1beta1.RootQueue}
	}
	note, noted := q.Annotations[schedulingv1beta1.ClosedByParentAnnotation]
	annotate := func(value any) {
		changed["metadata"] = map[string]any{"annotations": map[string]any{schedulingv1beta1.ClosedByParentAnnotation: value}}
	}
	switch {
	case w.parent && !w.itself:
		if note != byParent {
			annotate(byParent)
		}
	case noted && (w.itself || !q.Closed()):
		annotate(nil)
	}
	return changed
}

// ordered returns the Commands that are not on their way out, the oldest first.
func ordered(commands []busv1alpha1.Command) []*busv1alpha1.Command {
	var sorted []*busv1alpha1.Command
	for i := range commands {
		if commands[i].DeletionTimestamp == nil {
			sorted = append(sorted, &commands[i])
		}
	}
	slices.SortFunc(sorted, func(a, b *busv1alpha1.Command) int {
		revision, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
		if err != nil {
			revision = 0
		}
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), revision, cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	return sorted
}
