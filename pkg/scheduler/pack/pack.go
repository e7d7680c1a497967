// Package pack says whether unequal tasks fit on nodes together, by looking at
// every arrangement if need be. It is the court of appeal for what a greedy
// placement refused; it knows no gang and no plugin, and its patience is bounded.
package pack

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/pkg/resource"
)

// Item is tasks that are alike.
type Item struct {
	Req   resource.Vector
	Most  int64          // how many there are
	Parts []int          // indexes into Problem.Least: the minima that they count for
	Fits  func(int) bool // whether they may go to that bin, room aside
}

// Problem asks for counts of items in bins: within the bins' room, at least Least
// of each part, at least Need in all, and of a sum that Allows.
type Problem struct {
	Items  []Item
	Bins   []resource.Vector // room; used as scratch, and as it was afterwards
	Least  []int64           // by part
	Need   int64
	Allows func(sum resource.Vector) bool // must refuse every sum that has a refused part
	Budget int                            // steps after which the search gives up; less what was spent, afterwards
}

// Solve returns how many of each item go to each bin, by item and bin, none of which
// could be left out; false when there is no arrangement, or none was found within
// the budget.
func (p *Problem) Solve() ([][]int64, bool) {
	s := &search{Problem: p, counts: make([][]int64, len(p.Items)), order: make([]int, len(p.Items)), placed: make([]int64, len(p.Least))}
	for i := range p.Items {
		s.counts[i], s.order[i] = make([]int64, len(p.Bins)), i
	}
	// The scarcest item chooses first: it has the fewest places to go.
	room := make([]int64, len(p.Items))
	for i := range p.Items {
		room[i] = s.room(i, 0)
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(room[a], room[b]) })
	found := s.item(0)
	if found {
		s.spare()
	}
	return s.counts, found
}

// spare leaves out what is not needed, from the last items and bins first: the
// search places many so that it fails early, not because they are wanted.
func (s *search) spare() {
	for i, item := range slices.Backward(s.Items) {
		for b := len(s.Bins) - 1; b >= 0; b-- {
			n := min(s.counts[i][b], s.total-s.Need)
			for _, part := range item.Parts {
				n = min(n, s.placed[part]-s.Least[part])
			}
			if n > 0 {
				s.counts[i][b] -= n
				s.note(item.Parts, -n)
			}
		}
	}
}

type search struct {
	*Problem
	order  []int     // of items
	counts [][]int64 // by item and bin
	placed []int64   // by part
	total  int64
	sum    resource.Vector
}

// room is how many of an item fit into the bins from a given one on.
func (s *search) room(item, from int) int64 {
	it := &s.Items[item]
	var n int64
	for b := from; b < len(s.Bins) && n < it.Most; b++ {
		if it.Fits(b) {
			n += min(s.Bins[b].Times(it.Req), it.Most)
		}
	}
	return min(n, it.Most)
}

// item arranges the items from the k-th in order on.
func (s *search) item(k int) bool {
	if !s.Allows(s.sum) || !s.hope(k) {
		return false
	}
	if k == len(s.order) {
		return true
	}
	return s.bin(k, 0, s.Items[s.order[k]].Most)
}

// hope reports whether the items from the k-th on could still make up what is missing.
func (s *search) hope(k int) bool {
	var all int64
	could := make([]int64, len(s.Least))
	for _, i := range s.order[k:] {
		s.Budget--
		n := s.room(i, 0)
		all += n
		for _, part := range s.Items[i].Parts {
			could[part] += n
		}
	}
	for part, least := range s.Least {
		if s.placed[part]+could[part] < least {
			return false
		}
	}
	return s.total+all >= s.Need
}

// bin arranges up to left tasks of the k-th item in the bins from b on. Many come
// before few, so that the first arrangement found is a full one.
func (s *search) bin(k, b int, left int64) bool {
	if s.Budget--; s.Budget < 0 {
		return false
	}
	i := s.order[k]
	it := &s.Items[i]
	for b < len(s.Bins) && (left == 0 || !it.Fits(b) || s.Bins[b].Times(it.Req) == 0) {
		b++
	}
	if b >= len(s.Bins) || left == 0 {
		return s.item(k + 1)
	}
	for n := min(left, s.Bins[b].Times(it.Req)); n >= 0; n-- {
		s.put(i, b, n)
		if s.bin(k, b+1, left-n) {
			s.Bins[b].Add(it.Req, n)
			return true
		}
		s.put(i, b, -n)
		if s.Budget < 0 {
			return false
		}
	}
	return false
}

// put moves n tasks of an item into a bin.
func (s *search) put(item, bin int, n int64) {
	it := &s.Items[item]
	s.Bins[bin].Add(it.Req, -n)
	s.sum.Add(it.Req, n)
	s.counts[item][bin] += n
	s.note(it.Parts, n)
}

// note counts n tasks of an item as placed.
func (s *search) note(parts []int, n int64) {
	for _, part := range parts {
		s.placed[part] += n
	}
	s.total += n
}
