// Package victims chooses who gives way for a gang that found no room: the fewest that
// plugins let go, or nobody. It moves tasks in the ledger to ask what would be then,
// and leaves it to its caller to take that back.
//
// A gang gives what it has beyond its minimum task by task, then all the rest at once.
// Candidates are put in order, and leave in that order until there is room; then each
// that can be spared returns, the most valuable first.
package victims

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Request is a gang that needs room, and how to find out whether there is enough.
type Request struct {
	Gang    *model.Gang
	Need    resource.Vector // what it would be charged
	Classes []Class         // of its tasks that have no place, those that lack most room first
	Rules   []framework.Rule
	// Sparing are those of the rules by which no gang is broken.
	Sparing []framework.Rule
	// Beyond says that the gang can do without it: no gang is broken for that, and none
	// that is broken gives anything.
	Beyond  bool
	Now     time.Time
	Holders *Holders
	// In is the task of least priority of those that are to be placed.
	In *model.Task
	// Stays says that a task can't be made to go now.
	Stays func(*model.Task) bool
	// Enough counts: false when it can't be placed in the world as it stands.
	Enough func() bool
	// Places tries, and leaves no trace.
	Places func() bool
	// Counts says that it can be placed whenever there is Enough.
	Counts bool
	// Ceiling says that a queue lacks room, whatever nodes have.
	Ceiling bool
}

// Class is so many tasks of a gang that are alike; Room is for how many there is room.
type Class struct {
	*model.Class
	N, Room int64
}

// Outcome is what came of a choice.
type Outcome struct {
	// Enough says that there is room enough when the victims are gone, if there are any,
	// and those that are going anyway.
	Enough  bool
	Victims []Victim
	// Looked is how many candidates there were, each a task or a gang: what the search cost.
	Looked int
	// Protected says that some were left out that may be candidates another time.
	Protected bool
}

// Choose finds the victims for a request. They have left the world then, and so have those
// that are going anyway.
func Choose(w *model.World, tiers *framework.Tiers, r Request) Outcome {
	r.Holders.see(w)
	r.Holders.without(w)
	if r.Enough() && (r.Counts || r.Places()) {
		return Outcome{Enough: true}
	}
	c := newChoice(w, tiers, r)
	mark := w.Mark()
	for _, found := range []func() bool{c.sweep, c.sweepSmallest, c.search} {
		c.kept = false
		if found() {
			c.spare()
			return Outcome{Enough: true, Victims: c.victims(), Looked: len(c.units)}
		}
		c.reset()
		w.Rollback(mark) // leaves no more to take back than was there
		if c.Counts && !c.kept {
			break // they all left, in vain
		}
	}
	return Outcome{Protected: c.protected, Looked: len(c.units)}
}

// Fits reports whether letting candidates go makes a condition true that needs no place on
// nodes, such as room in a queue. The world is then as it was.
func Fits(w *model.World, tiers *framework.Tiers, r Request) bool {
	defer w.Rollback(w.Mark())
	r.Holders.see(w)
	c := newChoice(w, tiers, r)
	for _, u := range c.units {
		if c.take(u) && r.Enough() {
			return true
		}
	}
	return false
}

// choice is a choice in the making.
type choice struct {
	Request

	world     *model.World
	tiers     *framework.Tiers
	givers    []giver // who has candidates
	units     []*unit // the candidates, in the order in which they leave
	taken     []*unit
	memory    []unit        // for further units
	lists     []*model.Task // for those of units
	protected bool
	kept      bool // some could not leave, as things were when their turn came
	budget    int
	surplus   surplus
	given     sums // by those that left
	scratch   resource.Vector
	little    resource.Vector // of each resource that is needed
}

// newChoice finds the candidates and puts them in order.
func newChoice(w *model.World, tiers *framework.Tiers, r Request) *choice {
	c := &choice{world: w, tiers: tiers, Request: r, given: make(sums, w.Quota.Len())}
	c.gather()
	if !c.promising() {
		return c
	}
	for _, from := range c.givers {
		if from.rule == framework.Swapping {
			c.divideOwn()
		} else {
			c.divide(from.rule, from.gang)
		}
	}
	c.measure()
	c.order()
	return c
}

// sweep lets candidates go, one after the other, until the gang can be placed.
func (c *choice) sweep() bool {
	skip, pause := 0, 1
	for _, u := range c.units {
		if !c.take(u) || !c.Enough() {
			continue
		}
		if c.Counts {
			return true
		}
		if skip--; skip > 0 {
			continue
		}
		if c.Places() {
			return true
		}
		skip, pause = pause, 2*pause // a try costs more than it costs to let some go in vain
	}
	return !c.Counts && skip > 0 && c.Places()
}

// sweepSmallest sweeps anew, small units first: a queue gives while it has more than it
// deserves, so that it gives more in all when the last to go is a large one.
func (c *choice) sweepSmallest() bool {
	if !slices.Contains(c.Rules, framework.Reclaiming) {
		return false
	}
	type sized struct {
		*unit
		size resource.Share // of the cluster
	}
	units := make([]sized, len(c.units))
	for i, u := range c.units {
		units[i] = sized{u, c.world.Gives(u.tasks).Dominant(c.world.Total)}
	}
	slices.SortFunc(units, func(a, b sized) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), a.size.Compare(b.size), cmp.Compare(a.number, b.number))
	})
	for i, u := range units {
		c.units[i] = u.unit
	}
	return c.sweep()
}

// take lets a unit go when that is lawful as the world stands, and leaves no half gang.
func (c *choice) take(u *unit) bool {
	if !c.lawful(u) {
		c.kept = true
		return false
	}
	return c.send(u)
}

// send lets a unit go, unless that leaves half a gang.
func (c *choice) send(u *unit) bool {
	u.leave = &leave{}
	for _, t := range u.tasks {
		if t.Bucket != model.Evicted {
			c.world.Evict(t)
			u.gone = append(u.gone, t)
		}
	}
	if !u.whole && !u.leavesEnough() {
		for _, t := range u.gone {
			c.world.Return(t)
		}
		u.gone, c.kept = nil, true
		return false
	}
	if len(u.gone) == 0 {
		return false
	}
	c.depart(u)
	c.taken = append(c.taken, u)
	return true
}

// depart accounts for a unit that left.
func (c *choice) depart(u *unit) {
	u.gave = c.world.Gave(u.gone)
	u.spared = c.surplus.leave(c.world, u)
	c.account(u, 1)
}

// account adds what left with a unit to what its queue and those above it gave.
func (c *choice) account(u *unit, times int64) {
	c.given.add(c.world, u.gang.Queue.ID, u.gave, times)
}

// lawful reports whether the plugins let go of what a unit has now.
func (c *choice) lawful(u *unit) bool {
	there := u.tasks
	if slices.ContainsFunc(there, gone) {
		there = slices.DeleteFunc(slices.Clone(there), gone)
	}
	if u.rule == framework.Swapping {
		return c.tiers.MayTake(u.rule, framework.Taking{By: c.Gang, From: u.gang, In: c.In, Out: u.tasks[0]})
	}
	taking := framework.Taking{By: c.Gang, Need: c.Need, From: u.gang, Takes: c.world.Gives(there), Given: c.given.of}
	if u.whole {
		taking.Spare = c.surplus.queues.of
	}
	return c.tiers.MayTake(u.rule, taking)
}

func gone(t *model.Task) bool { return t.Bucket == model.Evicted }

// give returns what a unit took away.
func (c *choice) give(u *unit) {
	for _, t := range u.gone {
		c.world.Return(t)
	}
	c.surplus.add(c.world, u.gang, u.spared)
	u.spared = nil
	c.account(u, -1)
}

// again lets a unit go that was returned.
func (c *choice) again(u *unit) {
	for _, t := range u.gone {
		c.world.Evict(t)
	}
	c.depart(u)
}

// reset returns all that was taken.
func (c *choice) reset() {
	for len(c.taken) > 0 {
		c.undo()
	}
}

// victims joins what is taken, gang by gang.
func (c *choice) victims() []Victim {
	var list []Victim
	at := map[*model.Gang]int{}
	for _, u := range c.taken {
		i, ok := at[u.gang]
		if !ok {
			i = len(list)
			at[u.gang] = i
			list = append(list, Victim{Rule: u.rule, Gang: u.gang})
			if u.rule == framework.Swapping {
				list[i].In = c.In
			}
		}
		list[i].Tasks = append(list[i].Tasks, u.gone...)
		list[i].Whole = list[i].Whole || u.whole
	}
	return list
}
