package model

// Mark is a point in the journal to which placements can be taken back.
type Mark struct {
	entries int
	epoch   uint64
}

// Mark returns the present point of the journal.
func (w *World) Mark() Mark { return Mark{entries: len(w.journal), epoch: w.Epoch} }

// Place assumes waiting task t on node n and notes it in the journal.
func (w *World) Place(t *Task, n *Node) {
	w.lift(t)
	t.Bucket, t.On = Assumed, n
	w.put(t)
	w.journal = append(w.journal, t)
}

// Rollback takes back all placements since the mark, the last one first. The
// world is then as it was, and so is its Epoch.
func (w *World) Rollback(m Mark) {
	for i := len(w.journal) - 1; i >= m.entries; i-- {
		t := w.journal[i]
		w.lift(t)
		t.Bucket, t.On = Waiting, nil
		w.put(t)
	}
	w.journal = w.journal[:m.entries]
	w.Epoch = m.epoch
}

// Since yields the tasks placed since the mark, in order of placement.
func (w *World) Since(m Mark) []*Task { return w.journal[m.entries:] }

// Commit makes all placements final and empties the journal.
func (w *World) Commit() { w.journal = w.journal[:0] }

// tick gives the state of node n, and of all nodes, a number it never had before.
func (w *World) tick(n *Node) {
	w.lastEpoch++
	w.Epoch, n.Epoch = w.lastEpoch, w.lastEpoch
	w.Log.add(n.ID, max(4096, len(w.nodes)))
}
