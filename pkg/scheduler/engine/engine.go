// Package engine is the scheduler's core: facts in, decisions out. It starts no
// goroutine, reads no clock, logs nothing and keeps no globals; the same events
// and the same configuration give the same decisions, byte for byte.
//
// Use it from one goroutine: [Engine.Apply] what happened, [Engine.Run] when an
// event came or the instant of [Engine.Next] is reached, carry out the decisions
// of the report, and Apply what came of each.
package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// Engine decides. Only one goroutine may use it.
type Engine struct {
	World *model.World
	// Around, where there is one, is handed each part of a Run, which it must do once: who
	// has a clock can tell how long it took.
	Around func(part Part, name string, do func())

	config   Config
	registry framework.Registry
	objects  objects
	tiers    *framework.Tiers
	rules    []framework.Rule // by which gangs may take the room of others
	sparing  []framework.Rule // those of them by which no gang is broken
	causes   causes
	tallies  []tally // by class
	entries  map[*model.Gang]*entry
	parked   []*entry
	orphans  []*orphan                            // in order of arrival
	adopted  map[*model.Task]bool                 // the tasks in orphans
	ran      time.Time                            // the last Run's
	timers   map[*entry]time.Time                 // when patience with a gang ends
	alarms   map[*entry]time.Time                 // when a gang is to be tried whatever happens
	total    resource.Vector                      // what the cluster has for queues, in this run
	phases   map[*model.Queue]map[model.Phase]int // gangs by queue and phase
	claimed  map[*model.Gang]bool                 // those for which room is set aside
	views    map[model.ClassID]*view
	within   *framework.Area              // where tasks may be placed at present; nil: everywhere
	unmoved  map[*model.Task]victims.Pace // those that could not be made to go, and when they are told again
	holders  victims.Holders
	patience victims.Patience
	asked    victims.Asked // tasks to go
	told     []string      // queues since the last run
	looks    uint64        // at views
	again    bool          // another run would try somebody now
	retellAt time.Time     // the numbers of some reasons are told anew then; zero: of none
	// retelling is how many more are in this run.
	retelling int
	faults    faults
	retold    bool // the configuration is another: what was promised may be too
}

// Part is a part of a Run that has a name.
type Part uint8

// Parts of a Run.
const (
	Beginning Part = iota // a plugin works out what it needs, by the plugin's name
	Acting                // an action, by its name
)

func (e *Engine) around(part Part, name string, do func()) {
	if e.Around == nil {
		do()
		return
	}
	e.Around(part, name, do)
}

func (e *Engine) beginPlugin(name string, do func()) { e.around(Beginning, name, do) }

// New makes an Engine. Its error names everything that is wrong with the configuration.
func New(config Config, registry framework.Registry) (*Engine, error) {
	world := model.New()
	tiers, err := config.build(registry, framework.Env{Dim: world.Resources.Dim}, &framework.Tiers{})
	if err != nil {
		return nil, err
	}
	e := &Engine{
		World:    world,
		config:   config,
		registry: registry,
		tiers:    tiers,
		causes:   newCauses(),
		entries:  map[*model.Gang]*entry{},
		adopted:  map[*model.Task]bool{},
		timers:   map[*entry]time.Time{},
		alarms:   map[*entry]time.Time{},
		phases:   map[*model.Queue]map[model.Phase]int{},
		claimed:  map[*model.Gang]bool{},
		unmoved:  map[*model.Task]victims.Pace{},
		views:    map[model.ClassID]*view{},
		objects:  objects{known: map[string]runtime.Object{}},
		faults:   faults{told: map[string]time.Time{}},
	}
	e.rules, e.sparing = config.rules()
	tiers.OnFault, tiers.Around = e.pluginBroke, e.beginPlugin
	return e, nil
}

// Run decides on everything that may have changed since the last Run.
func (e *Engine) Run(now time.Time) Report {
	c := &Cycle{engine: e, World: e.World, Now: now}
	e.ran = now
	e.holders.Forget()
	e.secure("hear again who was left out", func() { e.letIn(now) })
	e.secure("see nodes as they are by now", func() { e.turn(now) })
	e.secure("filter nodes for those who came", e.filterNewClasses)
	if !e.secure("number anew why nodes are turned away", e.renumber) {
		e.refilterAll() // some may have been renumbered already
	}
	e.losePatience(now)
	e.unheeded(now)
	maps.DeleteFunc(e.unmoved, func(t *model.Task, _ victims.Pace) bool { return e.World.TaskOf(t.UID) != t })
	e.secure("charge for devices", e.recount)
	e.secure("add up what there is for queues", func() { e.total = e.World.ForQueues(e.total) })
	c.changed = e.takeChanged(now)
	if at, ok := e.tiers.RetryAt(); ok && !now.Before(at) {
		e.World.Happened |= model.ObjectChanged
	}
	e.leaveOut(e.tiers.Begin(e.World, now)...)
	c.notice()
	c.recollect()
	c.suspectAll()
	c.follow()
	c.waiting = e.wake(now)
	c.suspectAll()
	if !e.config.admits() {
		e.secure("tell gangs to go ahead", c.admitAll)
	}
	for _, a := range e.config.Actions {
		c.act(a)
	}
	back := c.takeBack()
	e.secure("undo what plugins gave in vain", c.undo)
	e.secure("see which pods have no gang", func() { e.callOutOrphans(c) })
	c.park()
	c.tellStatus()
	e.World.Commit()
	e.again = back || slices.ContainsFunc(e.parked, func(en *entry) bool { return en.wakes&e.World.Happened != 0 })
	c.report.Parked = len(e.parked)
	c.tellFaults()
	return c.report
}

// Next returns the next instant at which time alone could change a decision.
func (e *Engine) Next() (time.Time, bool) {
	if e.again {
		return e.ran, true // something in the last run could help one who was tried before it happened
	}
	var next time.Time
	earlier := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	//muster:anyorder a minimum
	for _, t := range e.timers {
		earlier(t)
	}
	//muster:anyorder a minimum
	for _, t := range e.alarms {
		earlier(t)
	}
	if !e.retellAt.IsZero() {
		earlier(e.retellAt)
	}
	if at, ok := e.asked.Next(); ok {
		earlier(at)
	}
	if at, ok := e.tiers.NextAt(e.config.dismisses()); ok {
		earlier(at)
	}
	if at, ok := e.tiers.ChangesAt(); ok {
		earlier(at)
	}
	for _, o := range e.orphans {
		if o.told || o.task.Bucket != model.Waiting {
			continue
		}
		earlier(o.since.Add(e.config.OrphansAfter))
	}
	return next, !next.IsZero()
}

// Explain returns why a gang waits as things are after the last Run; false when it
// does not, or is unknown. It tries anew what a gang lacks and leaves no trace;
// where a plugin asks somebody outside, it returns what was last told instead.
func (e *Engine) Explain(gang string) (reason.Reason, bool) {
	en := e.entries[e.World.GangOf(gang)]
	if en == nil {
		return reason.Reason{}, false
	}
	why := en.why
	if en.gang.Known {
		why = e.reconsider(en)
	}
	if why == nil {
		return reason.Reason{}, false
	}
	return *why, true
}

// Heard is what plugins were answered by servers outside in the last Run, by name, for a recording.
func (e *Engine) Heard() (map[string]json.RawMessage, error) { return e.tiers.Heard() }

// Recall has plugins ask nobody, and take what was heard in a Run for what they are
// answered in the next.
func (e *Engine) Recall(heard map[string]json.RawMessage) error { return e.tiers.Recall(heard) }

// StatusOf returns how far a gang has come, as last told; false when there is no such gang.
func (e *Engine) StatusOf(gang string) (Status, bool) {
	g := e.World.GangOf(gang)
	if g == nil || !g.Known || e.entries[g] == nil {
		return Status{}, false
	}
	return e.entries[g].last, true
}

// Figures are what takes a look at every gang and queue, so that it is made when somebody asks.
type Figures struct {
	Shares []GangShare
	Real   []RealCapacity
}

// GangShare is the greatest share that a gang's tasks take of any resource of the cluster.
type GangShare struct {
	Gang  string
	Share float64
}

// RealCapacity is how much of a resource a queue can come to at most: its ceiling and those
// above it, and what the cluster has, less what is guaranteed to others.
type RealCapacity struct {
	Queue, Resource string
	Amount          int64
}

// Figures looks at every gang and queue as things are after the last Run.
func (e *Engine) Figures() Figures {
	var f Figures
	pods := e.World.Resources.Dim(resource.Pods)
	for g := range e.World.Gangs() {
		s := quota.ShareOf(g.Used, e.World.Total, func(dim int) bool { return dim != pods })
		if g.Known && s.Used > 0 {
			f.Shares = append(f.Shares, GangShare{g.Key, s.Float()})
		}
	}
	for d := range e.World.Resources.Len() {
		if e.total.At(d) <= 0 {
			continue
		}
		for id, most := range e.World.Quota.Real(d, e.total.At(d)) {
			if q := e.World.Queues()[id]; q.Known {
				f.Real = append(f.Real, RealCapacity{q.Name, e.World.Resources.Name(d), most})
			}
		}
	}
	return f
}

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
