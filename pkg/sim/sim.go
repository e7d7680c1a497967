package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/capacity"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/proportion"
)

// Sim is an engine, its clock, and what the script said of its world.
type Sim struct {
	engine   *engine.Engine
	config   engine.Config
	registry framework.Registry
	fresh    bool // nothing was told yet
	now      time.Time
	tasks    map[string]model.TaskSpec // by UID, which is "gang/number"
	gangs    map[string]model.GangSpec
	order    []string // UIDs as they came
}

// New makes a Sim with an engine of that configuration.
func New(config engine.Config, registry framework.Registry) (*Sim, error) {
	registry = maps.Clone(registry)
	registry[capacity.Name] = capacity.Selecting(ofClass)
	e, err := engine.New(config, registry)
	if err != nil {
		return nil, err
	}
	return &Sim{
		engine: e, config: config, registry: registry, fresh: true,
		now:   time.Unix(0, 0).UTC(),
		tasks: map[string]model.TaskSpec{},
		gangs: map[string]model.GangSpec{},
	}, nil
}

// Do carries out one command and returns what it prints. Lines that are empty
// or begin with # do nothing. After each command the ledger is checked.
//
//	node NAME [cpu= memory= gpu= RESOURCE/NAME=] [labels=k:v,…] [taint=key:Effect] [cordoned]
//	plugin NAME [ARGUMENT=VALUE] [first]    adds a plugin in a tier of its own, the last or the first; before anything else
//	action NAME [ARGUMENT=VALUE]            adds an action; before anything else
//	hypernode NAME tier=N [name=TIERNAME] [nodes=NAME,…] [of=HYPERNODE,…] which nodes are near one another
//	queue NAME [RESOURCE=…] [guarantee.RESOURCE=…] [deserved.RESOURCE=…] [weight=N] [priority=N] [parent=NAME] [strict] [closed] [kept]   kept: nobody reclaims from it
//	gang NAME [min=N] [tasks=N RESOURCE=… claims=NAME,… template=NAME] [priority=N] [queue=NAME] [roles=role:min,…] [parts=label:least/size] [near=hard|soft|TIER|TIERNAME] [parts-near=…] [note=key:value,…] [select=k:v,…] [phase=P]
//	tasks GANG ROLE N [RESOURCE=…] [claims=NAME,…] [template=NAME] [select=k:v,…] [tolerate=KEY] [priority=N] [labels=k:v,…] [gated] [queue-gated] [node=NAME] [nominated=NAME]
//	claim|template NAME class=NAME [count=N] [capacity.DIMENSION=…]  for devices: shared, or one for each task
//	devices CLASS N [DIMENSION=…]           so many devices of the class there are, each with so much of its dimensions
//	pod NAME [RESOURCE=…] [node=NAME] [gated] a pod without a gang; with a node, not ours
//	gone node|queue|gang|task|claim|hypernode NAME
//	confirm [GANG]                          the API server confirms all binds
//	refuse TASK                             its binding is refused, and will be tried again
//	fail TASK                               its binding is given up
//	keep TASK                               its eviction is given up
//	run|succeed|crash|delete|ungate TASK    what became of a pod; GANG/* for all
//	usage NODE=CPU/MEMORY …                 how busy nodes are, in percent; of others nothing is known
//	after DURATION                          time goes by
//	cycle                                   prints decisions
//	restart                                 another scheduler takes over, and is told what the API server knows
//	explain GANG
func (s *Sim) Do(line string) ([]string, error) {
	line, _, _ = strings.Cut(line, "#")
	w := split(line)
	if err := w.check(); err != nil {
		return nil, err
	}
	var out []string
	var err error
	fresh := s.fresh
	s.fresh = fresh && (w.at(0) == "" || w.at(0) == "plugin" || w.at(0) == "action")
	switch w.at(0) {
	case "":
		return nil, nil
	case "plugin", "action":
		err = s.configure(w, fresh)
	case "after":
		var d time.Duration
		d, err = time.ParseDuration(w.at(1))
		s.now = s.now.Add(d)
	case "cycle":
		out = s.cycle()
	case "restart":
		err = s.restart()
	case "explain":
		out = s.explain(w.at(1))
	default:
		err = s.tell(w)
	}
	if err != nil {
		return nil, err
	}
	return out, s.engine.World.Check()
}

// tell carries out the commands that say what happened.
func (s *Sim) tell(w words) error {
	switch w.at(0) {
	case "node":
		return s.node(w)
	case "hypernode":
		return s.hyperNode(w)
	case "queue":
		return s.queue(w)
	case "gang":
		return s.gang(w)
	case "tasks":
		return s.addTasks(w)
	case "pod":
		return s.pod(w)
	case "claim", "template":
		return s.claim(w)
	case "devices":
		return s.devices(w)
	case "gone":
		return s.gone(w)
	case "usage":
		return s.usage(w)
	case "confirm":
		s.confirm(w.at(1))
		return nil
	case "refuse", "fail", "keep", "run", "succeed", "crash", "delete", "ungate":
		return s.happen(w.at(0), w.at(1))
	default:
		return fmt.Errorf("command %q is unknown", w.at(0))
	}
}

func (s *Sim) node(w words) error {
	amounts, err := w.resources()
	if err != nil {
		return err
	}
	labels, err := w.pairs("labels")
	if err != nil {
		return err
	}
	taints, err := taint(w.named["taint"])
	if err != nil {
		return err
	}
	s.engine.Apply(engine.NodeSet{Node: model.NodeSpec{
		Name: w.at(1), Labels: labels, Taints: taints, Unschedulable: w.has("cordoned"), Allocatable: amounts,
	}})
	return nil
}

// configure adds a plugin or an action to the configuration.
func (s *Sim) configure(w words, fresh bool) error {
	if !fresh {
		return fmt.Errorf("%s: write it before anything else", w.at(0))
	}
	if w.at(0) == "action" {
		made, ok := actions.Builtin()[w.at(1)]
		if !ok {
			return fmt.Errorf("action %q is unknown", w.at(1))
		}
		action, err := told(made(), w.args())
		if err != nil {
			return err
		}
		s.config.Actions = append(slices.Clone(s.config.Actions), action)
	} else {
		args := w.args()
		at := len(s.config.Tiers)
		if w.has("first") {
			at = 0
		}
		s.config.Tiers = slices.Insert(slices.Clone(s.config.Tiers), at, []engine.PluginConfig{{Name: w.at(1), Args: args}})
		if w.at(1) == capacity.Name { // of those that divide the cluster, one can decide
			s.config.Tiers = without(s.config.Tiers, proportion.Name)
		}
	}
	var err error
	s.engine, err = engine.New(s.config, s.registry)
	return err
}

// told hands an action its arguments.
func told(a engine.Action, args framework.Args) (engine.Action, error) {
	r := args.Read()
	if reads, ok := a.(engine.Reads); ok {
		a = reads.Read(r, framework.Env{})
	}
	return a, r.Err()
}

// without takes a plugin out of tiers.
func without(tiers [][]engine.PluginConfig, name string) [][]engine.PluginConfig {
	left := make([][]engine.PluginConfig, len(tiers))
	for i := range tiers {
		left[i] = slices.DeleteFunc(slices.Clone(tiers[i]), func(p engine.PluginConfig) bool { return p.Name == name })
	}
	return left
}

func (s *Sim) queue(w words) error {
	capability, err1 := w.resources()
	guarantee, err2 := w.resourcesOf("guarantee")
	deserved, err3 := w.resourcesOf("deserved")
	weight, err4 := w.number("weight")
	priority, err5 := w.number("priority")
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	spec := model.QueueSpec{
		Name: w.at(1), Parent: w.named["parent"], Weight: int32(weight), Priority: int32(priority), Strict: w.has("strict"),
		Guarantee: guarantee, Deserved: deserved, Capability: capability, Reclaimable: !w.has("kept"),
	}
	if w.has("closed") {
		spec.Closed = "Closed"
	}
	s.engine.Apply(engine.QueueSet{Queue: spec})
	return nil
}

func (s *Sim) gang(w words) error {
	roles, err := w.pairs("roles")
	if err != nil {
		return err
	}
	least, err := w.number("min")
	if err != nil {
		return err
	}
	priority, err := w.number("priority")
	if err != nil {
		return err
	}
	count, err := w.number("tasks")
	if err != nil {
		return err
	}
	g := model.GangSpec{
		Key: w.at(1), UID: w.at(1), Queue: "default", Min: int32(least), Priority: int32(priority),
		Phase: model.Phase(w.named["phase"]), Created: s.now,
	}
	if q := w.named["queue"]; q != "" {
		g.Queue = q
	}
	if g.Annotations, err = w.pairs("note"); err != nil {
		return err
	}
	if g.SubGroups, err = w.parts(); err != nil {
		return err
	}
	g.Near = w.near("near", "spec.networkTopology")
	if count == 0 {
		if g.MinResources, err = w.resources(); err != nil {
			return err
		}
	}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		n, err := amount("roles", roles[role])
		if err != nil {
			return err
		}
		g.RoleMin = append(g.RoleMin, model.RoleMin{Role: role, Min: int32(n)})
	}
	s.gangs[g.Key] = g
	s.engine.Apply(engine.GangSet{Gang: g})
	return s.make(g.Key, "", int(count), w)
}

func (s *Sim) addTasks(w words) error {
	count, err := amount("count", w.at(3))
	if err != nil {
		return err
	}
	return s.make(w.at(1), w.at(2), int(count), w)
}

// make adds count pods to a gang.
func (s *Sim) make(gang, role string, count int, w words) error {
	shape, err := shapeOf(w)
	if err != nil {
		return err
	}
	priority, err := w.number("priority")
	if err != nil {
		return err
	}
	labels, err := w.pairs("labels")
	if err != nil {
		return err
	}
	var pod *corev1.Pod
	if len(labels) > 0 {
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	}
	for range count {
		have := 0
		for _, uid := range s.order {
			if strings.HasPrefix(uid, gang+"/") {
				have++
			}
		}
		uid := fmt.Sprintf("%s/%d", gang, have)
		s.set(model.TaskSpec{
			UID: uid, Name: uid, Gang: gang, Role: role, Shape: shape, Ours: true,
			Priority: int32(priority), Gated: w.has("gated") || w.has("queue-gated"), QueueGated: w.has("queue-gated"), Node: w.named["node"], Pod: pod,
			Nominated: w.named["nominated"],
			Claims:    w.claims(uid),
		})
	}
	return nil
}

func (s *Sim) pod(w words) error {
	shape, err := shapeOf(w)
	if err != nil {
		return err
	}
	node := w.named["node"]
	s.set(model.TaskSpec{UID: w.at(1), Name: w.at(1), Shape: shape, Node: node, Ours: node == "", Gated: w.has("gated")})
	return nil
}

func (s *Sim) set(t model.TaskSpec) {
	if _, known := s.tasks[t.UID]; !known {
		s.order = append(s.order, t.UID)
	}
	s.tasks[t.UID] = t
	s.engine.Apply(engine.TaskSet{Task: t})
}

// explain prints why a gang waits.
func (s *Sim) explain(gang string) []string {
	why, ok := s.engine.Explain(gang)
	if !ok {
		return []string{gang + " does not wait"}
	}
	return []string{fmt.Sprintf("%s waits, %s: %s", gang, why.Code, why)}
}
