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
