package victims

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// rate says how much taking a unit is worth: gain tasks for which it makes room, when
// so many others leave with it.
type rate struct {
	gain   int64 // 0: it makes room for none
	others int64
	home   int // where it does that, in order of discovery; units of one home leave together
}

// order puts the units in the order in which they leave: by rule, by priority, by what
// plugins say that gangs lose, what is beyond a minimum before whole gangs, then those
// that make most room for what they break, then queues, then those that lose least.
// Those that help nobody are dropped.
func (c *choice) order() {
	ranks := c.ranks()
	for _, u := range c.units {
		u.class = uint64(u.rule)<<62 | uint64(int64(u.gang.Priority)-math.MinInt32)<<29
		u.class |= uint64(min(c.tiers.VictimRank(u.gang), 3)) << 27
		if u.whole {
			u.class |= 1 << 26
		}
		u.class |= uint64(min(ranks[u.gang.Queue], 1<<26-1))
	}
	// In their order of arrival, the last first, they are mostly in order already.
	slices.Reverse(c.units)
	slices.SortStableFunc(c.units, func(a, b *unit) int {
		if a.class != b.class {
			return cmp.Compare(a.class, b.class)
		}
		return cmp.Compare(a.lost, b.lost)
	})
	for i, u := range c.units {
		u.number = i
	}
	if len(c.Classes) > 0 {
		c.rateUnits()
	}
	if c.Counts && !c.Ceiling { // else they may help in other ways
		c.units = slices.DeleteFunc(c.units, func(u *unit) bool { return u.gain == 0 })
	}
	slices.SortFunc(c.units, func(a, b *unit) int {
		if x, y := a.class>>26, b.class>>26; x != y {
			return cmp.Compare(x, y)
		}
		if d := a.rate.compare(b.rate); d != 0 {
			return d
		}
		if d := cmp.Compare(int64(len(a.tasks))*max(b.gain, 1), int64(len(b.tasks))*max(a.gain, 1)); d != 0 {
			return d
		}
		if a.home != b.home {
			return cmp.Compare(a.home, b.home)
		}
		return cmp.Compare(a.number, b.number)
	})
}

// compare puts first what breaks least for the room it makes.
func (r rate) compare(o rate) int {
	if (r.gain == 0) != (o.gain == 0) {
		return -cmp.Compare(r.gain, o.gain)
	}
	return cmp.Compare((1+r.others)*max(o.gain, 1), (1+o.others)*max(r.gain, 1))
}

// ranks numbers the queues: the one that would be served last comes first.
func (c *choice) ranks() map[*model.Queue]int {
	ranks := map[*model.Queue]int{}
	for _, u := range c.units {
		ranks[u.gang.Queue] = 0
	}
	queues := make([]*model.Queue, 0, len(ranks))
	for _, q := range c.world.Queues() {
		if _, ok := ranks[q]; ok {
			queues = append(queues, q)
		}
	}
	slices.SortFunc(queues, func(a, b *model.Queue) int { return c.tiers.CompareQueues(b, a) })
	for i, q := range queues {
		ranks[q] = i
	}
	return ranks
}

// spot is a node on which units make room together.
type spot struct {
	freed   resource.Vector
	units   []*unit // in the order in which they came
	home    int     // the rank of the node, once they make room
	settled int     // how many of the units know
}

// rateUnits rates all units by the class that lacks most. Where no node lacks room, the
// queue does, and any unit gives what it is charged.
func (c *choice) rateUnits() {
	class := c.Classes[0]
	lack := class.N - class.Room
	spots := make([]spot, len(c.world.Nodes()))
	alone := make([]resource.Vector, len(spots)) // what one unit frees; all 0 between two of them
	homes := 0
	for _, u := range c.units {
		if lack <= 0 {
			u.gain = max(1, min(class.N, c.world.Gives(u.tasks).Times(class.Req)))
			continue
		}
		u.gain = min(lack, c.gain(class, u, alone))
		for _, t := range u.tasks {
			if !class.Fits(t.On) {
				continue
			}
			s := &spots[t.On.ID]
			if n := len(s.units); n == 0 || s.units[n-1] != u {
				s.units = append(s.units, u)
			}
			if !u.again {
				s.freed.Add(t.Class.Req, 1)
			}
			if s.home == 0 && c.more(class, t.On, s.freed) > 0 {
				homes++
				s.home = homes
			}
			s.settle()
		}
	}
}

// settle rates the units of a spot that makes room.
func (s *spot) settle() {
	for ; s.home > 0 && s.settled < len(s.units); s.settled++ {
		if u := s.units[s.settled]; u.gain == 0 {
			u.rate = rate{gain: 1, others: int64(len(s.units) - 1), home: s.home}
		}
	}
}

// gain is for how many more tasks of a class there is room when a unit alone leaves.
func (c *choice) gain(class Class, u *unit, alone []resource.Vector) int64 {
	for _, t := range u.tasks {
		if class.Fits(t.On) {
			alone[t.On.ID].Add(t.Class.Req, 1)
		}
	}
	var sum int64
	for _, t := range u.tasks {
		if v := &alone[t.On.ID]; len(*v) > 0 {
			sum = resource.Add(sum, c.more(class, t.On, *v))
			*v = (*v)[:0]
		}
	}
	return sum
}

// more is for how many more tasks of a class a node has room with v freed on it.
func (c *choice) more(class Class, n *model.Node, v resource.Vector) int64 {
	c.scratch = append(c.scratch[:0], n.Free...)
	c.scratch.Add(v, 1)
	return max(c.scratch.Times(class.Req), 0) - max(n.Free.Times(class.Req), 0)
}
