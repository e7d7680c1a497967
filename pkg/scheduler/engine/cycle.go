package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
)

// Cycle is one run of the engine, as actions see it.
type Cycle struct {
	World *model.World
	Now   time.Time

	engine  *Engine
	report  Report
	waiting []*entry // awake, to be tried
	changed []*entry // whose status may differ from what was last told
}

// Gangs returns the gangs to try, the first to be served first.
func (c *Cycle) Gangs() []*model.Gang {
	gangs := make([]*model.Gang, 0, len(c.waiting))
	for _, en := range c.waiting {
		if en.gang.Known {
			gangs = append(gangs, en.gang)
		}
	}
	slices.SortFunc(gangs, c.engine.tiers.CompareGangs)
	return gangs
}

// Awaited reports whether a gang waits for its tasks to be made and has not been told to go ahead.
func (c *Cycle) Awaited(g *model.Gang) bool {
	phase := c.engine.entries[g].phase
	return (phase == model.Pending || phase == "") && g.Counts.Alive() < max(g.Min, 1) && g.Counts.Placed == 0
}

// Admit tells a gang to go ahead, or refuses it: admission is a trial against
// the same ledger that placements are charged to. What the gang will need is
// promised to it, and counts against further promises, until its tasks exist.
func (c *Cycle) Admit(g *model.Gang) {
	en := c.engine.entries[g]
	defer c.quarantine(en, c.World.Mark())
	c.report.Tried++
	if why, wakes, ok := c.engine.mayRun(g); !ok {
		c.refuse(en, why, wakes)
		return
	}
	need := c.World.Resources.Vector(g.MinResources)
	if over := c.World.Quota.Exceeded(g.Queue.ID, need, true); over != nil {
		c.refuse(en, c.engine.overCapability(over), model.QueueRoom|model.QueueChanged)
		return
	}
	if why, ok := c.engine.overCluster(need); !ok {
		c.refuse(en, why, model.NodeRoom|model.NodeChanged)
		return
	}
	c.engine.promise(en, c.Now)
	en.phase = model.Inqueue
	c.change(en)
	c.content(en)
}

// Try places a gang's minimum whole, and of the rest what fits, or leaves no
// trace and says why.
func (c *Cycle) Try(g *model.Gang) {
	e, en := c.engine, c.engine.entries[g]
	mark := c.World.Mark()
	defer c.quarantine(en, mark)
	if lacks(g) && !nothingToDo(g) && !c.over(en) && !en.impatient {
		e.timers[en] = c.Now.Add(e.config.PatienceFor)
		c.content(en)
		return
	}
	e.unpromise(en)
	if t, n := g.Stuck(); n > 0 {
		c.refuse(en, reason.Reason{Code: reason.BindRefused, Kind: "Pod", Object: t.Name, Value: t.Stuck}, model.GangChanged)
		return
	}
	if nothingToDo(g) || c.over(en) {
		c.content(en)
		return
	}
	c.report.Tried++
	why, wakes, ok := e.placeMinimum(g)
	if !ok {
		c.World.Rollback(mark)
		c.refuse(en, why, wakes)
		return
	}
	why, wakes, ok = e.placeRest(g)
	placed := c.World.Since(mark)
	for _, t := range placed {
		c.emit(Bind{UID: t.UID, Name: t.Name, Gang: g.Key, Node: t.On.Name})
	}
	c.report.Placed += len(placed)
	c.World.Commit()
	if len(placed) > 0 {
		c.change(en)
	}
	if ok {
		c.content(en)
		return
	}
	c.refuse(en, why, wakes)
}

// quarantine keeps a fault that one gang provokes, in a plugin or here, from
// stopping all others: what was placed for it is taken back, and it waits until
// it is changed.
func (c *Cycle) quarantine(en *entry, mark model.Mark) {
	if fault := recover(); fault != nil {
		c.World.Rollback(mark)
		c.refuse(en, reason.Reason{Code: reason.Fault, Value: fmt.Sprint(fault)}, model.GangChanged)
	}
}

// over reports whether a gang has ended and no new task has come since.
func (c *Cycle) over(en *entry) bool {
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
	for i := range g.Roles {
		if r := &g.Roles[i]; r.Alive() < r.Min {
			return true
		}
	}
	return g.Counts.Alive() < g.Min
}

// content notes that a gang lacks nothing now; only its own change wakes it.
func (c *Cycle) content(en *entry) {
	if en.why != nil {
		c.change(en)
	}
	en.why, en.wakes = nil, 0
}

func (c *Cycle) refuse(en *entry, why reason.Reason, wakes model.Change) {
	en.wakes = wakes
	if en.why != nil && en.why.Equal(why) {
		return
	}
	if en.why == nil {
		c.change(en)
	}
	en.why = &why
	c.emit(Refuse{Gang: en.gang.Key, UID: en.gang.UID, Why: why})
}

func (c *Cycle) change(en *entry) { c.changed = append(c.changed, en) }

func (c *Cycle) emit(d Decision) { c.report.Decisions = append(c.report.Decisions, d) }

// park puts the gangs that were tried to sleep.
func (c *Cycle) park() {
	for _, en := range c.waiting {
		en.wakes &^= model.GangChanged
		c.engine.parked = append(c.engine.parked, en)
	}
}
