package engine

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// Cycle is one run of the engine, as actions see it.
type Cycle struct {
	World *model.World
	Now   time.Time

	engine  *Engine
	report  Report
	waiting []*entry // awake, to be tried
	changed []*entry // whose status may differ from what was last told
	lanes   []*lane  // of the action at work
	serving *lane    // whose turn it is
	behind  []*entry // refused because of a gang before them
	roused  bool     // some of waiting are among those that sleep as well
	// overtaking: those behind are tried; that another is before them stays their reason.
	overtaking bool
}

// Awaited reports whether a gang waits for its tasks to be made and has not been told to go ahead.
func (c *Cycle) Awaited(g *model.Gang) bool { return c.engine.entries[g].awaited() }

// Placeable reports whether there are tasks of a gang to be placed.
func (c *Cycle) Placeable(g *model.Gang) bool { return !c.Awaited(g) }

// Admit tells a gang to go ahead, or refuses it: admission is a trial against
// the same ledger that placements are charged to. What the gang will need is
// promised to it, and counts against further promises, until its tasks exist; and
// is owed to it until it is whole.
func (c *Cycle) Admit(g *model.Gang) (turn Turn) {
	e, en := c.engine, c.engine.entries[g]
	defer c.quarantine(en, c.start(), &turn)
	c.report.Tried++
	if no, ok := e.mayGoAhead(g); !ok {
		turn := c.refuse(en, no.why, no.wakes)
		if no.voted {
			c.remind(en)
		}
		return turn
	}
	e.promise(en, c.Now)
	c.goAhead(en)
	e.owe(en)
	return c.content(en)
}

// mayGoAhead says whether a gang may be told to go ahead.
func (e *Engine) mayGoAhead(g *model.Gang) (refusal, bool) {
	if why, wakes, ok := e.mayRun(g); !ok {
		return refusal{why: why, wakes: wakes}, false
	}
	need := e.World.Resources.Vector(g.MinResources)
	no, ok := e.elected(g, need)
	if !ok && e.couldTake(g, need, func() bool {
		_, ok := e.elected(g, need)
		return ok
	}) {
		return refusal{}, true
	}
	return no, ok
}

// elected says whether queues and plugins let a gang go ahead as things are.
func (e *Engine) elected(g *model.Gang, need resource.Vector) (refusal, bool) {
	if over := e.World.Quota.Exceeded(g.Queue.ID, need, e.total, true); over != nil {
		return e.overLimit(over, model.Bill{Sum: need}), false
	}
	vote, why, wakes := e.tiers.VoteOnGang(g, need)
	return refusal{why: why, wakes: wakes, voted: true}, vote != framework.Refuse
}

// admitAll tells all gangs to go ahead that wait for it.
func (c *Cycle) admitAll() {
	for _, en := range c.waiting {
		if en.gang.Known && en.awaited() {
			c.goAhead(en)
		}
	}
}

// goAhead tells a gang to go ahead.
func (c *Cycle) goAhead(en *entry) {
	en.phase, en.impatient = model.Inqueue, false
	c.engine.await(en)
	c.change(en)
}

// Place gives a gang what it needs next: its minimum, whole or not at all; and of
// what waits beyond it, what fits, until another queue is to be served before its own.
func (c *Cycle) Place(g *model.Gang) (turn Turn) {
	e, en := c.engine, c.engine.entries[g]
	mark := c.World.Mark()
	defer e.owe(en)
	defer c.settle(en)
	defer c.quarantine(en, c.start(), &turn)
	if c.release(en) {
		return c.content(en)
	}
	if lacks(g) && !nothingToDo(g) && !en.over() && !en.impatient {
		if _, waited := e.timers[en]; !waited || g.Counts.Alive() > en.most {
			e.timers[en] = c.Now.Add(e.config.PatienceFor)
		}
		en.most = max(en.most, g.Counts.Alive())
		return c.content(en)
	}
	e.unpromise(en)
	if !lacks(g) {
		en.most = 0
	}
	if t, n := g.Stuck(); n > 0 {
		return c.refuse(en, stuck(t), model.GangChanged)
	}
	if nothingToDo(g) || en.over() {
		return c.content(en)
	}
	c.report.Tried++
	if no, ok := c.openGates(en); !ok {
		return c.refuseFor(en, no, nil)
	}
	if !g.Whole() {
		return c.placeWhole(en, mark)
	}
	return c.placeMore(en, mark)
}

// placeWhole places a gang's minimum.
func (c *Cycle) placeWhole(en *entry, mark model.Mark) Turn {
	e, g := c.engine, en.gang
	claims := g.Claims
	if claims != nil {
		e.setAside(g, nil)
		mark = c.World.Mark()
	}
	no, ok := e.placeMinimum(g)
	if !ok {
		e.World.Rollback(mark)
		return c.wait(en, no, claims)
	}
	c.redeem(en)
	if claims != nil {
		c.World.Happened |= model.NodeRoom | model.QueueRoom
	}
	c.commit(en, mark, true)
	if g.Counts.Waiting > 0 {
		return More
	}
	return c.content(en)
}

// wait makes a gang wait for its minimum: for room that is being made for it, else for
// what it was refused for.
func (c *Cycle) wait(en *entry, no refusal, claims []model.Claim) Turn {
	if c.engine.stands(en.gang, claims, no.groups) && c.engine.coming(en, claims, c.Now) {
		c.engine.setAside(en.gang, claims)
		return c.awaitRoom(en)
	}
	en.hold = nil
	if c.take(en, no) {
		if claims != nil {
			c.World.Happened |= model.NodeRoom | model.QueueRoom
		}
		return c.awaitRoom(en)
	}
	return c.refuseFor(en, no, claims)
}

// placeMore places of what waits beyond a minimum what fits; while room is being made for
// it, before its queue's turn, no more than that is for.
func (c *Cycle) placeMore(en *entry, mark model.Mark) Turn {
	e, g, claims, yields := c.engine, en.gang, en.gang.Claims, c.yields
	if claims != nil {
		e.setAside(g, nil)
		mark = c.World.Mark()
		enough := int64(g.Counts.Placed) + model.Pieces(claims)
		yields = func() bool { return int64(g.Counts.Placed) >= enough || c.yields() }
	}
	no, yielded := e.placeRest(g, yields)
	placed := c.World.Since(mark)
	c.commit(en, mark, false)
	held := false
	if claims != nil {
		claims = c.World.Unfilled(claims, placed)
		if held = model.Pieces(claims) <= int64(g.Counts.Waiting) && e.coming(en, claims, c.Now); held {
			e.setAside(g, claims)
		} else {
			c.redeem(en)
		}
		if !held || len(placed) > 0 { // else it claims what it did, and a try helps nobody
			c.World.Happened |= model.NodeRoom | model.QueueRoom
		}
	}
	switch {
	case yielded, no.wakes == 0 && len(placed) > 0 && g.Counts.Waiting > 0:
		return More // with a sub-group complete, more of its tasks may follow
	case no.wakes == 0:
		return c.content(en)
	case held || c.takeMore(en, no):
		c.awaitRoom(en)
	default:
		c.refuseFor(en, no, nil)
	}
	return Done
}

// commit makes what was placed since the mark final; minimum: it is what the gang lacked.
func (c *Cycle) commit(en *entry, mark model.Mark, minimum bool) {
	placed := c.World.Since(mark)
	first, slow := len(c.report.Decisions), false
	for _, t := range placed {
		bind := Bind{UID: t.UID, Name: t.Name, Gang: en.gang.Key, Node: t.On.Name}
		if writes := c.engine.tiers.Prepare(t, t.On); len(writes) > 0 {
			bind.Before, slow = &Preparation{Writes: writes}, true
		}
		c.emit(bind)
	}
	if minimum && slow && len(placed) > 1 {
		c.hold(first)
	}
	c.report.Placed += len(placed)
	c.World.Commit()
	if len(placed) > 0 {
		c.change(en)
		c.World.Happened |= model.TaskPlaced
	}
}

// hold has the binds from the first on wait for one another.
func (c *Cycle) hold(first int) {
	binds := c.report.Decisions[first:]
	for i, d := range binds {
		if bind, ok := d.(Bind); ok {
			bind.Together = len(binds)
			binds[i] = bind
		}
	}
}

// over reports whether a gang has ended and no new task has come since.
func (en *entry) over() bool {
	return ended(en.phase) && en.gang.Counts.Idle()
}

// nothingToDo reports whether a gang has all it needs, or has ended.
func nothingToDo(g *model.Gang) bool {
	n := g.Counts
	return (n.Idle() && n.All() > 0) || (n.Waiting == 0 && n.Gated == 0 && g.Whole())
}

// lacks reports whether fewer tasks exist than a gang needs: others may be on
// the way, as when a workload is made, scaled or restarted.
func lacks(g *model.Gang) bool {
	_, ok := enough(g)
	return !ok
}

// content notes that a gang lacks nothing now; only its own change wakes it.
func (c *Cycle) content(en *entry) Turn {
	if en.why != nil {
		c.change(en)
		c.moved(en)
	}
	en.why, en.wakes, en.short = nil, 0, shortfall{}
	en.tries, en.vain = victims.Pace{}, nil
	delete(c.engine.alarms, en)
	c.giveBack(en)
	return Done
}

// giveBack gives back what is set aside for a gang, and what is yet to come.
func (c *Cycle) giveBack(en *entry) {
	en.hold = nil
	if en.gang.Claims != nil {
		c.engine.setAside(en.gang, nil)
		c.World.Happened |= model.NodeRoom | model.QueueRoom
	}
}

// moved wakes those that stand behind a gang of a strict queue.
func (c *Cycle) moved(en *entry) {
	if q := en.gang.Queue; q != nil && q.Strict {
		c.World.Happened |= model.QueueMoved
	}
}

// refuseFor refuses a gang for want of room, and sets room aside when its time has
// come; claims is what was set aside before.
func (c *Cycle) refuseFor(en *entry, no refusal, claims []model.Claim) Turn {
	if c.engine.mayTake(en.gang) {
		no.wakes |= takeWakes
	}
	turn := c.refuse(en, no.why, no.wakes)
	if !c.overtaking {
		en.short = no.short
	}
	en.tries = en.tries.After(no.long, c.Now)
	c.reserve(en, no, claims)
	if claims != nil && en.gang.Claims == nil {
		c.World.Happened |= model.NodeRoom | model.QueueRoom
	}
	return turn
}

func (c *Cycle) refuse(en *entry, why reason.Reason, wakes model.Change) Turn {
	if c.overtaking && why.Code != reason.Fault {
		en.wakes |= wakes
		return Refused
	}
	en.wakes, en.short, en.stale = wakes, shortfall{}, time.Time{}
	if en.why != nil && en.why.Equal(why) {
		return Refused
	}
	if en.why == nil {
		c.change(en)
	}
	en.why = &why
	c.emit(Refuse{Gang: en.gang.Key, UID: en.gang.UID, Why: why})
	return Refused
}

func (c *Cycle) change(en *entry) { c.changed = append(c.changed, en) }

func (c *Cycle) emit(d Decision) { c.report.Decisions = append(c.report.Decisions, d) }

// park puts the gangs that were tried to sleep.
func (c *Cycle) park() {
	if c.roused {
		c.engine.parked = slices.DeleteFunc(c.engine.parked, func(en *entry) bool { return en.awake })
	}
	for _, en := range c.waiting {
		en.wakes &^= model.GangChanged
		en.awake = false
		c.engine.parked = append(c.engine.parked, en)
	}
}
