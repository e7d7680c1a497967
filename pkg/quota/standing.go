package quota

import (
	"cmp"
	"math"

	"github.com/muster-sh/muster/pkg/resource"
)

// Standing compares queues by how much of their part they use.
type Standing struct {
	Tree  *Tree
	Total resource.Vector           // what there is
	Part  func(ID) Limit            // a queue's part; what it does not name it has no part of
	First func(ID) (priority int32) // queues of higher priority go first
	Asks  func(ID) resource.Vector  // what a queue without others below it asks for next
}

// Compare says which of two queues is served first: negative when a is. Queues in
// different branches are compared by the branches, where those part; a queue goes
// before those below it. Who would borrow comes after all who lack a part of
// theirs; then priority decides, then who uses less of its part, then who uses
// less of everything. The order is total up to queues that are equal in all that.
func (s Standing) Compare(a, b ID) int {
	x, y := s.Tree.Siblings(a, b)
	if x == y {
		return cmp.Compare(s.Tree.depth(a), s.Tree.depth(b))
	}
	a, b = x, y
	overA, overB := s.Over(a), s.Over(b)
	switch {
	case overA && !overB:
		return 1
	case overB && !overA:
		return -1
	}
	return cmp.Or(
		cmp.Compare(s.First(b), s.First(a)),
		s.Share(a).Cmp(s.Share(b)),
		s.whole(a).Cmp(s.whole(b)),
	)
}

// Over reports whether what a queue asks for next, or those below it wait for,
// would be borrowed: it has its part of some of that already. What the cluster
// does not have at all does not count.
func (s Standing) Over(id ID) bool {
	part, used, asks := s.Part(id), s.Tree.Used(id), s.Tree.Wanted(id)
	if !s.Tree.accounts[id].above {
		asks = s.Asks(id)
	}
	named := false
	for d := range part.Named {
		if !part.Has(d) || s.Total.At(d) <= 0 {
			continue
		}
		named = true
		if asks.At(d) > 0 && used.At(d) >= part.Amount.At(d) {
			return true
		}
	}
	return !named
}

// Share is how much of its part a queue uses, in the resource where that is most.
func (s Standing) Share(id ID) Share {
	part := s.Part(id)
	return ShareOf(s.Tree.Used(id), part.Amount, part.Has)
}

func (s Standing) whole(id ID) Share {
	return ShareOf(s.Tree.Used(id), s.Total, func(int) bool { return true })
}

// Everything makes a limit that names every resource of v.
func Everything(v resource.Vector) Limit {
	named := make([]bool, len(v))
	for d := range named {
		named[d] = true
	}
	return Limit{Amount: v, Named: named}
}

// Parts computes every queue's part as it says itself: what it deserves, at least
// its guarantee, at most its ceiling. A queue that says nothing of a resource has
// what those below it have together.
func (t *Tree) Parts() []Limit {
	parts := make([]Limit, len(t.accounts))
	children := t.children()
	for _, id := range children[0] {
		t.part(id, children, parts)
	}
	return parts
}

func (t *Tree) part(id ID, children [][]ID, parts []Limit) {
	terms := t.accounts[id].terms
	var below Limit
	dims := max(len(terms.Deserved.Named), len(terms.Guarantee))
	for _, child := range children[id+1] {
		t.part(child, children, parts)
		dims = max(dims, len(parts[child].Named))
		for d := range parts[child].Named {
			if parts[child].Has(d) {
				below.set(d, resource.Add(below.Amount.At(d), parts[child].Amount.At(d)))
			}
		}
	}
	for d := range dims {
		amount, named := below.Amount.At(d), below.Has(d)
		if terms.Deserved.Has(d) {
			amount, named = terms.Deserved.Amount.At(d), true
		}
		if g := terms.Guarantee.At(d); g > 0 {
			amount, named = max(amount, g), true
		}
		if limit := terms.Capability.At(d); named && limit != math.MaxInt64 {
			amount = min(amount, limit)
		}
		if named {
			parts[id].set(d, amount)
		}
	}
}
