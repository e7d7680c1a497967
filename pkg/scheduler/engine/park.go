package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// entry is what the engine remembers of a gang between runs.
type entry struct {
	gang  *model.Gang
	why   *reason.Reason // why it waits, as last reported; nil when it does not
	wakes model.Change   // what could lift the refusal
	last  Status         // as last reported
	phase model.Phase
	awake bool           // to be tried in this run
	stale time.Time      // from when on why is told anew, since its numbers may have changed; zero: they have not
	short shortfall      // what must be so before another attempt makes sense
	said  []string       // about its hints
	unmet *reason.Reason // as last told
	// opened are tasks whose gates were asked to be opened.
	opened map[*model.Task]bool
	// counted is the queue in which it is counted, as being in phase countedAs.
	counted   *model.Queue
	countedAs model.Phase
	// tries keeps a gang that takes long to try from being tried with every pod that
	// comes or goes; vain, from having victims looked for each time.
	tries    victims.Pace
	vain     *victims.Vain     // nil when the last search for victims found some
	hold     *victims.Hold     // nil when no room is being made for it
	nominees []victims.Nominee // of which was told where that is
	broken   time.Time         // since when it lacks a part of its minimum; zero: it does not
	// impatient is set when no further task came for too long; see Config.PatienceFor.
	impatient bool
	most      int32 // tasks that it had at once while it was waited for
}

// takeChanged brings the entries up to date with the gangs that events touched, and returns those.
func (e *Engine) takeChanged(now time.Time) []*entry {
	var changed []*entry
	fault.Each(e.World.TakeTouched(), func(g *model.Gang) {
		if en := e.catchUp(g, now); en != nil {
			changed = append(changed, en)
		}
	}, e.accuse)
	return changed
}

// catchUp brings the entry of a gang up to date; nil when there is none any more.
func (e *Engine) catchUp(g *model.Gang, now time.Time) *entry {
	en := e.entries[g]
	if !g.Known && len(g.Tasks) == 0 {
		if en != nil {
			e.forget(en)
		}
		e.tiers.Follow(g, true)
		return nil
	}
	if en == nil {
		en = &entry{gang: g, phase: g.Phase}
		e.entries[g] = en
		e.parked = append(e.parked, en)
		if en.phase == model.Inqueue && lacks(g) {
			e.promise(en, now) // it was told to go ahead before we came
		}
	}
	if en.last.UID != g.UID {
		en.phase, en.why, en.last, en.unmet, en.hold = g.Phase, nil, Status{}, nil, nil
	}
	en.wakes |= model.GangChanged
	if !lacks(g) || g.Counts.Alive() > en.most {
		en.impatient = false // a pod that is made anew time and again is no sign of life
	}
	e.await(en)
	e.owe(en)
	e.tiers.Follow(g, false)
	return en
}

func (e *Engine) forget(en *entry) {
	delete(e.entries, en.gang)
	delete(e.timers, en)
	delete(e.alarms, en)
	delete(e.claimed, en.gang)
	e.tally(en, false)
	e.parked = slices.DeleteFunc(e.parked, func(p *entry) bool { return p == en })
}

// wake returns the gangs to try: those that changed, and those asleep for a
// reason that may be gone.
func (e *Engine) wake(now time.Time) []*entry {
	happened := e.World.Happened
	e.World.Happened = 0
	e.retelling, e.retellAt = retellMost, time.Time{}
	var awake []*entry
	asleep := e.parked[:0]
	fault.Each(e.parked, func(en *entry) {
		if e.sleeps(en, happened, now) {
			e.remindOf(en, now)
			asleep = append(asleep, en)
			return
		}
		en.awake, en.stale = true, time.Time{}
		awake = append(awake, en)
	}, func(en *entry, broke fault.Fault) {
		e.accuse(en.gang, broke)
		asleep = append(asleep, en)
	})
	clear(e.parked[len(asleep):])
	e.parked = asleep
	return awake
}

// sleeps reports whether a gang need not be tried, after what happened.
func (e *Engine) sleeps(en *entry, happened model.Change, now time.Time) bool {
	hit := en.wakes & (happened | model.GangChanged)
	due := e.retelling > 0 && !en.stale.IsZero() && !now.Before(en.stale)
	switch {
	case hit == 0 && !due:
	case hit&^(roomWakes|model.QueueRoom|model.TaskPlaced) == 0 && !due && e.stillShort(en):
		if en.stale.IsZero() && e.config.RetellAfter > 0 {
			en.stale = now.Add(e.config.RetellAfter)
		}
		if en.vain != nil && now.Before(en.vain.NotBefore) {
			e.alarm(en, en.vain.NotBefore) // there may be other victims then
		}
	case hit&^passing == 0 && now.Before(en.tries.NotBefore):
		e.alarm(en, en.tries.NotBefore)
		en.stale = time.Time{} // that attempt tells
	default:
		if due {
			e.retelling--
		}
		return false
	}
	return true
}

// passing is what happens all the time on a busy cluster.
const passing = model.NodeRoom | model.QueueRoom | model.TaskPlaced | model.ObjectChanged

const (
	// retellMost is how many reasons are told anew in one run for their numbers alone.
	// Others follow in later runs, retellGap apart: those told go behind them.
	retellMost = 100
	retellGap  = 50 * time.Millisecond
)

// remindOf sees to it that the reason of a gang that sleeps is told anew in time.
func (e *Engine) remindOf(en *entry, now time.Time) {
	if en.stale.IsZero() {
		return
	}
	at := en.stale
	if soonest := now.Add(retellGap); at.Before(soonest) {
		at = soonest
	}
	if e.retellAt.IsZero() || at.Before(e.retellAt) {
		e.retellAt = at
	}
}

// stillShort reports whether what a gang was refused for is still so, without an attempt.
func (e *Engine) stillShort(en *entry) bool {
	g, s := en.gang, en.short
	if g.Claims != nil || !g.Known || g.Broken() || (en.vain != nil && !e.ran.Before(en.vain.NotBefore)) {
		return false
	}
	if s.class != nil {
		return s.class.Alive() && e.view(s.class).room < s.need
	}
	return s.queue != nil && !e.World.Quota.Fits(g.Queue.ID, s.queue, e.total)
}

// await notes what a gang will ask for while it waits to be told to go ahead and
// has no tasks that ask for it.
func (e *Engine) await(en *entry) {
	var need resource.Vector
	if en.awaited() && en.gang.Known && en.gang.Counts.Alive() == 0 {
		need = e.World.Resources.Vector(en.gang.MinResources)
	}
	e.World.Await(en.gang, need)
}

// awaited reports whether a gang waits for its tasks to be made and has not been told to go ahead.
func (en *entry) awaited() bool {
	n := en.gang.Counts
	return (en.phase == model.Pending || en.phase == "") && n.Alive() < max(en.gang.Min, 1) && n.Placed == 0
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

// owe notes what an admitted gang still needs to be whole, while that may come:
// until then it counts against what others are admitted for.
func (e *Engine) owe(en *entry) {
	g := en.gang
	var need resource.Vector
	if g.Known && en.phase == model.Inqueue && !en.impatient && !en.hopeless() && !g.Whole() && e.config.admits() {
		need = e.World.Resources.Vector(g.MinResources)
		for d := range need {
			need.Set(d, max(0, need.At(d)-g.Used.At(d)))
		}
	}
	e.World.Owe(g, need)
}

// hopeless reports whether a gang waits for what no other's end can give it.
func (en *entry) hopeless() bool {
	return en.why != nil && (en.why.Hopeless() || en.gang.Problem != nil)
}

// losePatience takes back what was promised to gangs whose tasks do not come, and wakes
// them to be refused.
func (e *Engine) losePatience(now time.Time) {
	fault.Each(due(e.timers, now), func(en *entry) {
		e.unpromise(en)
		en.impatient = true
		en.wakes |= model.GangChanged
	}, func(en *entry, broke fault.Fault) { e.accuse(en.gang, broke) })
	for _, en := range due(e.alarms, now) {
		en.wakes |= model.GangChanged
	}
}

// due takes out those whose instant has come, in order of arrival of their gangs.
func due(instants map[*entry]time.Time, now time.Time) []*entry {
	var due []*entry
	//muster:anyorder sorted below
	for en, at := range instants {
		if !now.Before(at) {
			delete(instants, en)
			due = append(due, en)
		}
	}
	slices.SortFunc(due, func(a, b *entry) int { return cmp.Compare(a.gang.Seq, b.gang.Seq) })
	return due
}

// alarm has a gang tried at an instant, unless it is before that.
func (e *Engine) alarm(en *entry, at time.Time) {
	if before, ok := e.alarms[en]; !ok || at.Before(before) || !before.After(e.ran) {
		e.alarms[en] = at
	}
}

// reconsider returns why a gang waits as things are now, nil when it does not, by
// an attempt that leaves no trace.
func (e *Engine) reconsider(en *entry) *reason.Reason {
	g := en.gang
	if !e.votes(en) && (nothingToDo(g) || en.over()) {
		return nil
	}
	if t, n := g.Stuck(); n > 0 {
		return new(stuck(t))
	}
	if no, _, ok := e.mayRun(g); !ok {
		return &no
	}
	told := en.hold != nil || en.why != nil && (en.why.Code == reason.BehindHead || en.why.Code == reason.Fault)
	if told || e.tiers.AskOutside() {
		if no, ok := enough(g); !ok && !told {
			return &no
		}
		return en.why
	}
	claims := g.Claims
	e.setAside(g, nil)
	mark := e.World.Mark()
	defer func() {
		e.World.Rollback(mark)
		e.setAside(g, claims)
	}()
	var no refusal
	if broke := fault.Try(func() { no = e.attempt(en) }); broke != nil {
		e.tiers.Comparing() // a question leaves no trace
		clear(e.views)
		return new(faulty(*broke))
	}
	if no.why.Code != "" {
		return &no.why
	}
	return en.why // it would fit: it is tried when its turn comes
}

// votes reports whether a gang is yet to be told to go ahead by an action.
func (e *Engine) votes(en *entry) bool { return en.awaited() && e.config.admits() }

// attempt does with a gang what its next turn would; the caller takes it back.
func (e *Engine) attempt(en *entry) refusal {
	g := en.gang
	if e.votes(en) {
		if no, ok := e.mayGoAhead(g); !ok {
			return no
		}
	}
	if no, ok := enough(g); !ok {
		return refusal{why: no}
	}
	if _, _, no, ok := e.toOpen(g); !ok {
		return no
	}
	if g.Whole() {
		no, _ := e.placeRest(g, func() bool { return false })
		return no
	}
	mark := e.World.Mark()
	no, _ := e.placeMinimum(g)
	switch no.why.Code {
	case reason.NotEnoughNodes, reason.NeverFits, reason.QueueCapability, reason.QueueGuarantee:
	default:
		return no
	}
	e.World.Rollback(mark)
	if all := e.everything(g); len(all) > 0 {
		no.why, no.why.Also = all[0], all[1:]
	}
	return no
}
