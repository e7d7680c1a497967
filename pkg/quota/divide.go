package quota

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/pkg/resource"
)

// Part is one claimant in a division.
type Part struct {
	Weight int64 // below 1 counts 1
	Least  int64 // it gets at least this, even when it wants less
	Most   int64 // it gets no more than this, unless Least is more
}

// Fill divides total among the parts by weight, as water fills vessels: who wants
// less than its share leaves the rest to the others. Whole units that can't be
// divided go to the largest remainders, then to those that come first. The parts
// get less than total together only when all have their Most; more only when the
// Leasts alone exceed it.
//
// Source: weighted max-min fairness (Bertsekas and Gallager, Data Networks, §6.5),
// with the largest remainder method for whole units.
func Fill(total int64, parts []Part) []int64 {
	got := make([]int64, len(parts))
	open := make([]int, 0, len(parts))
	for i, p := range parts {
		got[i] = max(p.Least, 0)
		total -= min(got[i], total)
		if p.Most > got[i] {
			open = append(open, i)
		}
	}
	for total > 0 && len(open) > 0 {
		level, closed := lowest(total, parts, got, open)
		if closed {
			total, open = raise(total, parts, got, open, level)
			continue
		}
		distribute(total, parts, got, open)
		break
	}
	return got
}

func (p Part) weight() int64 { return max(p.Weight, 1) }

// level is how high the water stands in a full part: what it gets per weight.
func (p Part) level() resource.Share { return resource.Share{Part: p.Most, Whole: p.weight()} }

// lowest returns the lowest level, got per weight, at which one of the open parts
// is full, and whether total lasts to raise all open ones to it.
func lowest(total int64, parts []Part, got []int64, open []int) (resource.Share, bool) {
	level := parts[open[0]].level()
	for _, i := range open[1:] {
		if l := parts[i].level(); l.Compare(level) < 0 {
			level = l
		}
	}
	for _, i := range open {
		need := level.Of(parts[i].weight()) - got[i]
		if need > total {
			return level, false
		}
		total -= max(need, 0)
	}
	return level, true
}

// raise lifts all open parts to level and returns what is left and who is still open.
func raise(total int64, parts []Part, got []int64, open []int, level resource.Share) (int64, []int) {
	var still []int
	for _, i := range open {
		to := max(got[i], min(parts[i].Most, level.Of(parts[i].weight())))
		total -= to - got[i]
		got[i] = to
		if parts[i].level().Compare(level) > 0 {
			still = append(still, i)
		}
	}
	return total, still
}

// distribute gives all of total to open parts that it can't fill: to a common
// level where guarantees allow, the rest unit by unit to the largest remainders.
func distribute(total int64, parts []Part, got []int64, open []int) {
	// Parts above the common level by their Least get nothing more.
	for {
		var weights, sum int64
		for _, i := range open {
			weights += parts[i].weight()
			sum = resource.Add(sum, got[i])
		}
		level := resource.Share{Part: resource.Add(sum, total), Whole: weights}
		n := len(open)
		open = slices.DeleteFunc(open, func(i int) bool { return resource.Share{Part: got[i], Whole: parts[i].weight()}.Compare(level) > 0 })
		if len(open) == n {
			share(total, level, parts, got, open)
			return
		}
	}
}

func share(total int64, level resource.Share, parts []Part, got []int64, open []int) {
	type rest struct {
		part int
		rem  int64
	}
	rests := make([]rest, 0, len(open))
	for _, i := range open {
		w := parts[i].weight()
		whole := level.Of(w)
		to := max(whole, got[i])
		total -= to - got[i]
		got[i] = to
		rests = append(rests, rest{i, level.Part*w - whole*level.Whole}) // products may overflow, their difference does not
	}
	slices.SortStableFunc(rests, func(a, b rest) int { return cmp.Compare(b.rem, a.rem) })
	for _, r := range rests {
		if total <= 0 {
			return
		}
		if got[r.part] < parts[r.part].Most {
			got[r.part]++
			total--
		}
	}
}

// Divide computes every queue's part of total by weight, from the top down: each
// resource is filled among siblings, bounded by what a queue uses and wants and by
// its ceiling, and at least its guarantee as far as it wants it or not.
// into is memory used again; it is returned with one vector per queue.
func (t *Tree) Divide(total resource.Vector, into []resource.Vector) []resource.Vector {
	into = slices.Grow(into[:0], len(t.accounts))[:len(t.accounts)]
	children := t.children()
	for i := range into {
		into[i] = into[i][:0]
	}
	for d := range total {
		t.divide(d, None, total.At(d), children, into)
	}
	return into
}

func (t *Tree) divide(dim int, of ID, total int64, children [][]ID, into []resource.Vector) {
	below := children[of+1]
	if len(below) == 0 {
		return
	}
	parts := make([]Part, len(below))
	for i, id := range below {
		parts[i] = Part{
			Weight: t.accounts[id].terms.Weight,
			Least:  t.accounts[id].terms.Guarantee.At(dim),
			Most:   t.demand(id, dim, children),
		}
	}
	for i, got := range Fill(total, parts) {
		into[below[i]].Set(dim, got)
		t.divide(dim, below[i], got, children, into)
	}
}

// demand is what a queue and those below it use and want of dim, within their ceilings.
func (t *Tree) demand(id ID, dim int, children [][]ID) int64 {
	a := &t.accounts[id]
	sum := resource.Add(a.used.At(dim), a.wanted.At(dim))
	for _, child := range children[id+1] {
		c := &t.accounts[child]
		sum = resource.Add(sum, t.demand(child, dim, children)-resource.Add(c.used.At(dim), c.wanted.At(dim)))
	}
	return min(max(sum, 0), a.terms.Capability.At(dim))
}
