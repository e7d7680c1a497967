package engine

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// hold is room that is being made for a gang: who goes, and until when that is waited for.
type hold struct {
	leaving  []leaver
	expected map[*model.Task]bool // those that leave
	until    time.Time
}

// leaver is a task that goes, what it was charged, and when it was seen to be gone.
type leaver struct {
	task *model.Task
	req  resource.Vector
	gone time.Time
}

// takeWakes is what could let a gang take from others who could not before: what queues
// deserve and use, who runs, and who is protected.
const takeWakes = model.QueueChanged | model.QueueRoom | model.TaskPlaced | model.ObjectChanged

// goneAfter is how long a victim may take to go beyond the time it is given to end.
const goneAfter = time.Minute

// take has others give way to a gang that was refused, if the configuration lets it and
// that makes room for all it lacks. What they leave is set aside for it.
func (c *Cycle) take(en *entry, no refusal) bool {
	e := c.engine
	lack, n := e.lackOf(en.gang, no)
	if !c.mayPlan(en, no, lack, n) {
		return false
	}
	out, claims := e.plan(en.gang, e.minimum(en.gang), c.Now)
	if claims == nil {
		c.inVain(en, out, lack, n)
		return false
	}
	e.patience.Found(lack)
	en.hold = &hold{until: c.Now}
	c.makeRoom(en, out, claims)
	return true
}

// takeMore has others give way for what a gang wants beyond its minimum, as far as its queue
// deserves it: all of a kind at once or, if that can't be, half of it, down to one.
func (c *Cycle) takeMore(en *entry, no refusal) bool {
	e, g := c.engine, en.gang
	units := e.units(g)
	if len(units) == 0 || len(e.milder()) == 0 {
		return false
	}
	lack := victims.Lack{Queue: g.Queue, Gang: g, Class: units[0].groups[0].class.ID}
	if !c.mayPlan(en, no, lack, 1) {
		return false
	}
	en.hold = &hold{until: c.Now}
	var vain victims.Outcome
	plan := func(groups ...group) bool {
		out, claims := e.plan(g, e.beyond(g, groups), c.Now)
		if claims == nil {
			vain.Looked, vain.Protected = vain.Looked+out.Looked, vain.Protected || out.Protected
			return false
		}
		c.makeRoom(en, out, claims)
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
	if len(g.Claims) > 0 {
		e.patience.Found(lack)
		return true
	}
	en.hold = nil
	c.inVain(en, vain, lack, 1)
	return false
}

// mayPlan reports whether it is time to look for victims for a gang that lacks something,
// and room is what it lacks.
func (c *Cycle) mayPlan(en *entry, no refusal, lack victims.Lack, n int) bool {
	if c.overtaking || !c.engine.mayTake(en.gang) {
		return false
	}
	switch no.why.Code {
	case reason.NotEnoughNodes, reason.QueueCapability, reason.QueueGuarantee:
	default:
		return false // room alone would not help
	}
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
			en.hold.expect(t, c.Now)
			c.evict(t, g.Key, why)
		}
		c.report.Evicted += len(v.Tasks)
	}
	for _, claim := range claims { // those that go anyway are waited for as well
		if claim.Node == nil {
			continue
		}
		for _, t := range claim.Node.Tasks {
			if t.Bucket == model.Releasing {
				en.hold.expect(t, c.Now)
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

// plan looks for victims, and says where what a gang wants would be placed when they are
// gone, and those that are going anyway. It leaves no trace.
func (e *Engine) plan(g *model.Gang, what want, now time.Time) (victims.Outcome, []model.Claim) {
	w, groups := e.World, what.groups
	defer w.Rollback(w.Mark())
	need := e.bill(groups).Sum
	affords := func() bool { return w.Quota.Fits(g.Queue.ID, need, e.total) }
	r := victims.Request{
		Gang: g, Need: need, Rules: what.rules, Sparing: e.sparing, Beyond: what.beyond, In: least(groups), Now: now, Stays: e.stays, Holders: &e.holders,
		Counts: len(groups) == 1 && groups[0].kind == "" && (what.beyond || !e.mixed(g)), Ceiling: !affords(),
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
		return out, nil
	}
	mark, claims := w.Mark(), e.claimDevices(groups)
	if !what.place() {
		return out, nil
	}
	return out, append(claims, model.ClaimsOf(w.Since(mark))...)
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

// expect adds a task to those that are waited for, once.
func (h *hold) expect(t *model.Task, now time.Time) {
	if h.expected[t] {
		return
	}
	if h.expected == nil {
		h.expected = map[*model.Task]bool{}
	}
	h.expected[t] = true
	grace := 30 * time.Second
	if t.Pod != nil && t.Pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = time.Duration(*t.Pod.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	h.leaving = append(h.leaving, leaver{task: t, req: t.Class.Req})
	if until := now.Add(grace + goneAfter); until.After(h.until) {
		h.until = until
	}
}

// gone notes who has gone by now, with all they had, and returns how many have not.
func (e *Engine) gone(h *hold, now time.Time) (there int) {
	for i := range h.leaving {
		l := &h.leaving[i]
		switch {
		case e.World.TaskOf(l.task.UID) == l.task && l.task.On != nil && l.task.Bucket == model.Releasing:
			there++
		case l.gone.IsZero() && e.tiers.Lingers(l.task.UID):
			there++
		case l.gone.IsZero():
			l.gone = now
		}
	}
	return there
}

// idle is for how many seconds each resource that was given up has been of no use to anybody.
func (h *hold) idle(now time.Time) map[int]float64 {
	idle := map[int]float64{}
	for _, l := range h.leaving {
		if l.gone.IsZero() {
			continue
		}
		for d, n := range l.req {
			idle[d] += float64(n) * now.Sub(l.gone).Seconds()
		}
	}
	return idle
}

// coming reports whether the room that is being made for a gang will do for what it
// claimed, as far as that can be said now. What is set aside for it was given back.
func (e *Engine) coming(en *entry, claims []model.Claim, now time.Time) bool {
	h := en.hold
	if h == nil || e.gone(h, now) == 0 || !now.Before(h.until) || len(claims) == 0 {
		return false
	}
	room := map[*model.Node]resource.Vector{}
	for _, c := range claims {
		if c.Node == nil {
			continue
		}
		if _, ok := room[c.Node]; !ok {
			v := slices.Clone(c.Node.Free)
			for _, t := range c.Node.Tasks {
				if t.Bucket == model.Releasing {
					v.Add(t.Class.Req, 1)
				}
			}
			room[c.Node] = v
		}
		v := room[c.Node]
		if v.Times(c.Req) < c.N {
			return false
		}
		v.Add(c.Req, -c.N)
	}
	return true
}

// awaitRoom tells a gang that room is being made for it.
func (c *Cycle) awaitRoom(en *entry) Turn {
	h := en.hold
	why := reason.Reason{Code: reason.MakingRoom, Need: int64(len(h.leaving)), Room: int64(len(h.leaving) - c.engine.gone(h, c.Now))}
	c.engine.alarm(en, h.until)
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
	c.engine.gone(en.hold, c.Now)
	if c.report.Idle == nil {
		c.report.Idle = map[string]float64{}
	}
	//muster:anyorder sums
	for d, seconds := range en.hold.idle(c.Now) {
		c.report.Idle[c.World.Resources.Name(d)] += seconds
	}
	en.hold = nil
}
