package model

import (
	"maps"
	"reflect"
	"slices"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
)

// Queue is a queue as the scheduler sees it. Its sums are in World.Quota.
type Queue struct {
	ID      quota.ID
	Name    string
	Known   bool // false: gangs name it, but it does not exist
	Closed  string
	Problem *reason.Reason
	Parent  string // name of the queue above it; empty: none
	limit   quota.Limit
	spec    QueueSpec // as last told
	Gangs   int       // gangs that name it
}

// SetQueue adds or changes a queue.
func (w *World) SetQueue(s QueueSpec) *Queue {
	q := w.queue(s.Name)
	if q.Known && reflect.DeepEqual(q.spec, s) {
		return q // our own status came back
	}
	q.spec = s
	q.Known, q.Closed, q.Problem = true, s.Closed, s.Problem
	q.Parent, q.limit = s.Parent, quota.LimitOf(&w.Resources, s.Capability)
	w.attach(q)
	for _, name := range slices.Sorted(maps.Keys(w.queuesByName)) {
		if child := w.queuesByName[name]; child.Parent == q.Name {
			w.attach(child)
		}
	}
	w.Happened |= QueueChanged | QueueRoom
	return q
}

// DropQueue forgets a queue. What runs in it stays charged.
func (w *World) DropQueue(name string) *Queue {
	q := w.queuesByName[name]
	if q == nil {
		return nil
	}
	q.Known, q.Closed, q.Problem = false, "", nil
	q.Parent, q.limit = "", quota.Limit{}
	w.attach(q)
	w.Happened |= QueueChanged | QueueRoom
	return q
}

// Queues returns all queues by ID. The caller must not change the slice.
func (w *World) Queues() []*Queue { return w.queues }

// QueueNamed returns the queue with that name, nil when none was heard of.
func (w *World) QueueNamed(name string) *Queue { return w.queuesByName[name] }

func (w *World) attach(q *Queue) {
	parent := quota.None
	if p := w.queuesByName[q.Parent]; p != nil {
		parent = p.ID
	}
	// A circle is refused here and stays open at one end; the engine lets nothing run in it.
	w.Quota.Set(q.ID, parent, q.limit)
}

func (w *World) queue(name string) *Queue {
	if q := w.queuesByName[name]; q != nil {
		return q
	}
	q := &Queue{ID: w.Quota.Add(), Name: name}
	w.queues = append(w.queues, q)
	w.queuesByName[name] = q
	return q
}
