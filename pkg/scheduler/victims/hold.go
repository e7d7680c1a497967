package victims

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Hold is room that is being made for a gang: who goes, and until when that is waited for.
type Hold struct {
	Until    time.Time
	leaving  []leaver
	expected map[*model.Task]bool // those that leave
}

// leaver is a task that goes, what it was charged, and when it was seen to be gone.
type leaver struct {
	task *model.Task
	req  resource.Vector
	gone time.Time
}

// goneAfter is how long a task may take to go beyond the time it is given to end.
const goneAfter = time.Minute

// Deadline is when a task that is told to go now should be gone.
func Deadline(t *model.Task, now time.Time) time.Time {
	grace := 30 * time.Second
	if t.Pod != nil && t.Pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*t.Pod.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	return now.Add(grace + goneAfter)
}

// Expect adds a task to those that are waited for, once.
func (h *Hold) Expect(t *model.Task, now time.Time) {
	if h.expected[t] {
		return
	}
	if h.expected == nil {
		h.expected = map[*model.Task]bool{}
	}
	h.expected[t] = true
	h.leaving = append(h.leaving, leaver{task: t, req: t.Class.Req})
	if until := Deadline(t, now); until.After(h.Until) {
		h.Until = until
	}
}

// Count notes who is gone by now, with all they had, and returns how many are waited for and how many of
// those are still there.
func (h *Hold) Count(w *model.World, tiers *framework.Tiers, now time.Time) (all, there int) {
	for i := range h.leaving {
		l := &h.leaving[i]
		switch {
		case w.TaskOf(l.task.UID) == l.task && l.task.On != nil && l.task.Bucket == model.Releasing:
			there++
		case l.gone.IsZero() && tiers.Lingers(l.task.UID):
			there++
		case l.gone.IsZero():
			l.gone = now
		}
	}
	return len(h.leaving), there
}

// Idle is for how many seconds each resource that was given up has been of no use to
// anybody, as far as Count has noted.
func (h *Hold) Idle(now time.Time) map[int]float64 {
	idle := map[int]float64{}
	for _, l := range h.leaving {
		if l.gone.IsZero() {
			continue
		}
		for d, n := range l.req {
			idle[d] += float64(n) * now.Sub(l.gone).Seconds()
		}
	}
	return idle
}

// Room is what nodes will have when all who are going are gone, less what was taken of it.
type Room map[*model.Node]resource.Vector

// Take takes so many times a request of a node; nothing, and false, when there is not that much.
func (r Room) Take(n *model.Node, req resource.Vector, times int64) bool {
	room, ok := r[n]
	if !ok {
		room = slices.Clone(n.Free)
		for _, t := range n.Tasks {
			if t.Bucket == model.Releasing {
				room.Add(t.Class.Req, 1)
			}
		}
	}
	ok = room.Times(req) >= times
	if ok {
		room.Add(req, -times)
	}
	r[n] = room
	return ok
}

// Nominee is a task and the node, by name, on which room is being made for it.
type Nominee struct {
	Task *model.Task
	Node string
}

// Asked is the tasks that were told to go and are not known to be going, in that order.
type Asked struct{ tasks []asked }

type asked struct {
	task     *model.Task
	deadline time.Time
}

// answered reports whether a task is going, or is known to stay.
func (k asked) answered() bool { return !k.task.Leaving || k.task.Deleting }

// Add adds a task that is told to go.
func (a *Asked) Add(t *model.Task, now time.Time) {
	a.tasks = append(a.tasks, asked{t, Deadline(t, now)})
}

// Unheeded returns those that should be gone by now. They, and those that are going or
// stay, are not kept.
func (a *Asked) Unheeded(w *model.World, now time.Time) (late []*model.Task) {
	a.tasks = slices.DeleteFunc(a.tasks, func(k asked) bool {
		if w.TaskOf(k.task.UID) != k.task || k.answered() {
			return true
		}
		if now.Before(k.deadline) {
			return false
		}
		late = append(late, k.task)
		return true
	})
	return late
}

// Next is when the first of them should be gone; false when there are none.
func (a *Asked) Next() (next time.Time, ok bool) {
	for _, k := range a.tasks {
		if !k.answered() && (!ok || k.deadline.Before(next)) {
			next, ok = k.deadline, true
		}
	}
	return next, ok
}
