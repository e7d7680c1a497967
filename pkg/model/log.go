package model

// Log lists the nodes that changed, in order, each time they did. Only a tail of
// it is kept; positions count from the beginning of time.
type Log struct {
	nodes []NodeID
	begin int
}

// Begin is the first position that is still kept, End the one after the last.
func (l *Log) Begin() int { return l.begin }

// End is the position after the last change.
func (l *Log) End() int { return l.begin + len(l.nodes) }

// Since lists the changes from a position on, which must not be before Begin. The
// caller must not keep the slice.
func (l *Log) Since(at int) []NodeID { return l.nodes[at-l.begin:] }

// add notes a change. Beyond twice keep changes, the older half is forgotten.
func (l *Log) add(n NodeID, keep int) {
	if len(l.nodes) >= 2*keep {
		drop := len(l.nodes) - keep
		l.nodes = append(l.nodes[:0], l.nodes[drop:]...)
		l.begin += drop
	}
	l.nodes = append(l.nodes, n)
}
