package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Action is one pass over the gangs that wait.
type Action interface {
	Name() string
	Run(c *Cycle)
}

// Admits marks an action that tells gangs to go ahead whose tasks do not exist yet.
// Where there is none, all are told so at once.
type Admits interface{ Admits() }

// Takes marks an action that lets gangs take the room of others, by rules. It is no pass of
// its own: others ask for it at each gang's turn, so that nobody behind it is placed
// meanwhile where its victims are or where it would go.
type Takes interface {
	Rules() []framework.Rule
	Breaks() bool // whole gangs give way, not only what they have beyond their minimums
}

// Reads marks an action that has arguments of its own: Read returns it as they say. What
// is wrong with them the reader gathers.
type Reads interface {
	Read(r *framework.Reader, env framework.Env) Action
}

// Taking is an action that lets gangs take by rules.
type Taking struct {
	Called string
	By     []framework.Rule
	Spares bool                                                    // no gang is broken
	Args   func(t *Taking, r *framework.Reader, env framework.Env) // reads what it has; nil: nothing
}

var (
	_ Action = Taking{}
	_ Takes  = Taking{}
	_ Reads  = Taking{}
)

// Name implements [Action].
func (t Taking) Name() string { return t.Called }

// Run implements [Action].
func (Taking) Run(*Cycle) {}

// Rules implements [Takes].
func (t Taking) Rules() []framework.Rule { return t.By }

// Breaks implements [Takes].
func (t Taking) Breaks() bool { return !t.Spares }

// Read implements [Reads].
func (t Taking) Read(r *framework.Reader, env framework.Env) Action {
	if t.Args != nil {
		t.Args(&t, r, env)
	}
	return t
}

// Bundles reads the arguments of actions that take for whole gangs: allowWholeBundle (true):
// when false, nobody gives more than what it has beyond its minimum. maxDomains is known
// and changes nothing.
func Bundles(t *Taking, r *framework.Reader, env framework.Env) {
	t.Spares = !r.Bool("allowWholeBundle", true)
	r.Int("maxDomains", 8, 1)
	r.Idle(env, "maxDomains", "victims are looked for among all nodes, not in one domain after the other")
}

// Dismisses marks an action that has tasks go that plugins want to go.
type Dismisses interface{ Dismisses() }

// Config says how an Engine decides.
type Config struct {
	Actions []Action // run in this order
	// Given are the arguments of those actions that have read some, by their names.
	Given   map[string]framework.Args
	Tiers   [][]PluginConfig // the plugins, first tier first
	Metrics framework.Metrics
	// NodesToScorePercent is how many nodes are scored at most when a class is first
	// placed, in percent of all, but never fewer than 100; 0: all of them. Nodes
	// that were not scored come after those that were.
	NodesToScorePercent int
	// PatienceFor is how long a gang that lacks tasks is waited for, after the
	// last sign of life, before that is called out and room promised to it is
	// given back; 0: ten seconds.
	PatienceFor time.Duration
	// OrphansAfter is how long a pod may be without a PodGroup before that is
	// called out; 0: five seconds.
	OrphansAfter time.Duration
	// Idle are words on settings that mean nothing here, for whoever wrote them.
	Idle []string
	// RetellAfter is how long the numbers of a reason may lag behind when an attempt
	// would only tell other numbers: on a busy cluster they change with every pod that
	// ends, for all who wait; 0: five seconds; below 0: for ever. Explain is never behind.
	RetellAfter time.Duration
}

// scored is how many of n nodes are scored.
func (c *Config) scored(n int) int {
	if c.NodesToScorePercent == 0 {
		return n
	}
	return max(100, (n*c.NodesToScorePercent+99)/100)
}

// admits reports whether an action tells gangs to go ahead.
func (c *Config) admits() bool {
	return slices.ContainsFunc(c.Actions, func(a Action) bool {
		_, ok := a.(Admits)
		return ok
	})
}

// dismisses reports whether an action has tasks go that plugins want to go.
func (c *Config) dismisses() bool {
	return slices.ContainsFunc(c.Actions, func(a Action) bool {
		_, ok := a.(Dismisses)
		return ok
	})
}

// rules are those by which gangs may take the room of others, in the order of the actions,
// and those of them by which no gang is broken.
func (c *Config) rules() (rules, sparing []framework.Rule) {
	var breaking []framework.Rule
	for _, a := range c.Actions {
		t, ok := a.(Takes)
		if !ok {
			continue
		}
		for _, r := range t.Rules() {
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
			if t.Breaks() {
				breaking = append(breaking, r)
			}
		}
	}
	return rules, slices.DeleteFunc(slices.Clone(rules), func(r framework.Rule) bool { return slices.Contains(breaking, r) })
}

// PluginConfig names a plugin, its arguments and what is not taken from it.
type PluginConfig struct {
	Name string
	Args framework.Args
	Off  framework.Abilities
}

// build makes the plugins of a configuration, but for those of before that go on. Its
// error names everything that is wrong.
func (c *Config) build(registry framework.Registry, env framework.Env, before *framework.Tiers) (*framework.Tiers, error) {
	var errs []error
	tiers := make([][]framework.Enabled, len(c.Tiers))
	for i, tier := range c.Tiers {
		for _, p := range tier {
			plugin, err := registry.Build(p.Name, p.Args, env)
			if err != nil {
				errs = append(errs, fmt.Errorf("tier %d: %w", i+1, err))
				continue
			}
			tiers[i] = append(tiers[i], framework.Enabled{Plugin: plugin, Off: p.Off})
		}
	}
	if len(c.Actions) == 0 {
		errs = append(errs, errors.New("actions: there are none; name at least allocate"))
	}
	if c.PatienceFor < 0 || c.OrphansAfter < 0 {
		errs = append(errs, fmt.Errorf("patienceFor %v, orphansAfter %v: a duration can't be negative", c.PatienceFor, c.OrphansAfter))
	}
	if c.NodesToScorePercent < 0 || c.NodesToScorePercent > 100 {
		errs = append(errs, fmt.Errorf("nodesToScorePercent %d: give 0 to 100", c.NodesToScorePercent))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.PatienceFor == 0 {
		c.PatienceFor = 10 * time.Second
	}
	if c.OrphansAfter == 0 {
		c.OrphansAfter = 5 * time.Second
	}
	if c.RetellAfter == 0 {
		c.RetellAfter = 5 * time.Second
	}
	if err := before.Continue(tiers); err != nil {
		return nil, err
	}
	return framework.Compose(tiers), nil
}

// Reconfigure makes the engine decide by another configuration from the next Run
// on: all filters are asked anew, and all gangs that wait are tried again. On an
// error, which names everything that is wrong, nothing changes.
func (e *Engine) Reconfigure(config Config) error {
	tiers, err := config.build(e.registry, framework.Env{Dim: e.World.Resources.Dim}, e.tiers)
	if err != nil {
		return err
	}
	tiers.OnFault, tiers.Around = e.pluginBroke, e.beginPlugin
	e.config, e.tiers = config, tiers
	e.rules, e.sparing = config.rules()
	e.faults.whole = nil
	e.World.ForgetDevices()
	for _, key := range e.objects.order {
		tiers.Learn(e.objects.known[key], false)
	}
	e.refilterAll()
	for g := range e.World.Gangs() {
		tiers.Follow(g, false)
	}
	e.retold = true
	for _, en := range e.parked {
		en.wakes |= model.GangChanged
	}
	return nil
}

// refilterAll filters and rates all nodes anew for all classes.
func (e *Engine) refilterAll() {
	for _, c := range e.World.Classes() {
		if c != nil {
			c.Ratings = nil
			e.filter(c, e.World.Nodes()...)
		}
	}
	e.tallies = nil
	clear(e.views)
}

// learn takes in an object that only plugins know of.
func (e *Engine) learn(ev ObjectSet) {
	o, err := meta.Accessor(ev.Object)
	if err != nil {
		return // it has no name, so nobody could ask for it
	}
	key := fmt.Sprintf("%T %s/%s", ev.Object, o.GetNamespace(), o.GetName())
	e.objects.set(key, ev)
	e.tiers.Learn(ev.Object, ev.Gone)
	if _, ok := ev.Object.(*framework.Usage); !ok { // what is new in that turns nodes
		e.World.Happened |= model.ObjectChanged
	}
}

// recount has the ledger charge for devices as plugins say.
func (e *Engine) recount() {
	for _, p := range e.tiers.Provided() {
		e.World.SetProvision(p)
	}
	changed, stock, news := e.tiers.Recount()
	if !news {
		return
	}
	for _, d := range changed {
		e.World.SetDevices(d)
	}
	e.World.SetStock(stock)
}

// objects are those that plugins were told of, for plugins to come.
type objects struct {
	known map[string]runtime.Object
	order []string // of arrival
}

func (s *objects) set(key string, ev ObjectSet) {
	if ev.Gone {
		delete(s.known, key)
		s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
		return
	}
	if _, ok := s.known[key]; !ok {
		s.order = append(s.order, key)
	}
	s.known[key] = ev.Object
}

// Facts are the events that would tell another engine all that this one knows now.
func (e *Engine) Facts() []Event {
	var facts []Event
	for _, n := range e.World.NodeFacts() {
		facts = append(facts, NodeSet{Node: n})
	}
	for _, q := range e.World.Queues() {
		if q.Known {
			facts = append(facts, QueueSet{Queue: q.QueueSpec})
		}
	}
	for _, key := range e.objects.order {
		facts = append(facts, ObjectSet{Object: e.objects.known[key]})
	}
	for _, g := range e.World.GangFacts() {
		facts = append(facts, GangSet{Gang: g})
	}
	for _, t := range e.World.TaskFacts() {
		facts = append(facts, TaskSet{Task: t})
	}
	return facts
}
