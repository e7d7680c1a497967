package quota

import "github.com/muster-sh/muster/pkg/resource"

// Transfer is room that would go from one queue to another: what the one needs, and
// what the other would give.
type Transfer struct {
	To    ID
	Need  resource.Vector
	From  ID
	Takes resource.Vector
	// Spare is what From, or a queue above it, and those below could give before they give
	// this; nil: nothing.
	Spare func(ID) resource.Vector
	// Given is what a queue and those below it gave already in the same plan; nil: nothing.
	// It does not entitle To to more: what it had was its own, and may come back.
	Given func(ID) resource.Vector
}

// MayReclaim reports whether a transfer gives a queue no more than its part, of a queue
// that has more than its own. Both are looked at up to where their branches part:
//
//   - on the side that takes, every level has its part of what is needed at most, once
//     it has that; of the lowest ones, waived levels need not;
//   - on the side that gives, every level has more than its part of something that is
//     needed and given, even without what it could give before, and keeps its guarantee.
//
// Only resources count that the taker's part names; of those a giver's part does not
// name it has no part. So what was taken can't be taken back by the same rule: who took
// has no more than its part.
func (s Standing) MayReclaim(t Transfer, waived int) bool {
	to, from := s.Tree.Siblings(t.To, t.From)
	if to == from {
		return false // one of them is above the other
	}
	levels := s.Tree.depth(t.To) - s.Tree.depth(to)
	first := min(waived, levels)
	at := t.To
	for level := 0; ; level++ {
		if level >= first && !s.Tree.within(at, s.Part(at), t) {
			return false
		}
		if at == to {
			break
		}
		at = s.Tree.Parent(at)
	}
	part := s.Part(to)
	for at := t.From; ; at = s.Tree.Parent(at) {
		if !s.spares(at, part, t) {
			return false
		}
		if at == from {
			return true
		}
	}
}

// KeepsGuarantees reports whether a transfer leaves the queue that gives, and those above
// it up to where the branches part, what they are guaranteed.
func (t *Tree) KeepsGuarantees(tr Transfer) bool {
	to, from := t.Siblings(tr.To, tr.From)
	if to == from {
		return false // one of them is above the other
	}
	for at := tr.From; t.keeps(at, tr.Takes); at = t.Parent(at) {
		if at == from {
			return true
		}
	}
	return false
}

// IsGuaranteed reports whether a transfer brings the queue that takes, or one above it below
// where the branches part, no more than it is guaranteed.
func (t *Tree) IsGuaranteed(tr Transfer) bool {
	to, from := t.Siblings(tr.To, tr.From)
	for at := tr.To; to != from; at = t.Parent(at) {
		var part Limit
		for d, g := range t.Terms(at).Guarantee {
			if g > 0 {
				part.set(d, g)
			}
		}
		if t.within(at, part, tr) {
			return true
		}
		if at == to {
			break
		}
	}
	return false
}

// keeps reports whether a queue keeps its guarantee when it gives so much.
func (t *Tree) keeps(id ID, takes resource.Vector) bool {
	used, guarantee := t.Used(id), t.Terms(id).Guarantee
	for d, n := range takes {
		if g := guarantee.At(d); n > 0 && g > 0 && used.At(d)-n < g {
			return false
		}
	}
	return true
}

// within reports whether a queue with need more has no more than its part, of all that
// the part names; it must name something that is needed.
func (t *Tree) within(id ID, part Limit, tr Transfer) bool {
	used := t.Used(id)
	var given resource.Vector
	if tr.Given != nil {
		given = tr.Given(id)
	}
	named := false
	for d, n := range tr.Need {
		if n <= 0 || !part.Has(d) {
			continue
		}
		named = true
		if resource.Add(used.At(d)+given.At(d), n) > part.Amount.At(d) {
			return false
		}
	}
	return named
}

// spares reports whether a queue has more than its part of something that the part
// of the taker names, and keeps its guarantee.
func (s Standing) spares(id ID, taker Limit, t Transfer) bool {
	if !s.Tree.keeps(id, t.Takes) {
		return false
	}
	part, used := s.Part(id), s.Tree.Used(id)
	var spare resource.Vector
	if t.Spare != nil {
		spare = t.Spare(id)
	}
	above := false
	for d, n := range t.Takes {
		if n > 0 && taker.Has(d) && t.Need.At(d) > 0 && used.At(d)-spare.At(d) > part.Amount.At(d) {
			above = true
		}
	}
	return above
}
