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
		u.class |= ranks[u.queue]
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
		u.number = int32(i)
	}
	if len(c.Classes) > 0 {
		c.rateUnits()
	}
	if c.Counts && !c.Ceiling { // else they may help in other ways
		c.units = slices.DeleteFunc(c.units, func(u *unit) bool { return u.gain == 0 })
	}
	slices.SortFunc(c.units, func(a, b *unit) int {
		if x, y := a.class/mostRanks, b.class/mostRanks; x != y {
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

// mostRanks is how many queues are told apart when units are put in order.
const mostRanks = 1 << 26

// classOf is what comes before all worth of a unit, with room for the rank of its queue.
func (c *choice) classOf(u *unit) uint64 {
	class := uint64(u.rule)<<62 | uint64(int64(u.gang.Priority)-math.MinInt32)<<29
	class |= uint64(min(c.tiers.VictimRank(u.gang), 3)) << 27
	if u.whole {
		class |= mostRanks
	}
	return class
}

// ranks numbers the queues of units, by ID: the one that would be served last comes first.
func (c *choice) ranks() []uint64 {
	ranks := make([]uint64, c.world.Quota.Len())
	for _, u := range c.units {
		ranks[u.queue] = 1
	}
	var queues []*model.Queue
	for id, of := range ranks {
		if of > 0 {
			queues = append(queues, c.world.Queues()[id])
		}
	}
	slices.SortFunc(queues, func(a, b *model.Queue) int { return c.tiers.CompareQueues(b, a) })
	for i, q := range queues {
		ranks[q.ID] = uint64(min(i, mostRanks-1))
	}
	return ranks
}

// spot is a node on which units make room together.
type spot struct {
	known, fits bool
	times       int64           // for how many tasks of the class it has room
	room        resource.Vector // what it has when those that came have left
	alone       resource.Vector // what it has when only the unit that is looked at leaves; else none
	class       *model.Class    // of the task that left by itself last,
	gain        int64           // and for how many more that makes room
	home        int             // its rank, once units make room together
	units       int64           // how many came
	last        *unit           // of them
	came        link            // those that came before it was known that they make room
}

// link is a place in a list of units; the zero value is an empty one.
type link struct {
	unit *unit
	next *link
}

// rating rates units by what they do for a class.
type rating struct {
	class Class
	lack  int64
	spots []spot
	homes int
	slab  []int64 // for amounts
	links []link
}

// rateUnits rates all units by the class that lacks most. Where no node lacks room, the
// queue does, and any unit gives what it is charged.
func (c *choice) rateUnits() {
	class := c.Classes[0]
	r := rating{class: class, lack: class.N - class.Room}
	if r.lack <= 0 {
		for _, u := range c.units {
			u.gain = max(1, min(class.N, c.world.Gives(u.tasks).Times(class.Req)))
		}
		return
	}
	r.spots = make([]spot, len(c.world.Nodes()))
	for _, u := range c.units {
		u.gain = min(r.lack, r.gain(u))
		for _, t := range u.tasks {
			if s := r.spot(t.On); s.fits {
				r.gather(s, u, t)
			}
		}
	}
}

// spot is what is known of a node.
func (r *rating) spot(n *model.Node) *spot {
	s := &r.spots[n.ID]
	if s.known {
		return s
	}
	s.known, s.fits = true, r.class.Fits(n)
	if s.fits {
		s.times = max(n.Free.Times(r.class.Req), 0)
		s.room, s.alone = r.copy(n.Free), r.copy(n.Free)[:0]
	}
	return s
}

// copy copies amounts; those of many nodes are cut from one piece of memory.
func (r *rating) copy(v resource.Vector) resource.Vector {
	n := len(v)
	if len(r.slab) < n {
		r.slab = make([]int64, max(n, many))
	}
	to := r.slab[:n:n]
	r.slab = r.slab[n:]
	copy(to, v)
	return to
}

// more is for how many more tasks there is room on a spot when it has so much.
func (r *rating) more(s *spot, has resource.Vector) int64 {
	return max(has.Times(r.class.Req), 0) - s.times
}

// gain is for how many more tasks there is room when a unit alone leaves.
func (r *rating) gain(u *unit) int64 {
	if len(u.tasks) == 1 {
		t := u.tasks[0]
		s := r.spot(t.On)
		if s.fits && s.class != t.Class {
			s.alone = append(s.alone[:0], t.On.Free...)
			s.alone.Add(t.Class.Req, 1)
			s.class, s.gain = t.Class, r.more(s, s.alone)
			s.alone = s.alone[:0]
		}
		return s.gain
	}
	for _, t := range u.tasks {
		if s := r.spot(t.On); s.fits {
			if len(s.alone) == 0 {
				s.alone = append(s.alone, t.On.Free...)
			}
			s.alone.Add(t.Class.Req, 1)
		}
	}
	var sum int64
	for _, t := range u.tasks {
		if s := r.spot(t.On); len(s.alone) > 0 {
			sum = resource.Add(sum, r.more(s, s.alone))
			s.alone = s.alone[:0]
		}
	}
	return sum
}

// gather has a task of a unit leave a spot with those that came before. As soon as they
// make room there, all of them that would make none alone are rated by that.
func (r *rating) gather(s *spot, u *unit, t *model.Task) {
	if s.last != u {
		s.last = u
		s.units++
		if s.home == 0 {
			r.keep(s, u)
		}
	}
	if s.home > 0 {
		s.settle(u)
		return
	}
	if !u.again {
		s.room.Add(t.Class.Req, 1)
	}
	if r.more(s, s.room) <= 0 {
		return
	}
	r.homes++
	s.home = r.homes
	for at := s.came.next; at != nil; at = at.next {
		s.settle(at.unit)
	}
}

// keep notes that a unit came to a spot.
func (r *rating) keep(s *spot, u *unit) {
	if len(r.links) == 0 {
		r.links = make([]link, many)
	}
	r.links[0] = link{u, s.came.next}
	s.came.next, r.links = &r.links[0], r.links[1:]
}

// settle rates a unit that makes room on a spot only together with others.
func (s *spot) settle(u *unit) {
	if u.gain == 0 {
		u.rate = rate{gain: 1, others: s.units - 1, home: s.home}
	}
}

// more is for how many more tasks of a class a node has room with v freed on it.
func (c *choice) more(class Class, n *model.Node, v resource.Vector) int64 {
	c.scratch = append(c.scratch[:0], n.Free...)
	c.scratch.Add(v, 1)
	return max(c.scratch.Times(class.Req), 0) - max(n.Free.Times(class.Req), 0)
}
