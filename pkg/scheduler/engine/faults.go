package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// faults is what the engine remembers of what broke.
type faults struct {
	n        int                  // since the last run
	news     []Fault              // to be told
	told     map[string]time.Time // by where
	suspects []suspect
	out      []string         // plugins whose opinions are left out
	until    time.Time        // that long
	whole    *framework.Tiers // with them; nil when none is left out
}

// suspect is a gang over which something broke outside its turn.
type suspect struct {
	gang  *model.Gang
	broke fault.Fault
}

const (
	// silence is how long faults at one place are not told again.
	silence = time.Minute
	// mostPlaces is how many places are remembered.
	mostPlaces = 1000
	// leftOut is how long a plugin is left out that broke while all waited for it.
	leftOut = time.Minute
)

// note notes what broke over something.
func (e *Engine) note(f Fault, broke fault.Fault) {
	e.faults.n++
	if at, ok := e.faults.told[broke.Where]; ok && e.ran.Before(at.Add(silence)) {
		return
	}
	if len(e.faults.told) >= mostPlaces {
		clear(e.faults.told)
	}
	e.faults.told[broke.Where] = e.ran
	f.Value, f.Where = broke.Value, broke.Where
	e.faults.news = append(e.faults.news, f)
}

// pluginBroke notes that a plugin broke over what concerns no single gang.
func (e *Engine) pluginBroke(plugin, doing string, broke fault.Fault) {
	e.note(Fault{Kind: "Plugin", Object: plugin, Doing: doing}, broke)
}

// unfit notes a fact that something broke over.
func (e *Engine) unfit(ev Event, broke fault.Fault) {
	f := Fault{Doing: "take in what was said of it"}
	switch ev := ev.(type) {
	case NodeSet:
		f.Kind, f.Object = "Node", ev.Node.Name
	case QueueSet:
		f.Kind, f.Object = "Queue", ev.Queue.Name
	case GangSet:
		f.Kind, f.Object = "PodGroup", ev.Gang.Key
		e.accuse(e.World.GangOf(ev.Gang.Key), broke)
	case TaskSet:
		f.Kind, f.Object = "Pod", ev.Task.Name
		e.accuse(e.World.GangOf(ev.Task.Gang), broke)
	default:
		f.Kind, f.Object = "Event", fmt.Sprintf("%T", ev)
	}
	e.note(f, broke)
}

// secure does a part of a run that concerns no single thing. Where that breaks it is told,
// the run goes on with what there was before, and it returns false.
func (e *Engine) secure(doing string, do func()) bool {
	broke := fault.Try(do)
	if broke != nil {
		e.note(Fault{Kind: "World", Object: "as a whole", Doing: doing}, *broke)
	}
	return broke == nil
}

// accuse has a gang quarantined over which something broke; see suspectAll.
func (e *Engine) accuse(g *model.Gang, broke fault.Fault) {
	e.faults.suspects = append(e.faults.suspects, suspect{g, broke})
}

// suspectAll quarantines the gangs over which something broke outside their turns.
func (c *Cycle) suspectAll() {
	e := c.engine
	suspects := e.faults.suspects
	e.faults.suspects = nil
	for _, s := range suspects {
		if en := e.entries[s.gang]; en != nil {
			c.suspect(en, "see what it waits for", s.broke)
			en.wakes = 0
		}
	}
}

// suspect keeps a gang waiting over which something broke, until it is changed. Scores
// may be half made by then, so views are made anew.
func (c *Cycle) suspect(en *entry, doing string, broke fault.Fault) Turn {
	clear(c.engine.views)
	c.giveBack(en)
	c.engine.note(Fault{Kind: "PodGroup", Object: en.gang.Key, Doing: doing}, broke)
	return c.refuse(en, faulty(broke), model.GangChanged)
}

// faulty says what broke.
func faulty(broke fault.Fault) reason.Reason {
	return reason.Reason{Code: reason.Fault, Value: broke.Value}
}

// start is where a gang's turn began.
type start struct {
	mark model.Mark
	told int // decisions
}

func (c *Cycle) start() start { return start{c.World.Mark(), len(c.report.Decisions)} }

// quarantine keeps a fault that one gang provokes, in a plugin or here, from stopping
// all others: what was placed for it is taken back, and it waits until it is changed.
// Where it was an order that broke, the gang is not to blame and is tried again.
func (c *Cycle) quarantine(en *entry, from start, turn *Turn) {
	recovered := recover()
	if recovered == nil {
		return
	}
	broke := fault.Of(recovered)
	c.World.Rollback(from.mark)
	kept := slices.DeleteFunc(c.report.Decisions[from.told:], func(d Decision) bool {
		_, bind := d.(Bind)
		return bind
	})
	c.report.Decisions = c.report.Decisions[:from.told+len(kept)]
	if c.engine.orderBroke(*broke) {
		c.engine.alarms[en] = c.Now
		*turn = Done
		return
	}
	*turn = c.suspect(en, "place it", *broke)
}

// act runs an action. Where a plugin's order breaks, that plugin is left out and the
// action begins anew; where anything else does, the next action follows.
func (c *Cycle) act(a Action) {
	for again := true; again; {
		broke := fault.Try(func() { c.engine.around(Acting, a.Name(), func() { a.Run(c) }) })
		if broke == nil {
			return
		}
		c.serving = nil
		if again = c.engine.orderBroke(*broke); !again {
			c.engine.note(Fault{Kind: "Action", Object: a.Name(), Doing: "serve those who wait"}, *broke)
		}
	}
}

// orderBroke leaves out the plugin over whose order something broke; false when it was no order.
func (e *Engine) orderBroke(broke fault.Fault) bool {
	name := e.tiers.Comparing()
	if name != "" {
		e.pluginBroke(name, "order who waits", broke)
		e.leaveOut(name)
	}
	return name != ""
}

// leaveOut leaves the opinions of plugins out for a while.
func (e *Engine) leaveOut(names ...string) {
	f := &e.faults
	for _, name := range names {
		if f.whole == nil {
			f.whole, f.out = e.tiers, nil
		}
		if !slices.Contains(f.out, name) {
			f.out, f.until = append(f.out, name), e.ran.Add(leftOut)
			e.tiers = f.whole.Without(f.out...)
			clear(e.views)
		}
	}
}

// letIn hears again the plugins that were left out, when their time is over.
func (e *Engine) letIn(now time.Time) {
	if e.faults.whole != nil && !now.Before(e.faults.until) {
		e.tiers, e.faults.whole = e.faults.whole, nil
		clear(e.views)
	}
}

// tellFaults reports what broke since the last run.
func (c *Cycle) tellFaults() {
	faults := &c.engine.faults
	for _, f := range faults.news {
		c.emit(f)
	}
	c.report.Faults = faults.n
	faults.n, faults.news = 0, nil
}

// orphan is a pod that asks for our scheduler without a gang that exists.
type orphan struct {
	task  *model.Task
	since time.Time
	told  bool // it was refused
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
	left := e.orphans[:0]
	fault.Each(e.orphans, func(o *orphan) {
		if c.callOut(o) {
			delete(e.adopted, o.task)
		} else {
			left = append(left, o)
		}
	}, func(o *orphan, broke fault.Fault) {
		delete(e.adopted, o.task)
		e.note(Fault{Kind: "Pod", Object: o.task.Name, Doing: "see whether it has a PodGroup"}, broke)
	})
	clear(e.orphans[len(left):])
	e.orphans = left
}

// adopt begins to count how long a pod has no gang.
func (e *Engine) adopt(t *model.Task, now time.Time) {
	if !e.adopted[t] {
		e.adopted[t] = true
		e.orphans = append(e.orphans, &orphan{task: t, since: now})
	}
}

// callOut says of one orphan what there is to say, and whether it is none any more.
func (c *Cycle) callOut(o *orphan) (settled bool) {
	t := o.task
	tell := func(why reason.Reason) {
		c.emit(Refuse{Gang: t.TaskSpec.Gang, UID: t.UID, Task: t.Name, Why: why})
	}
	switch {
	case c.World.TaskOf(t.UID) != t || (t.Bucket != model.Waiting && t.Bucket != model.Gated):
		return true
	case t.Gang != nil && t.Gang.Known:
		if o.told {
			tell(reason.Reason{Code: reason.GangFound, Object: t.Gang.Key})
		}
		return true
	case t.Bucket == model.Gated:
		o.since = c.Now // whoever gates it may give it a gang yet
	case o.told || c.Now.Before(o.since.Add(c.engine.config.OrphansAfter)):
	case t.Gang != nil:
		o.told = true
		tell(reason.Reason{Code: reason.GangMissing, Object: t.Gang.Key})
	default:
		o.told = true
		tell(reason.Reason{Code: reason.NoGang})
	}
	return false
}

// notice says what can't be right in the hints of gangs and queues that changed.
func (c *Cycle) notice() {
	for _, name := range c.engine.told {
		if q := c.World.QueueNamed(name); q != nil && q.Known {
			if said := few(slices.Concat(q.Unread, c.engine.tiers.NoticesOnQueue(q))); len(said) > 0 {
				c.emit(Notice{Queue: name, Said: said})
			}
		}
	}
	c.engine.told = nil
	for _, en := range c.changed {
		if !en.gang.Known {
			continue
		}
		said := few(slices.Concat(en.gang.Unread, c.engine.tiers.Notices(en.gang)))
		if !slices.Equal(said, en.said) && len(said) > 0 {
			c.emit(Notice{Gang: en.gang.Key, UID: en.gang.UID, Said: said})
		}
		en.said = said
	}
}

// few bounds what is said of one thing: who tells it has others to tell of.
func few(said []string) []string {
	const most, letters = 10, 500
	more := len(said) > most
	if more {
		said = said[:most]
	}
	for i := range said {
		said[i] = reason.Clip(said[i], letters)
	}
	if more {
		said = append(said, "there is more like that: correct these first")
	}
	return said
}
