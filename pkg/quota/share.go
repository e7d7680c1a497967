package quota

import (
	"cmp"

	"github.com/muster-sh/muster/pkg/resource"
)

// Share is how much of its part a queue uses: Used of Part, in the resource where
// that is most. A Share of Part 0 with something used is above all others.
type Share struct{ Used, Part int64 }

// Cmp orders shares exactly: negative when s is the smaller.
func (s Share) Cmp(o Share) int {
	switch {
	case s.Part <= 0 && o.Part <= 0:
		return cmp.Compare(min(s.Used, 1), min(o.Used, 1))
	case s.Part <= 0:
		return boundless(s)
	case o.Part <= 0:
		return -boundless(o)
	default:
		return resource.Share{Part: s.Used, Whole: s.Part}.Compare(resource.Share{Part: o.Used, Whole: o.Part})
	}
}

// boundless compares a share of nothing with a share of something.
func boundless(s Share) int {
	if s.Used > 0 {
		return 1
	}
	return -1
}

// Float is the share as a number for people and metrics; 0 of 0 is 0, something of 0 is 1.
func (s Share) Float() float64 {
	switch {
	case s.Part > 0:
		return float64(s.Used) / float64(s.Part)
	case s.Used > 0:
		return 1
	default:
		return 0
	}
}

// ShareOf returns the largest share over the resources that named accepts.
func ShareOf(used, part resource.Vector, named func(dim int) bool) Share {
	best := Share{0, 1}
	for d := range max(len(used), len(part)) {
		if !named(d) {
			continue
		}
		if s := (Share{max(used.At(d), 0), part.At(d)}); s.Cmp(best) > 0 {
			best = s
		}
	}
	return best
}

// Siblings returns the queues above a and b, or themselves, that stand right
// below the lowest queue above both. They are equal when one is above the other.
func (t *Tree) Siblings(a, b ID) (ID, ID) {
	for da, db := t.depth(a), t.depth(b); da != db; {
		if da > db {
			a, da = t.Parent(a), da-1
		} else {
			b, db = t.Parent(b), db-1
		}
	}
	for a != b && t.Parent(a) != t.Parent(b) {
		a, b = t.Parent(a), t.Parent(b)
	}
	return a, b
}

func (t *Tree) depth(id ID) int {
	n := 0
	for ; id != None; id = t.Parent(id) {
		n++
	}
	return n
}
