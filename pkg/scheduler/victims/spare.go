package victims

import "slices"

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

// search looks at every set of units that may leave in some order, the smallest sets
// first. Who may leave next depends on who left, not on their order.
func (c *choice) search() bool {
	n := len(c.units)
	if n == 0 || n > mostSearched {
		return false
	}
	for i, u := range c.units {
		u.number = int32(i)
	}
	c.budget = searchBudget
	seen := make([]bool, 1<<n)
	for ways := [][]*unit{nil}; len(ways) > 0 && c.budget > 0; {
		var next [][]*unit
		for _, way := range ways {
			found, further := c.step(way, seen)
			if found {
				return true
			}
			next = append(next, further...)
		}
		ways = next
	}
	return false
}

// step lets the units of a way go, and then each that may be next. It returns the ways
// that lead further, unless there would not be room if all of those left together.
func (c *choice) step(way []*unit, seen []bool) (found bool, further [][]*unit) {
	set := 0
	for _, u := range way {
		c.send(u)
		set |= 1 << u.number
	}
	c.budget -= len(way)
	for i, u := range c.units {
		to := set | 1<<i
		if to == set || seen[to] {
			continue
		}
		if c.budget--; !c.take(u) {
			continue
		}
		if seen[to] = true; c.Enough() && (c.Counts || c.Places()) {
			return true, nil
		}
		c.undo()
		further = append(further, append(slices.Clip(way), u))
	}
	c.reset()
	gone := slices.Clone(way)
	for _, w := range further {
		gone = append(gone, w[len(way)])
	}
	for _, u := range gone {
		for _, t := range u.tasks {
			c.Holders.free(t)
		}
	}
	if !c.roomy() {
		return false, nil
	}
	return false, further
}

// undo returns the unit that left last.
func (c *choice) undo() {
	last := len(c.taken) - 1
	u := c.taken[last]
	c.give(u)
	u.gone, c.taken = nil, c.taken[:last]
}
