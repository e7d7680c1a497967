package model

import (
	"reflect"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// Queue is a queue as the scheduler sees it. Its sums are in World.Quota.
type Queue struct {
	QueueSpec
	ID    quota.ID
	Known bool // false: others name it, or nobody any more, but it does not exist
	// Asks is what the gang of it that is served next asks for: each resource that
	// any of its waiting tasks asks for, per task. The engine sets it before it
	// compares queues.
	Asks resource.Vector
	// Next is that gang; nil when none of it is served now.
	Next  *Gang
	gangs int // that name it
}

// SetQueue adds or changes a queue.
func (w *World) SetQueue(s QueueSpec) {
	q := w.queue(s.Name)
	if q.Known && reflect.DeepEqual(q.QueueSpec, s) {
		return // our own status came back
	}
	w.update(q, s, true)
}

// DropQueue forgets a queue. What runs in it stays charged.
func (w *World) DropQueue(name string) {
	if q := w.queuesByName[name]; q != nil {
		w.update(q, QueueSpec{Name: name}, false)
	}
}

func (w *World) update(q *Queue, s QueueSpec, known bool) {
	q.QueueSpec, q.Known = s, known
	was := w.Quota.Parent(q.ID)
	w.attach(q)
	for w.attachStrays() {
	}
	if was != quota.None {
		w.leaveQueue(w.queues[was])
	}
	w.leaveQueue(q)
	w.Happened |= QueueChanged | QueueRoom
}

// Queues returns all queues by ID; those without a name are numbers that are free.
// The caller must not change the slice.
func (w *World) Queues() []*Queue { return w.queues }

// QueueNamed returns the queue with that name, nil when none was heard of.
func (w *World) QueueNamed(name string) *Queue { return w.queuesByName[name] }

// parentOf is the queue that q names as its parent, None when there is none of that name.
func (w *World) parentOf(q *Queue) quota.ID {
	if p := w.queuesByName[q.Parent]; p != nil {
		return p.ID
	}
	return quota.None
}

// attachStrays puts queues that are not below the parent they name in their place:
// the parent came later, or a circle was opened. It reports whether any moved.
func (w *World) attachStrays() bool {
	moved := false
	for _, q := range w.queues {
		if w.Quota.Parent(q.ID) != w.parentOf(q) {
			moved = w.attach(q) || moved
		}
	}
	return moved
}

// attach reports false for a queue that would close a circle. It is left where it
// is then, and the engine lets nothing run in the circle.
func (w *World) attach(q *Queue) bool {
	return w.Quota.Set(q.ID, w.parentOf(q), quota.Terms{
		Weight:     int64(q.Weight),
		Guarantee:  w.Resources.Vector(q.Guarantee),
		Deserved:   quota.LimitOf(&w.Resources, q.Deserved),
		Capability: quota.LimitOf(&w.Resources, q.Capability),
	})
}

func (w *World) queue(name string) *Queue {
	if q := w.queuesByName[name]; q != nil {
		return q
	}
	if k := len(w.freeQueues); k > 0 {
		q := w.freeQueues[k-1]
		w.freeQueues = w.freeQueues[:k-1]
		q.Name, w.queuesByName[name] = name, q
		return q
	}
	q := &Queue{ID: w.Quota.Add(), QueueSpec: QueueSpec{Name: name}}
	w.queues = append(w.queues, q)
	w.queuesByName[name] = q
	return q
}

// leaveQueue forgets a queue that does not exist when no gang and no queue below
// it speaks of it: its number is for the next that comes.
func (w *World) leaveQueue(q *Queue) {
	if q.Known || q.Name == "" || q.gangs > 0 {
		return
	}
	for _, other := range w.queues {
		if w.Quota.Parent(other.ID) == q.ID {
			return
		}
	}
	delete(w.queuesByName, q.Name)
	w.Quota.Reset(q.ID)
	q.QueueSpec, q.Asks = QueueSpec{}, nil
	w.freeQueues = append(w.freeQueues, q)
}
