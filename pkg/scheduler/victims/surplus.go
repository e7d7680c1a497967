package victims

import (
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// surplus is what gangs use beyond their minimums, of which others may reclaim before they
// break a gang. Were it not counted apart, a queue that borrows a little for an elastic gang
// would lose all of that gang, and could take as much back when the other borrows a little.
type surplus struct {
	gangs  map[*model.Gang]resource.Vector
	queues sums
}

// measure finds the surplus of the gangs that may give task by task.
func (c *choice) measure() {
	c.surplus = surplus{gangs: map[*model.Gang]resource.Vector{}, queues: make(sums, c.world.Quota.Len())}
	for i := 0; i < len(c.units); {
		u := c.units[i]
		last := i
		for last < len(c.units) && c.units[last].gang == u.gang {
			last++
		}
		if !u.whole || last-i > 1 {
			c.surplus.add(c.world, u.gang, c.beyond(c.units[i:last]))
		}
		i = last
	}
}

// beyond is what a gang can do without, of its units in their order from the last.
func (c *choice) beyond(units []*unit) resource.Vector {
	defer c.world.Rollback(c.world.Mark())
	var free []*model.Task
	for _, u := range slices.Backward(units) {
		if u.whole {
			continue
		}
		mark := c.world.Mark()
		for _, t := range u.tasks {
			c.world.Evict(t)
		}
		if !u.leavesEnough() {
			c.world.Rollback(mark)
			continue
		}
		free = append(free, u.tasks...)
	}
	return c.world.Gave(free)
}

// add changes what a gang has beyond its minimum.
func (s *surplus) add(w *model.World, g *model.Gang, v resource.Vector) {
	if len(v) == 0 {
		return
	}
	of := s.gangs[g]
	of.Add(v, 1)
	s.gangs[g] = of
	s.queues.add(w, g.Queue.ID, v, 1)
}

// leave takes off the surplus what a unit takes with it, and returns that, to be added again.
func (s *surplus) leave(w *model.World, u *unit) resource.Vector {
	of := s.gangs[u.gang]
	if len(of) == 0 {
		return nil
	}
	var gone resource.Vector
	for d, n := range of {
		if !u.whole {
			n = min(n, u.gave.At(d))
		}
		gone.Set(d, -n)
	}
	s.add(w, u.gang, gone)
	for d := range gone {
		gone[d] = -gone[d]
	}
	return gone
}

// sums are amounts of queues, by ID, each with those of the queues below it.
type sums []resource.Vector

// add adds times copies of v to a queue and to those above it.
func (s sums) add(w *model.World, id quota.ID, v resource.Vector, times int64) {
	for ; id != quota.None; id = w.Quota.Parent(id) {
		s[id].Add(v, times)
	}
}

// of is what a queue and those below it have.
func (s sums) of(id quota.ID) resource.Vector { return s[id] }
