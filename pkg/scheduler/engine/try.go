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

// roomWakes is what could give room on nodes.
const roomWakes = model.NodeRoom | model.NodeChanged

// mayRun asks everything about a gang that does not depend on nodes.
func (e *Engine) mayRun(g *model.Gang) (reason.Reason, model.Change, bool) {
	if g.Problem != nil {
		return *g.Problem, model.GangChanged, false
	}
	if !g.Queue.Known {
		return reason.Reason{Code: reason.QueueMissing, Kind: "Queue", Object: g.Queue.Name}, model.QueueChanged, false
	}
	why, ok := e.queueTakes(g.Queue, g.Counts.Held() == 0)
	return why, model.QueueChanged, ok
}

// queueTakes says whether a queue and all above it can be charged: one whose way
// to the top is broken would run without the ceilings that stand there. Fresh
// gangs want them all open as well.
func (e *Engine) queueTakes(q *model.Queue, fresh bool) (reason.Reason, bool) {
	at := q
	for range e.World.Queues() {
		if at.Problem != nil {
			return *at.Problem, false
		}
		if fresh && at.Closed != "" {
			return reason.Reason{Code: reason.QueueClosed, Kind: "Queue", Object: at.Name, Value: at.Closed}, false
		}
		if at.Parent == "" {
			return reason.Reason{}, true
		}
		up := e.World.QueueNamed(at.Parent)
		if up == nil || !up.Known {
			return badParent(at, "there is no such queue; create it, or name another parent"), false
		}
		at = up
	}
	return badParent(q, "the queues above it form a circle; name a parent outside it"), false
}

func badParent(q *model.Queue, remedy string) reason.Reason {
	return reason.Reason{Code: reason.Invalid, Kind: "Queue", Object: q.Name, Field: "spec.parent", Value: q.Parent, Remedy: remedy}
}

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
		if len(missing) < int(g.Counts.Waiting) {
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
	if len(groups) == 1 {
		return e.placeGroup(groups[0])
	}
	for i := range groups {
		gr := &groups[i]
		if gr.room = e.view(gr.class).room; gr.room < int64(len(gr.tasks)) {
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
	for i := range groups {
		groups[i].room = e.view(groups[i].class).room
	}
	scarcestFirst(groups)
	for _, gr := range groups {
		placed, no := e.place(gr, func(int) bool { return true })
		if placed == len(gr.tasks) {
			continue
		}
		if no.why.Code == "" {
			no = e.noRoom(gr)
			no.why.Room = int64(placed)
		}
		all = append(all, no.why)
		e.occupy(gr.tasks[placed:], groups)
	}
	return all
}

// occupy puts tasks that found no room where their gang may not go, so that what is
// shut there is not named to others of it as well.
func (e *Engine) occupy(tasks []*model.Task, groups []group) {
	for _, n := range e.World.Nodes() {
		if !n.Known || slices.ContainsFunc(groups, func(gr group) bool { return gr.class.Fits(n) }) {
			continue
		}
		for ; len(tasks) > 0 && n.Free.Times(tasks[0].Class.Req) > 0; tasks = tasks[1:] {
			e.World.Place(tasks[0], n)
		}
	}
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
		if e.placeNominated(g, u.groups) {
			return refusal{}, yields()
		}
		mark := e.World.Mark()
		no, ok := e.placeGroups(g, u.groups)
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
	gr.tasks = e.placeWhereNominated(gr, may)
	placed, no := e.place(gr, func(placed int) bool { return may(gr.tasks[placed]) })
	left := gr.tasks[placed:]
	switch {
	case yielded || len(left) == 0:
		return refusal{}, yielded && len(left) > 0
	case no.why.Code != "":
		return no, false
	}
	bill := e.World.Bill(left[0])
	if over := e.World.Quota.Exceeded(g.Queue.ID, bill.Sum, e.total, false); over != nil {
		return e.overLimit(over, bill), false
	}
	no = e.noRoom(group{class: gr.class, role: gr.role, kind: gr.kind, tasks: left})
	no.short.need = 1 // each is worth an attempt by itself
	if no.why.Empty > 0 {
		no.why.Code, no.why.Barred = reason.NotEnoughNodes, 0
	}
	return no, false
}

// want is tasks of a gang that are to be placed together.
type want struct {
	groups []group
	rules  []framework.Rule // by which others may give way
	beyond bool             // they are more than the gang's minimum
	place  func() bool      // places them; what it leaves on false is to be rolled back
}

// least is the task of least priority of groups; of those that are equal, the first.
func least(groups []group) (last *model.Task) {
	for _, gr := range groups {
		for _, t := range gr.tasks {
			if last == nil || t.TaskSpec.Priority < last.TaskSpec.Priority {
				last = t
			}
		}
	}
	return last
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
		if e.placeNominated(g, groups) {
			return true
		}
		_, ok := e.placeGroups(g, groups)
		return ok
	}}
}

// enough reports whether a gang has the tasks that it needs, behind gates or not;
// if not, how many which of its roles lacks.
func enough(g *model.Gang) (reason.Reason, bool) {
	for i := range g.Roles {
		r := &g.Roles[i]
		if why, ok := r.Exist(r.Min, r.Name); !ok {
			return why, false
		}
	}
	return g.Counts.Exist(g.Min, "")
}

// stuck says that the API server does not take the binding of a task.
func stuck(t *model.Task) reason.Reason {
	return reason.Reason{Code: reason.BindRefused, Kind: "Pod", Object: t.Name, Value: t.Stuck}
}
