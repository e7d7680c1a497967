// Package engine is the scheduler's core: facts in, decisions out. It starts no
// goroutine, reads no clock, logs nothing and keeps no globals; the same events
// and the same configuration give the same decisions, byte for byte.
//
// Use it from one goroutine: [Engine.Apply] what happened, [Engine.Run] when an
// event came or the instant of [Engine.Next] is reached, carry out the decisions
// of the report, and Apply what came of each.
package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Action is one pass over the gangs that wait.
type Action interface {
	Name() string
	Run(c *Cycle)
}

// Config says how an Engine decides.
type Config struct {
	Actions []Action         // run in this order
	Tiers   [][]PluginConfig // the plugins, first tier first
	// PatienceFor is how long a gang that lacks tasks is waited for, after the
	// last sign of life, before that is called out and room promised to it is
	// given back; 0: ten seconds.
	PatienceFor time.Duration
	// OrphansAfter is how long a pod may be without a PodGroup before that is
	// called out; 0: five seconds.
	OrphansAfter time.Duration
}

// PluginConfig names a plugin, its arguments and what is not taken from it.
type PluginConfig struct {
	Name string
	Args framework.Args
	Off  framework.Abilities
}

// Engine decides. Only one goroutine may use it.
type Engine struct {
	World *model.World

	config  Config
	tiers   *framework.Tiers
	causes  causes
	stats   []classStat // by class
	entries map[*model.Gang]*entry
	parked  []*entry
	orphans []*orphan            // in order of arrival
	adopted map[*model.Task]bool // the tasks in orphans
	ran     time.Time            // the last Run's
	timers  map[*entry]time.Time // when patience with a gang ends
	alarms  map[*entry]time.Time // when a gang is to be tried whatever happens
	total   resource.Vector      // what the cluster has for queues, in this run
	ranking ranking
	ranked  []*domain // memory used again
	// stale says that the numbers of some reasons may have changed; they are told anew at retellAt.
	stale    bool
	again    bool // another run would try somebody now
	retellAt time.Time
}

// New makes an Engine. Its error names everything that is wrong with the configuration.
func New(config Config, registry framework.Registry) (*Engine, error) {
	world := model.New()
	env := framework.Env{Dim: world.Resources.Dim}
	var errs []error
	tiers := make([][]framework.Enabled, len(config.Tiers))
	for i, tier := range config.Tiers {
		for _, p := range tier {
			plugin, err := registry.Build(p.Name, p.Args, env)
			if err != nil {
				errs = append(errs, fmt.Errorf("tier %d: %w", i+1, err))
				continue
			}
			tiers[i] = append(tiers[i], framework.Enabled{Plugin: plugin, Off: p.Off})
		}
	}
	if len(config.Actions) == 0 {
		errs = append(errs, errors.New("actions: there are none; name at least allocate"))
	}
	if config.PatienceFor < 0 || config.OrphansAfter < 0 {
		errs = append(errs, fmt.Errorf("patienceFor %v, orphansAfter %v: a duration can't be negative", config.PatienceFor, config.OrphansAfter))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if config.PatienceFor == 0 {
		config.PatienceFor = 10 * time.Second
	}
	if config.OrphansAfter == 0 {
		config.OrphansAfter = 5 * time.Second
	}
	return &Engine{
		World:   world,
		config:  config,
		tiers:   framework.Compose(tiers),
		causes:  newCauses(),
		entries: map[*model.Gang]*entry{},
		adopted: map[*model.Task]bool{},
		timers:  map[*entry]time.Time{},
		alarms:  map[*entry]time.Time{},
	}, nil
}

// Run decides on everything that may have changed since the last Run.
func (e *Engine) Run(now time.Time) Report {
	c := &Cycle{engine: e, World: e.World, Now: now}
	e.ran = now
	e.filterNewClasses()
	e.losePatience(now)
	e.total = append(e.total[:0], e.World.Total...)
	e.total.Add(e.World.Foreign, -1)
	c.changed = e.takeChanged()
	e.tiers.Begin(e.World, now)
	c.waiting = e.wake(now)
	for _, a := range e.config.Actions {
		a.Run(c)
	}
	e.callOutOrphans(c)
	c.park()
	c.tellStatus()
	e.World.Commit()
	e.again = slices.ContainsFunc(e.parked, func(en *entry) bool { return en.wakes&e.World.Happened != 0 })
	c.report.Parked = len(e.parked)
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
	if e.stale {
		earlier(e.retellAt)
	}
	for _, o := range e.orphans {
		if o.told || o.task.Bucket != model.Waiting {
			continue
		}
		earlier(o.since.Add(e.config.OrphansAfter))
	}
	return next, !next.IsZero()
}

// Explain returns why a gang waits; false when it does not, or is unknown.
func (e *Engine) Explain(gang string) (reason.Reason, bool) {
	g := e.World.GangOf(gang)
	if g == nil || e.entries[g] == nil || e.entries[g].why == nil {
		return reason.Reason{}, false
	}
	en := e.entries[g]
	if en.stale && g.Known {
		en.why = new(e.reconsider(g, *en.why))
	}
	return *en.why, true
}
