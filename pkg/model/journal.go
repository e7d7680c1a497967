package model

import "iter"

// Mark is a point in the journal to which changes can be taken back.
type Mark struct {
	entries int
	epoch   uint64
}

// entry is where a task stood before a change.
type entry struct {
	task   *Task
	bucket Bucket
	on     *Node
}

// Mark returns the present point of the journal.
func (w *World) Mark() Mark { return Mark{entries: len(w.journal), epoch: w.Epoch} }

// Place assumes waiting task t on node n and notes it in the journal.
func (w *World) Place(t *Task, n *Node) { w.shift(t, Assumed, n) }

// Evict takes the room of a task on a node away, as if it were gone, and notes it in the
// journal. It is for asking what would be then: roll it back before facts come in.
func (w *World) Evict(t *Task) { w.shift(t, Evicted, t.On) }

// Return gives an evicted task its room back, and notes that in the journal as well.
func (w *World) Return(t *Task) { w.shift(t, standing(t), t.On) }

func (w *World) shift(t *Task, to Bucket, on *Node) {
	w.journal = append(w.journal, entry{t, t.Bucket, t.On})
	w.stands(t, to, on)
}

// stands moves a task in all sums.
func (w *World) stands(t *Task, bucket Bucket, on *Node) {
	w.lift(t)
	t.Bucket, t.On = bucket, on
	w.put(t)
}

// Rollback takes back all changes since the mark, the last one first. The world is
// then as it was, and so is its Epoch.
func (w *World) Rollback(m Mark) {
	for i := len(w.journal) - 1; i >= m.entries; i-- {
		e := w.journal[i]
		w.stands(e.task, e.bucket, e.on)
	}
	w.journal = w.journal[:m.entries]
	w.Epoch = m.epoch
}

// Since lists the tasks placed since the mark, in order of placement.
func (w *World) Since(m Mark) []*Task {
	var placed []*Task
	for _, e := range w.journal[m.entries:] {
		if e.bucket == Waiting {
			placed = append(placed, e.task)
		}
	}
	return placed
}

// Away yields the tasks that have left in a what-if, some more than once.
func (w *World) Away() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, e := range w.journal {
			if e.task.Bucket == Evicted && !yield(e.task) {
				return
			}
		}
	}
}

// Commit makes all changes final and empties the journal.
func (w *World) Commit() { w.journal = w.journal[:0] }

// tick gives the state of node n, and of all nodes, a number it never had before.
func (w *World) tick(n *Node) {
	w.lastEpoch++
	w.Epoch, n.Epoch = w.lastEpoch, w.lastEpoch
	w.Log.add(n.ID, max(4096, len(w.nodes)))
}
