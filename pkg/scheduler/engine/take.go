package engine

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// takeWakes is what could let a gang take from others who could not before: what queues
// deserve and use, who runs, and who is protected.
const takeWakes = model.QueueChanged | model.QueueRoom | model.TaskPlaced | model.ObjectChanged

// take has others give way to a gang that was refused, if the configuration lets it and
// that makes room for all it lacks. What they leave is set aside for it.
func (c *Cycle) take(en *entry, no refusal) bool {
	if !c.roomHelps(en, no) {
		return false
	}
	e := c.engine
	lack, n := e.lackOf(en.gang, no)
	if !c.mayPlan(en, lack, n) {
		return false
	}
	out, found := e.plan(en.gang, e.minimum(en.gang), c.Now)
	if len(found.places) == 0 {
		c.inVain(en, out, lack, n)
		return false
	}
	e.patience.Found(lack)
	en.hold = &victims.Hold{Until: c.Now}
	c.makeRoom(en, out, found.claims)
	c.nominate(en, found.places)
	return true
}

// takeMore has others give way for what a gang wants beyond its minimum, as far as its queue
// deserves it: all of a kind at once or, if that can't be, half of it, down to one.
func (c *Cycle) takeMore(en *entry, no refusal) bool {
	e, g := c.engine, en.gang
	if len(e.milder()) == 0 || !c.roomHelps(en, no) {
		return false
	}
	units := e.units(g)
	if len(units) == 0 {
		return false
	}
	lack := victims.Lack{Queue: g.Queue, Gang: g, Class: units[0].groups[0].class.ID}
	if !c.mayPlan(en, lack, 1) {
		return false
	}
	en.hold = &victims.Hold{Until: c.Now}
	var all []victims.Nominee
	var vain victims.Outcome
	plan := func(groups ...group) bool {
		out, found := e.plan(g, e.beyond(g, groups), c.Now)
		if len(found.places) == 0 {
			vain.Looked, vain.Protected = vain.Looked+out.Looked, vain.Protected || out.Protected
			return false
		}
		c.makeRoom(en, out, found.claims)
		all = append(all, found.places...)
		return true
	}
	for _, u := range units {
		if u.whole {
			plan(u.groups...)
			continue
		}
		gr := u.groups[0]
		for left, n := gr.tasks, len(gr.tasks); n > 0; n = min(n, len(left)) {
			if gr.tasks = left[:n]; plan(gr) {
				left = left[n:]
			} else {
				n /= 2
			}
		}
	}
	if len(all) > 0 {
		e.patience.Found(lack)
		c.nominate(en, all)
		return true
	}
	en.hold = nil
	c.inVain(en, vain, lack, 1)
	return false
}

// roomHelps reports whether room is what a gang was refused for want of, and others may
// have to give way for it.
func (c *Cycle) roomHelps(en *entry, no refusal) bool {
	switch no.why.Code {
	case reason.NotEnoughNodes, reason.QueueCapability, reason.QueueGuarantee:
		return !c.overtaking && c.engine.mayTake(en.gang)
	default:
		return false
	}
}

// mayPlan reports whether it is time to look for victims for what a gang lacks.
func (c *Cycle) mayPlan(en *entry, lack victims.Lack, n int) bool {
	if vain, until, ok := c.engine.patience.Waits(lack, n, c.Now); ok {
		en.vain = vain
		c.engine.alarm(en, until)
		return false
	}
	c.report.Plans++
	return true
}

// inVain notes that nobody was found who could give way to a gang.
func (c *Cycle) inVain(en *entry, out victims.Outcome, lack victims.Lack, n int) {
	en.vain = c.engine.patience.Failed(lack, n, out.Looked, c.Now)
	if out.Protected {
		c.engine.alarm(en, en.vain.NotBefore)
	}
}

// makeRoom tells victims to go, and sets aside for a gang, besides what it has, what they
// and those that go anyway will leave.
func (c *Cycle) makeRoom(en *entry, out victims.Outcome, claims []model.Claim) {
	e, g := c.engine, en.gang
	en.vain = nil
	for _, v := range out.Victims {
		why := v.Why(c.World, e.tiers, g)
		for _, t := range v.Tasks {
			en.hold.Expect(t, c.Now)
			c.evict(t, g.Key, why)
		}
		c.report.Victims += len(v.Tasks)
	}
	for _, claim := range claims { // those that go anyway are waited for as well
		if claim.Node == nil {
			continue
		}
		for _, t := range claim.Node.Tasks {
			if t.Bucket == model.Releasing {
				en.hold.Expect(t, c.Now)
			}
		}
	}
	e.setAside(g, slices.Concat(g.Claims, claims))
}

// mayTake reports whether a gang may have others give way at all.
func (e *Engine) mayTake(g *model.Gang) bool {
	if len(e.rules) == 0 {
		return false
	}
	for t := range waiting(g) {
		if t.Pod != nil && t.Pod.Spec.PreemptionPolicy != nil && *t.Pod.Spec.PreemptionPolicy == corev1.PreemptNever {
			return false
		}
	}
	return true
}

// room is where what a gang wants would be placed, and what is claimed for that.
type room struct {
	places []victims.Nominee
	claims []model.Claim
}

// placedOn is the node of a task that is placed.
func placedOn(t *model.Task) *model.Node { return t.On }

// roomOf is room for tasks on the nodes that are said, and what is claimed besides.
func roomOf(claims []model.Claim, tasks []*model.Task, on func(*model.Task) *model.Node) room {
	r := room{claims: append(claims, model.ClaimsOf(tasks, on)...)}
	for _, t := range tasks {
		r.places = append(r.places, victims.Nominee{Task: t, Node: on(t).Name})
	}
	return r
}

// plan looks for victims, and says where what a gang wants would be placed when they are
// gone, and those that are going anyway. It leaves no trace.
func (e *Engine) plan(g *model.Gang, what want, now time.Time) (victims.Outcome, room) {
	w, groups := e.World, what.groups
	defer w.Rollback(w.Mark())
	need := e.bill(groups).Sum
	affords := func() bool { return w.Quota.Fits(g.Queue.ID, need, e.total) }
	r := victims.Request{
		Gang: g, Need: need, Rules: what.rules, Sparing: e.sparing, Beyond: what.beyond, In: least(groups), Now: now, Stays: e.stays, Holders: &e.holders,
		Counts: len(groups) == 1 && groups[0].kind == "" && groups[0].near == nil && g.Near == nil && (what.beyond || !e.mixed(g)), Ceiling: !affords(),
		Enough: func() bool {
			return affords() && !slices.ContainsFunc(groups, func(gr group) bool { return e.view(gr.class).room < int64(len(gr.tasks)) })
		},
		Places: func() bool {
			defer w.Rollback(w.Mark())
			return what.place()
		},
	}
	for _, gr := range groups {
		r.Classes = append(r.Classes, victims.Class{Class: gr.class, N: int64(len(gr.tasks)), Room: e.view(gr.class).room})
	}
	slices.SortStableFunc(r.Classes, func(a, b victims.Class) int { return cmp.Compare(b.N-b.Room, a.N-a.Room) })
	out := victims.Choose(w, e.tiers, r)
	if !out.Enough {
		return out, room{}
	}
	mark, claims := w.Mark(), e.claimDevices(groups)
	if !what.place() {
		return out, room{}
	}
	return out, roomOf(claims, w.Since(mark), placedOn)
}

// stays reports whether a task could not be made to go, and is not asked again yet.
func (e *Engine) stays(t *model.Task) bool { return e.ran.Before(e.unmoved[t].NotBefore) }

// couldTake reports whether a gang that is refused by its queue or by votes could go
// ahead when others give way.
func (e *Engine) couldTake(g *model.Gang, need resource.Vector, enough func() bool) bool {
	return e.mayTake(g) && victims.Fits(e.World, e.tiers, victims.Request{
		Gang: g, Need: need, Rules: e.rules, Sparing: e.sparing, Now: e.ran, Enough: enough, Stays: e.stays, Holders: &e.holders,
	})
}

// coming reports whether the room that is being made for a gang will do for what it
// claimed, as far as that can be said now. What is set aside for it was given back.
func (e *Engine) coming(en *entry, claims []model.Claim, now time.Time) bool {
	if en.hold == nil || !now.Before(en.hold.Until) || len(claims) == 0 {
		return false
	}
	room := victims.Room{}
	_, there := en.hold.Count(e.World, e.tiers, now)
	return there > 0 && !slices.ContainsFunc(claims, func(c model.Claim) bool { return c.Node != nil && !room.Take(c.Node, c.Req, c.N) })
}

// awaitRoom tells a gang that room is being made for it.
func (c *Cycle) awaitRoom(en *entry) Turn {
	all, there := en.hold.Count(c.World, c.engine.tiers, c.Now)
	why := reason.Reason{Code: reason.MakingRoom, Need: int64(all), Room: int64(all - there)}
	c.engine.alarm(en, en.hold.Until)
	return c.refuse(en, why, roomWakes|model.QueueRoom|model.QueueChanged|model.ObjectChanged)
}

// lackOf is what a gang lacks, and of how many tasks.
func (e *Engine) lackOf(g *model.Gang, no refusal) (victims.Lack, int) {
	if len(no.groups) != 1 {
		return victims.Lack{Gang: g}, 0
	}
	gr := no.groups[0]
	lack := victims.Lack{Queue: g.Queue, Priority: g.Priority, Class: gr.class.ID, Presses: e.presses(g), Kind: gr.kind}
	if devices := e.bill(no.groups).Devices; len(devices) > 0 {
		lack.Devices = e.World.Resources.List(devices).String()
	}
	if g.Counts.Placed > 0 {
		lack.Gang = g // others of it may make room
	}
	return lack, len(gr.tasks)
}

// presses reports whether a plugin entitles a gang to the room of others by any rule.
func (e *Engine) presses(g *model.Gang) bool {
	return slices.ContainsFunc(e.rules, func(r framework.Rule) bool {
		_, ok := e.tiers.Pressing(r, g)
		return ok
	})
}

// redeem ends the hold of a gang that is placed, and accounts for what lay idle meanwhile.
func (c *Cycle) redeem(en *entry) {
	if en.hold == nil {
		return
	}
	en.hold.Count(c.World, c.engine.tiers, c.Now)
	if c.report.Idle == nil {
		c.report.Idle = map[string]float64{}
	}
	//muster:anyorder sums
	for d, seconds := range en.hold.Idle(c.Now) {
		c.report.Idle[c.World.Resources.Name(d)] += seconds
	}
	en.hold = nil
}

// recollect looks after what was said of where room is being made for the gangs that
// changed, by this scheduler or by one before it.
func (c *Cycle) recollect() {
	fault.Each(c.changed, func(en *entry) {
		if en.hold != nil && (!en.gang.Known || lacks(en.gang)) {
			c.giveBack(en)
		}
		if en.hold == nil {
			c.engine.resume(en)
		}
		c.settle(en)
	}, func(en *entry, broke fault.Fault) {
		if !c.engine.orderBroke(broke) {
			c.engine.accuse(en.gang, broke)
		}
	})
}

// nominated reports whether a node is named on which room was made for a task.
func nominated(t *model.Task) bool { return t.Nominated != "" }

// resume sets room aside again that was being made for a gang when another scheduler
// decided, as its tasks say: until its turn, which comes first. Then it is placed there,
// or waits for who is going, or is refused like any other.
func (e *Engine) resume(en *entry) {
	g := en.gang
	if en.last != (Status{}) || !g.Known || lacks(g) || en.over() || !slices.ContainsFunc(g.Tasks, nominated) {
		return
	}
	tasks := e.missing(g)
	if g.Whole() {
		tasks = slices.SortedFunc(waiting(g), e.tiers.CompareTasks)
	}
	on := func(t *model.Task) *model.Node { return e.World.NodeNamed(t.Nominated) }
	free := victims.Room{}
	tasks = slices.DeleteFunc(tasks, func(t *model.Task) bool {
		n := on(t)
		return n == nil || !t.Class.Fits(n) || !free.Take(n, t.Class.Req, 1)
	})
	if len(tasks) > 0 {
		again := roomOf(e.claimDevices(e.groupsOf(tasks)), tasks, on)
		en.hold, en.nominees = &victims.Hold{Until: e.ran}, again.places
		e.setAside(g, again.claims)
	}
}
