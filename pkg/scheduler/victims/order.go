package victims

import (
	"cmp"
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

// order puts the units in the order in which they leave: by rule, by priority, what is
// beyond a minimum before whole gangs, then those that make most room for what they
// break, then queues, then those that lose least. Those that help nobody are dropped.
func (c *choice) order() {
	ranks := c.ranks()
	for i := range c.units {
		c.units[i].queue = ranks[c.units[i].gang.Queue]
	}
	slices.SortFunc(c.units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.gang.Priority, b.gang.Priority),
			compareBool(a.whole, b.whole), cmp.Compare(a.queue, b.queue), cmp.Compare(a.lost, b.lost), cmp.Compare(a.number, b.number))
	})
	if len(c.Classes) > 0 {
		c.rateUnits()
	}
	if c.Counts && !c.Ceiling && len(c.Rules) == 1 { // else they may help in other ways
		c.units = slices.DeleteFunc(c.units, func(u unit) bool { return u.gain == 0 })
	}
	slices.SortStableFunc(c.units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.gang.Priority, b.gang.Priority),
			compareBool(a.whole, b.whole), a.compare(b.rate),
			cmp.Compare(int64(len(a.tasks))*max(b.gain, 1), int64(len(b.tasks))*max(a.gain, 1)), cmp.Compare(a.home, b.home))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
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
	var queues []*model.Queue
	ranks := map[*model.Queue]int{}
	for i := range c.units {
		if q := c.units[i].gang.Queue; ranks[q] == 0 {
			ranks[q] = 1
			queues = append(queues, q)
		}
	}
	slices.SortFunc(queues, func(a, b *model.Queue) int { return c.tiers.CompareQueues(b, a) })
	for i, q := range queues {
		ranks[q] = i
	}
	return ranks
}

// rateUnits rates all units by the class that lacks most. Where no node lacks room, the
// queue does, and any unit gives what it is charged.
func (c *choice) rateUnits() {
	class := c.Classes[0]
	lack := class.N - class.Room
	spots, counted := map[*model.Node]*spot{}, map[*model.Task]bool{}
	homes := 0
	for i := range c.units {
		u := &c.units[i]
		if lack <= 0 {
			u.gain = max(1, min(class.N, charged(u).Times(class.Req)))
			continue
		}
		u.gain = min(lack, gain(class, u))
		for _, t := range u.tasks {
			if !class.Fits(t.On) {
				continue
			}
			s := spots[t.On]
			if s == nil {
				s = &spot{}
				spots[t.On] = s
			}
			s.join(i)
			if !counted[t] {
				counted[t] = true
				s.freed.Add(t.Class.Req, 1)
			}
			if s.home == 0 && more(class, t.On, s.freed) > 0 {
				homes++
				s.home = homes
			}
			c.settle(s)
		}
	}
}

// spot is a node on which units make room only together.
type spot struct {
	units   []int // in the order in which they came
	freed   resource.Vector
	home    int // the rank of the node, once they make room
	settled int // how many of the units know
}

// join adds a unit to a spot.
func (s *spot) join(unit int) {
	if n := len(s.units); n == 0 || s.units[n-1] != unit {
		s.units = append(s.units, unit)
	}
}

// settle rates the units of a spot that makes room.
func (c *choice) settle(s *spot) {
	for ; s.home > 0 && s.settled < len(s.units); s.settled++ {
		if u := &c.units[s.units[s.settled]]; u.gain == 0 {
			u.rate = rate{gain: 1, others: int64(len(s.units) - 1), home: s.home}
		}
	}
}

func charged(u *unit) resource.Vector {
	var v resource.Vector
	for _, t := range u.tasks {
		v.Add(t.Class.Req, 1)
	}
	return v
}

// gain is for how many more tasks of a class there is room when a unit alone leaves.
func gain(class Class, u *unit) int64 {
	if len(u.tasks) == 1 {
		t := u.tasks[0]
		if !class.Fits(t.On) {
			return 0
		}
		return more(class, t.On, t.Class.Req)
	}
	nodes := map[*model.Node]resource.Vector{}
	for _, t := range u.tasks {
		if class.Fits(t.On) {
			v := nodes[t.On]
			v.Add(t.Class.Req, 1)
			nodes[t.On] = v
		}
	}
	var sum int64
	//muster:anyorder a sum
	for n, v := range nodes {
		sum = resource.Add(sum, more(class, n, v))
	}
	return sum
}

// more is for how many more tasks of a class a node has room with v freed on it.
func more(class Class, n *model.Node, v resource.Vector) int64 {
	free := slices.Clone(n.Free)
	free.Add(v, 1)
	return max(free.Times(class.Req), 0) - max(n.Free.Times(class.Req), 0)
}
