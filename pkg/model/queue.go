package model

import (
	"maps"
	"reflect"
	"slices"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// Queue is a queue as the scheduler sees it. Its sums are in World.Quota.
type Queue struct {
	QueueSpec
	ID    quota.ID
	Known bool // false: others name it, but it does not exist
	// Asks is what the gang of it that is served next asks for: each resource that
	// any of its waiting tasks asks for, per task. The engine sets it before it
	// compares queues.
	Asks resource.Vector
}

// SetQueue adds or changes a queue.
func (w *World) SetQueue(s QueueSpec) {
	q := w.queue(s.Name)
	if q.Known && reflect.DeepEqual(q.QueueSpec, s) {
		return // our own status came back
	}
	w.update(q, s, true)
	for _, name := range slices.Sorted(maps.Keys(w.queuesByName)) {
		if child := w.queuesByName[name]; child.Parent == q.Name {
			w.attach(child)
		}
	}
}

// DropQueue forgets a queue. What runs in it stays charged.
func (w *World) DropQueue(name string) {
	if q := w.queuesByName[name]; q != nil {
		w.update(q, QueueSpec{Name: name}, false)
	}
}

func (w *World) update(q *Queue, s QueueSpec, known bool) {
	q.QueueSpec, q.Known = s, known
	w.attach(q)
	w.Happened |= QueueChanged | QueueRoom
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
	w.Quota.Set(q.ID, parent, quota.Terms{
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
	q := &Queue{ID: w.Quota.Add(), QueueSpec: QueueSpec{Name: name}}
	w.queues = append(w.queues, q)
	w.queuesByName[name] = q
	return q
}
