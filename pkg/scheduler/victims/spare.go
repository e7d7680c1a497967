package victims

import (
	"math/bits"
	"slices"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// spare returns each unit that can be spared, the last one that left first, so that
// those that remain are all needed.
func (c *choice) spare() {
	if c.Counts {
		for i := len(c.taken) - 1; i >= 0; i-- {
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
	mark := c.world.Mark()
	var back []*unit
	for i := hi - 1; i >= lo; i-- {
		u := c.taken[i]
		if len(u.gone) > 0 && !c.bound(u, hi) {
			c.give(u)
			back = append(back, u)
		}
	}
	if c.Enough() && (c.Counts || c.Places()) && c.stillLawful(back) {
		for _, u := range back {
			u.gone = nil
		}
		return true
	}
	c.world.Rollback(mark)
	return false
}

// bound reports whether what a unit is a part of leaves whole, and is not among those that return.
func (c *choice) bound(u *unit, hi int) bool {
	return !u.whole && slices.ContainsFunc(c.taken[hi:], func(o *unit) bool {
		return o.whole && o.gang == u.gang && len(o.gone) > 0
	})
}

// stillLawful reports whether the units that stay away may do so without those that
// return: what one queue takes back of itself may be what entitles it to another's.
func (c *choice) stillLawful(back []*unit) bool {
	if len(c.Rules) == 1 {
		return true
	}
	mark := c.world.Mark()
	defer c.world.Rollback(mark)
	var away []*unit
	for _, u := range c.taken {
		if len(u.gone) > 0 && !slices.Contains(back, u) {
			away = append(away, u)
		}
	}
	for _, u := range slices.Backward(away) {
		c.give(u)
	}
	for _, u := range away {
		if !c.tiers.MayTake(u.rule, framework.Taking{By: c.Gang, Need: c.Need, From: u.gang, Takes: charged(u)}) {
			return false
		}
		c.again(u)
	}
	return true
}

// mostSearched is of how many units all sets are looked at, when letting go of them in
// order did not help: of what a queue may lose, it took the wrong part, or somebody
// must stay because the gang wants to be near him.
const mostSearched = 10

// search looks at every set of units, the smallest sets first.
func (c *choice) search() bool {
	n := len(c.units)
	if n == 0 || n > mostSearched {
		return false
	}
	for size := 1; size <= n; size++ {
		for set := uint(0); set < 1<<n; set++ {
			if bits.OnesCount(set) == size && c.only(set) {
				return true
			}
		}
	}
	return false
}

// only lets go of a set of units and reports whether the gang can then be placed; if
// not, the world is as it was.
func (c *choice) only(set uint) bool {
	mark := c.world.Mark()
	lawful := true
	for i := range c.units {
		lawful = lawful && (set&(1<<i) == 0 || c.take(&c.units[i]))
	}
	if lawful && c.Enough() && (c.Counts || c.Places()) {
		return true
	}
	c.world.Rollback(mark)
	c.reset()
	return false
}
