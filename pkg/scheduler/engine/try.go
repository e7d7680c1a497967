package engine

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// refusal is why a gang was not placed, and what is worth remembering of the attempt.
type refusal struct {
	why    reason.Reason
	wakes  model.Change
	short  shortfall
	long   bool    // the attempt took long: plugins judged nodes, or all arrangements were tried
	voted  bool    // plugins were asked whether it may go ahead
	groups []group // what it lacks
}

// shortfall is what must be so before a refused gang is worth another attempt:
// room for Need tasks of a class, or for an amount in its queue. The zero value
// says nothing.
type shortfall struct {
	class *model.Class
	need  int64
	queue resource.Vector
}

// lacksNodes reports whether other nodes might do.
func (r refusal) lacksNodes() bool {
	return r.why.Code == "" || r.why.Code == reason.NotEnoughNodes || r.why.Code == reason.NeverFits
}

// roomWakes is what could give room on nodes.
const roomWakes = model.NodeRoom | model.NodeChanged

// placeMinimum places what a gang lacks to be whole, all of it or, on false,
// only a part that the caller must roll back.
func (e *Engine) placeMinimum(g *model.Gang) (refusal, bool) {
	if why, wakes, ok := e.mayRun(g); !ok {
		return refusal{why: why, wakes: wakes}, false
	}
	if why, wakes, ok := e.tiers.AdmitGang(g); !ok {
		return refusal{why: why, wakes: wakes}, false
	}
	missing := e.missing(g)
	groups := e.groupsOf(missing)
	return e.nearby(g, g.Near, groups, func() (refusal, bool) { return e.complete(g, groups, len(missing)) })
}

// complete places so many tasks, with which a gang is whole, where tasks may be placed at present.
func (e *Engine) complete(g *model.Gang, groups []group, missing int) (refusal, bool) {
	if e.placeNominated(g, groups) {
		return refusal{}, true
	}
	mark := e.World.Mark()
	no, ok := e.placeGroups(g, groups)
	if ok {
		if g.Whole() {
			return refusal{}, true
		}
		return refusal{why: reason.Reason{Code: reason.NotEnoughTasks, Need: int64(g.Min), Have: int64(g.Counts.Held())}, wakes: model.GangChanged}, false
	}
	e.World.Rollback(mark)
	if e.mixed(g) {
		if e.appeal(g) {
			return refusal{}, true
		}
		no.long = true
		if missing < int(g.Counts.Waiting) {
			no.short = shortfall{} // another choice of tasks may do with less
		}
	}
	no.groups = groups
	return no, false
}

// bill is what the tasks of groups would be charged together.
func (e *Engine) bill(groups []group) model.Bill {
	var bill model.Bill
	for i := range groups {
		bill.Add(e.World, groups[i].class, groups[i].tasks)
	}
	return bill
}

// placeGroups places all tasks of all groups, or says why that can't be.
func (e *Engine) placeGroups(g *model.Gang, groups []group) (refusal, bool) {
	bill := e.bill(groups)
	if over := e.World.Quota.Exceeded(g.Queue.ID, bill.Sum, e.total, false); over != nil {
		return e.overLimit(over, bill), false
	}
	return e.placeAll(g, groups)
}

// placeAll is placeGroups whatever the queue says: sub-groups that are to be kept together
// come first, each by itself.
func (e *Engine) placeAll(g *model.Gang, groups []group) (refusal, bool) {
	for len(groups) > 0 && slices.ContainsFunc(groups, func(gr group) bool { return gr.near != nil }) {
		first := groups[slices.IndexFunc(groups, func(gr group) bool { return gr.near != nil })]
		var part, others []group
		for _, gr := range groups {
			if gr.part == first.part {
				part = append(part, gr)
			} else {
				others = append(others, gr)
			}
		}
		if no, ok := e.nearby(g, first.near, part, func() (refusal, bool) { return e.placeEach(part) }); !ok {
			no.short = shortfall{}
			return no, false
		}
		groups = others
	}
	return e.placeEach(groups)
}

// placeEach places all tasks of all groups, those first that have least room.
func (e *Engine) placeEach(groups []group) (refusal, bool) {
	if len(groups) == 1 {
		return e.placeGroup(groups[0])
	}
	for i := range groups {
		gr := &groups[i]
		if gr.room = e.room(gr.class); gr.room < int64(len(gr.tasks)) {
			return e.noRoom(*gr), false
		}
	}
	scarcestFirst(groups)
	for _, gr := range groups {
		if no, ok := e.placeGroup(gr); !ok {
			no.short = shortfall{} // what counts is what the others of its gang left
			return no, false
		}
	}
	return refusal{}, true
}

// scarcestFirst puts groups in the order in which they choose: who has least room has
// the fewest other places to go.
func scarcestFirst(groups []group) {
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.room, b.room) })
}

// everything lists all that keeps a gang from its minimum: the ceilings of its queue
// and of those above it, and what each part of it lacks of room when those before
// it have theirs. It places what fits; the caller takes that back.
func (e *Engine) everything(g *model.Gang) []reason.Reason {
	groups := e.groupsOf(e.missing(g))
	bill := e.bill(groups)
	var all []reason.Reason
	for at := g.Queue.ID; ; at = e.World.Quota.Parent(at) {
		over := e.World.Quota.ExceededFrom(at, g.Queue.ID, bill.Sum, e.total, false)
		if over == nil {
			break
		}
		all = append(all, e.overLimit(over, bill).why)
		if at = over[0].Queue; at == quota.None {
			break
		}
	}
	if g.Near == nil || !g.Near.Hard {
		return append(all, e.everythingOnNodes(groups)...)
	}
	areas, no, ok := e.areas(g, g.Near, groups, nil)
	if !ok {
		return append(all, no.why)
	}
	a := e.likeliest(areas, groups)[0]
	e.inside(a, func() {
		for _, why := range e.everythingOnNodes(groups) {
			all = append(all, withinOne(why, g.Near, a))
		}
	})
	return all
}

// everythingOnNodes lists what each group lacks of room when those before it have theirs.
func (e *Engine) everythingOnNodes(groups []group) (all []reason.Reason) {
	for i := range groups {
		groups[i].room = e.room(groups[i].class)
	}
	scarcestFirst(groups)
	for _, gr := range groups {
		placed, no := e.place(gr, func(int) bool { return true })
		if placed == len(gr.tasks) {
			continue
		}
		if no.why.Code == "" || gr.room < int64(len(gr.tasks)) {
			no = e.noRoom(gr)
			no.why.Room = int64(placed)
		}
		all = append(all, no.why)
		e.occupy(gr.tasks[placed:], groups)
	}
	return all
}

// placeGroup places all tasks of a group, or says why that can't be.
func (e *Engine) placeGroup(gr group) (refusal, bool) {
	mark := e.World.Mark()
	placed, no := e.place(gr, nil)
	if placed == len(gr.tasks) {
		return refusal{}, true
	}
	e.World.Rollback(mark)
	if no.why.Code != "" {
		return no, false
	}
	return e.noRoom(gr), false
}

// placeRest places what waits beyond a minimum, unit by unit, until yields says
// that another queue's turn has come. It returns the first reason why one found no
// room; no reason, when all did.
func (e *Engine) placeRest(g *model.Gang, yields func() bool) (no refusal, yielded bool) {
	if why, wakes, ok := e.mayRun(g); !ok {
		return refusal{why: why, wakes: wakes}, false
	}
	for _, u := range e.units(g) {
		again, more := e.placeUnit(g, u, yields)
		if more {
			return no, true
		}
		if again.wakes != 0 {
			if no.wakes == 0 {
				no = again
			} else {
				no.short = shortfall{} // what is short for one need not be for the other
			}
			no.wakes |= again.wakes
		}
	}
	return no, false
}

// placeUnit places tasks beyond a minimum: a sub-group whole, others each for
// itself, with a chance to yield before each.
func (e *Engine) placeUnit(g *model.Gang, u unit, yields func() bool) (refusal, bool) {
	if u.whole {
		mark := e.World.Mark()
		no, ok := e.placeAlso(g, u.groups)
		if !ok {
			e.World.Rollback(mark)
		}
		return no, ok && yields()
	}
	gr := u.groups[0]
	yielded := false
	may := func(t *model.Task) bool {
		yielded = yielded || yields()
		return !yielded && e.World.Quota.Fits(g.Queue.ID, e.World.Bill(t).Sum, e.total)
	}
	left, no := e.placeSingly(g, gr, may)
	if yielded || len(left) == 0 {
		return refusal{}, yielded && len(left) > 0
	}
	bill := e.World.Bill(left[0])
	if over := e.World.Quota.Exceeded(g.Queue.ID, bill.Sum, e.total, false); over != nil {
		return e.overLimit(over, bill), false
	}
	if no.why.Code != "" {
		return no, false
	}
	gr.tasks = left
	no = e.noRoom(gr)
	no.short.need = 1 // each is worth an attempt by itself
	if no.why.Empty > 0 {
		no.why.Code, no.why.Barred = reason.NotEnoughNodes, 0
	}
	return no, false
}

// placeSingly places tasks of a group each for itself, as long as may says so, and returns
// the others with what keeps them off all nodes, if that is not just want of room. Those
// that must or should be near others are placed in the nearest area as far as it has room.
func (e *Engine) placeSingly(g *model.Gang, gr group, may func(*model.Task) bool) ([]*model.Task, refusal) {
	if g.Near == nil && gr.near == nil {
		gr.tasks = e.placeWhereNominated(gr, may)
		placed, no := e.place(gr, func(placed int) bool { return may(gr.tasks[placed]) })
		return gr.tasks[placed:], no
	}
	for len(gr.tasks) > 0 {
		one := gr
		one.tasks = gr.tasks[:1]
		placed := 0
		no, ok := e.nearby(g, g.Near, []group{one}, func() (refusal, bool) {
			return e.nearby(g, gr.near, []group{one}, func() (no refusal, ok bool) {
				placed, no = e.place(gr, func(placed int) bool { return may(gr.tasks[placed]) })
				return no, placed > 0
			})
		})
		if !ok {
			return gr.tasks, no
		}
		gr.tasks = gr.tasks[placed:]
	}
	return nil, refusal{}
}

// placeAlso places tasks that a gang can do without, all of them or, on false, a part that
// is to be taken back.
func (e *Engine) placeAlso(g *model.Gang, groups []group) (refusal, bool) {
	return e.nearby(g, g.Near, groups, func() (refusal, bool) {
		if e.placeNominated(g, groups) {
			return refusal{}, true
		}
		return e.placeGroups(g, groups)
	})
}

// want is tasks of a gang that are to be placed together.
type want struct {
	groups []group
	rules  []framework.Rule // by which others may give way
	beyond bool             // they are more than the gang's minimum
	place  func() bool      // places them; what it leaves on false is to be rolled back
}

// minimum is what a gang lacks to be whole.
func (e *Engine) minimum(g *model.Gang) want {
	return want{groups: e.groupsOf(e.missing(g)), rules: e.rules, place: func() bool {
		_, ok := e.placeMinimum(g)
		return ok
	}}
}

// milder are the rules by which a gang may take what it can do without: it preempts nobody for that.
func (e *Engine) milder() []framework.Rule {
	return slices.DeleteFunc(slices.Clone(e.rules), func(r framework.Rule) bool { return r == framework.Preempting })
}

// beyond is tasks of a gang that it can do without.
func (e *Engine) beyond(g *model.Gang, groups []group) want {
	return want{groups: groups, rules: e.milder(), beyond: true, place: func() bool {
		_, ok := e.placeAlso(g, groups)
		return ok
	}}
}
