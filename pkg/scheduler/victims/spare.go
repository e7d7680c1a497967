package victims

import (
	"math/bits"
	"slices"
)

// spare returns each unit that can be spared, the last one that left first, so that
// those that remain are all needed.
func (c *choice) spare() {
	if c.Counts {
		for i := range slices.Backward(c.taken) {
			c.spares(i, i+1)
		}
	} else {
		c.halve(0, len(c.taken))
	}
	c.taken = slices.DeleteFunc(c.taken, func(u *unit) bool { return len(u.gone) == 0 })
}

// halve returns what can be spared of the units from lo to hi, all at once if that will do.
func (c *choice) halve(lo, hi int) {
	if lo >= hi || c.spares(lo, hi) || hi-lo == 1 {
		return
	}
	middle := (lo + hi) / 2
	c.halve(middle, hi)
	c.halve(lo, middle)
}

// spares returns the units from lo to hi, and lets them go again when that is too much.
func (c *choice) spares(lo, hi int) bool {
	var back []*unit
	for i := hi - 1; i >= lo; i-- {
		u := c.taken[i]
		if len(u.gone) > 0 && !c.bound(u, hi) {
			c.give(u)
			back = append(back, u)
		}
	}
	if c.Enough() && (c.Counts || c.Places()) {
		for _, u := range back {
			u.gone = nil
		}
		return true
	}
	for _, u := range slices.Backward(back) {
		c.again(u)
	}
	return false
}

// bound reports whether what a unit is a part of leaves whole, and is not among those that return.
func (c *choice) bound(u *unit, hi int) bool {
	return !u.whole && slices.ContainsFunc(c.taken[hi:], func(o *unit) bool {
		return o.whole && o.gang == u.gang && len(o.gone) > 0
	})
}

// mostSearched is of how many units all sets are looked at, when letting go of them in
// order did not help: of what a queue may lose, it took the wrong part, or somebody
// must stay because the gang wants to be near him. searchBudget bounds how many units
// leave in all until then, in vain.
const (
	mostSearched = 12
	searchBudget = 1 << 15
)

// search looks at every set of units, the smallest sets first, and every order in which
// they may leave.
func (c *choice) search() bool {
	n := len(c.units)
	if n == 0 || n > mostSearched {
		return false
	}
	c.budget = searchBudget
	for size := 1; size <= n; size++ {
		for set := uint(0); set < 1<<n && c.budget > 0; set++ {
			if bits.OnesCount(set) == size && c.leave(set) && c.Enough() && (c.Counts || c.Places()) {
				return true
			}
			c.reset()
		}
	}
	return false
}

// leave lets all of a set of units go, in an order in which each may; if there is none,
// the world is as it was.
func (c *choice) leave(set uint) bool {
	if set == 0 {
		return true
	}
	for left := set; left > 0 && c.budget > 0; left &= left - 1 {
		i := bits.TrailingZeros(left)
		c.budget--
		if !c.take(c.units[i]) {
			continue
		}
		if c.leave(set &^ (1 << i)) {
			return true
		}
		c.undo()
	}
	return false
}

// undo returns the unit that left last.
func (c *choice) undo() {
	last := len(c.taken) - 1
	u := c.taken[last]
	c.give(u)
	u.gone, c.taken = nil, c.taken[:last]
}
