package engine

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
)

// entry is what the engine remembers of a gang between runs.
type entry struct {
	gang  *model.Gang
	why   *reason.Reason // why it waits, as last reported; nil when it does not
	wakes model.Change   // what could lift the refusal
	last  Status         // as last reported
	phase model.Phase
	// impatient is set when no further task came for too long; see Config.PatienceFor.
	impatient bool
}

// orphan is a pod that asks for our scheduler without a gang that exists.
type orphan struct {
	task  *model.Task
	since time.Time
	told  bool // it was refused
}

// takeChanged brings the entries up to date with the gangs that events touched, and returns those.
func (e *Engine) takeChanged() []*entry {
	var changed []*entry
	for _, g := range e.World.TakeTouched() {
		en := e.entries[g]
		if !g.Known && len(g.Tasks) == 0 {
			if en != nil {
				e.forget(en)
			}
			continue
		}
		if en == nil {
			en = &entry{gang: g, phase: g.Phase}
			e.entries[g] = en
			e.parked = append(e.parked, en)
		}
		if en.last.UID != g.UID {
			en.phase, en.why, en.last = g.Phase, nil, Status{}
		}
		en.wakes |= model.GangChanged
		en.impatient = false
		changed = append(changed, en)
	}
	return changed
}

func (e *Engine) forget(en *entry) {
	delete(e.entries, en.gang)
	delete(e.timers, en)
	e.parked = slices.DeleteFunc(e.parked, func(p *entry) bool { return p == en })
}

// wake returns the gangs to try: those that changed, and those asleep for a
// reason that may be gone.
func (e *Engine) wake() []*entry {
	happened := e.World.Happened
	e.World.Happened = 0
	var awake []*entry
	asleep := e.parked[:0]
	for _, en := range e.parked {
		if en.wakes&(happened|model.GangChanged) != 0 {
			awake = append(awake, en)
		} else {
			asleep = append(asleep, en)
		}
	}
	clear(e.parked[len(asleep):])
	e.parked = asleep
	return awake
}

// promise holds the gang's minResources in its queue until its tasks exist, or
// none has come for a while.
func (e *Engine) promise(en *entry, now time.Time) {
	e.World.Promise(en.gang, e.World.Resources.Vector(en.gang.MinResources))
	e.timers[en] = now.Add(e.config.PatienceFor)
}

func (e *Engine) unpromise(en *entry) {
	e.World.Promise(en.gang, nil)
	delete(e.timers, en)
}

// losePatience takes back what was promised to gangs whose tasks do not come,
// and wakes them to be refused. The order does not matter: promises are sums.
func (e *Engine) losePatience(now time.Time) {
	//muster:anyorder promises are sums
	for en, deadline := range e.timers {
		if !now.Before(deadline) {
			e.unpromise(en)
			en.impatient = true
			en.wakes |= model.GangChanged
		}
	}
}

// callOutOrphans refuses pods that had no gang for too long, once each, and takes
// that back when their gang comes.
func (e *Engine) callOutOrphans(c *Cycle) {
	for _, t := range e.World.TakeLoose() {
		e.adopt(t, c.Now)
	}
	for _, en := range c.changed {
		if en.gang.Known {
			continue
		}
		for _, t := range en.gang.Tasks {
			e.adopt(t, c.Now)
		}
	}
	e.orphans = slices.DeleteFunc(e.orphans, func(o *orphan) bool {
		t := o.task
		tell := func(why reason.Reason) {
			c.emit(Refuse{Gang: t.TaskSpec.Gang, UID: t.UID, Task: t.Name, Why: why})
		}
		found := t.Gang != nil && t.Gang.Known
		switch {
		case e.World.TaskOf(t.UID) != t || t.Bucket != model.Waiting || found:
			if found && o.told {
				tell(reason.Reason{Code: reason.GangFound, Object: t.Gang.Key})
			}
			delete(e.adopted, t)
			return true
		case o.told || c.Now.Before(o.since.Add(e.config.OrphansAfter)):
		case t.Gang != nil:
			o.told = true
			tell(reason.Reason{Code: reason.GangMissing, Object: t.Gang.Key})
		default:
			o.told = true
			tell(reason.Reason{Code: reason.NoGang})
		}
		return false
	})
}

// adopt begins to count how long a pod has no gang.
func (e *Engine) adopt(t *model.Task, now time.Time) {
	if !e.adopted[t] {
		e.adopted[t] = true
		e.orphans = append(e.orphans, &orphan{task: t, since: now})
	}
}
