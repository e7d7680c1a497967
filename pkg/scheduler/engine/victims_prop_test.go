package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/reclaim"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// full is a small world in which gangs run already, and one that comes needs their room.
type full struct {
	small
	priority  []int   // of gangs
	deserves  []int64 // GPUs, by queue
	kept      []bool  // by queue: nobody reclaims from it
	preempts  bool
	reclaims  bool
	engine    *engine.Engine
	protected []bool // by gang
}

func (f *full) taker() int { return len(f.gangs) - 1 }

// takingConfig divides the cluster as queues say.
func takingConfig(f *full) engine.Config {
	config := without(conf.Default(), "proportion")
	config = without(config, "drf")
	config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: "capacity"}})
	config.Actions = slices.Clone(config.Actions)
	if f.preempts {
		config.Actions = append(config.Actions, preempt.New())
	}
	if f.reclaims {
		config.Actions = append(config.Actions, reclaim.New())
	}
	return config
}

func drawFull(t *rapid.T) *full {
	f := &full{preempts: rapid.Bool().Draw(t, "preempts")}
	f.reclaims = !f.preempts || rapid.Bool().Draw(t, "reclaims")
	e := withGuest(t, takingConfig(f), nil)
	f.engine = e
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		size := [2]int64{rapid.Int64Range(1, 5).Draw(t, "gpus"), rapid.Int64Range(1, 6).Draw(t, "cpus")}
		f.nodes = append(f.nodes, size)
		f.specs = append(f.specs, model.NodeSpec{Name: fmt.Sprintf("n%d", i), Allocatable: amounts(size)})
		f.groups = append(f.groups, "")
		e.Apply(engine.NodeSet{Node: f.specs[i]})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "queues") {
		q := smallQueue{parent: -1, ceiling: -1, guarantee: rapid.Int64Range(0, 2).Draw(t, "guarantee")}
		if rapid.IntRange(0, 3).Draw(t, "capped") == 0 {
			q.ceiling = rapid.Int64Range(q.guarantee, 9).Draw(t, "ceiling")
		}
		f.queues = append(f.queues, q)
		f.deserves = append(f.deserves, rapid.Int64Range(0, 5).Draw(t, "deserved"))
		f.kept = append(f.kept, rapid.IntRange(0, 4).Draw(t, "kept") == 0)
		spec := model.QueueSpec{Name: fmt.Sprintf("q%d", i), Guarantee: gpus(q.guarantee), Deserved: gpus(f.deserves[i]), Reclaimable: !f.kept[i]}
		f.deserves[i] = max(f.deserves[i], q.guarantee)
		if q.ceiling >= 0 {
			spec.Capability = gpus(q.ceiling)
			f.deserves[i] = min(f.deserves[i], q.ceiling)
		}
		e.Apply(engine.QueueSet{Queue: spec})
	}
	gangs := rapid.IntRange(1, 5).Draw(t, "gangs")
	for i, tasks := 0, 0; i < gangs; i++ {
		tasks += f.drawRunning(t, i, 7-tasks)
	}
	f.drawTaker(t)
	return f
}

// drawRunning draws a gang whose tasks have their nodes, of at most so many tasks.
func (f *full) drawRunning(t *rapid.T, i, most int) int {
	g := smallGang{queue: rapid.IntRange(0, len(f.queues)-1).Draw(t, "queue")}
	f.gangs = append(f.gangs, g)
	for range rapid.IntRange(0, min(most, 4)).Draw(t, "tasks") {
		task := smallTask{ask: [2]int64{rapid.Int64Range(0, 3).Draw(t, "gpu"), rapid.Int64Range(0, 3).Draw(t, "cpu")}, node: -1}
		n := rapid.IntRange(0, len(f.nodes)-1).Draw(t, "node")
		if f.nodes[n][0] < task.ask[0] || f.nodes[n][1] < task.ask[1] {
			continue
		}
		f.gangs[i].tasks = append(f.gangs[i].tasks, task)
		f.put(&f.gangs[i], len(f.gangs[i].tasks)-1, n)
	}
	f.gangs[i].min = rapid.IntRange(0, len(f.gangs[i].tasks)).Draw(t, "min")
	f.tell(t, i)
	return len(f.gangs[i].tasks)
}

func (f *full) drawTaker(t *rapid.T) {
	g := smallGang{queue: rapid.IntRange(0, len(f.queues)-1).Draw(t, "queue")}
	alike := rapid.Bool().Draw(t, "alike")
	for k := range rapid.IntRange(1, 3).Draw(t, "tasks") {
		task := smallTask{ask: [2]int64{rapid.Int64Range(0, 4).Draw(t, "gpu"), rapid.Int64Range(0, 3).Draw(t, "cpu")}, node: -1}
		if alike && k > 0 {
			task.ask = g.tasks[0].ask
		}
		g.tasks = append(g.tasks, task)
	}
	g.min = len(g.tasks)
	f.gangs = append(f.gangs, g)
	f.tell(t, len(f.gangs)-1)
}

// tell tells the engine of a gang.
func (f *full) tell(t *rapid.T, i int) {
	g := &f.gangs[i]
	f.priority = append(f.priority, rapid.IntRange(0, 2).Draw(t, "priority"))
	f.protected = append(f.protected, rapid.IntRange(0, 6).Draw(t, "protected") == 0)
	spec := model.GangSpec{Key: fmt.Sprintf("g%d", i), UID: fmt.Sprintf("g%d", i), Queue: fmt.Sprintf("q%d", g.queue), Min: int32(g.min), Priority: int32(f.priority[i]), Created: start}
	if f.protected[i] {
		spec.Annotations = map[string]string{"volcano.sh/preemptable": "false"}
	}
	f.engine.Apply(engine.GangSet{Gang: spec})
	for k := range g.tasks {
		f.engine.Apply(engine.TaskSet{Task: f.spec(i, k)})
	}
}

func (f *full) spec(i, k int) model.TaskSpec {
	uid, task := fmt.Sprintf("g%d/%d", i, k), f.gangs[i].tasks[k]
	s := model.TaskSpec{
		UID: uid, Name: uid, Gang: fmt.Sprintf("g%d", i), Role: "0", Ours: true,
		Shape: model.Shape{Key: fmt.Sprint(task.ask), Requests: resource.ListOf(map[string]int64{"gpu": task.ask[0], "cpu": task.ask[1]})},
	}
	if task.node >= 0 {
		s.Node = fmt.Sprintf("n%d", task.node)
	}
	return s
}

// place is a task by gang and number.
type place struct{ gang, task int }

// units divides victims as they leave: a gang that loses all is one.
func (f *full) units(victims []place) (units [][]place, lawful bool) {
	by := make([][]place, len(f.gangs))
	for _, v := range victims {
		by[v.gang] = append(by[v.gang], v)
	}
	for i, list := range by {
		left := len(f.gangs[i].tasks) - len(list)
		switch broken := len(f.gangs[i].tasks) < f.gangs[i].min; {
		case len(list) == 0:
		case left >= f.gangs[i].min || broken:
			for _, v := range list {
				units = append(units, []place{v})
			}
		case left == 0:
			units = append(units, list)
		default:
			return nil, false
		}
	}
	return units, true
}

// lawful says whether these victims may be taken, in some order.
func (f *full) lawful(victims []place) bool {
	units, ok := f.units(victims)
	if !ok {
		return false
	}
	gives := make([][][]place, len(f.queues))
	for _, u := range units {
		i := u[0].gang
		q := f.gangs[i].queue
		switch {
		case f.protected[i]:
			return false
		case q == f.gangs[f.taker()].queue:
			if !f.preempts || f.priority[i] >= f.priority[f.taker()] {
				return false
			}
		case !f.reclaims || f.kept[q] || f.gpus(u) == 0:
			return false
		default:
			gives[q] = append(gives[q], u)
		}
	}
	for q := range gives {
		if len(gives[q]) > 0 && (!f.deserved() || !f.gives(q, gives[q])) {
			return false
		}
	}
	return true
}

// deserved says whether the taker's queue deserves what it needs besides what it has.
func (f *full) deserved() bool {
	me := f.gangs[f.taker()]
	var need int64
	for _, task := range me.tasks {
		need += task.ask[0]
	}
	return need > 0 && f.queues[me.queue].used+need <= f.deserves[me.queue]
}

func (f *full) gpus(tasks []place) (sum int64) {
	for _, v := range tasks {
		sum += f.gangs[v.gang].tasks[v.task].ask[0]
	}
	return sum
}

// beyond is how many GPUs the tasks of a gang have that it can do without, the last first.
func (f *full) beyond(i int) (sum int64) {
	g := f.gangs[i]
	if f.protected[i] {
		return 0
	}
	first := g.min
	if len(g.tasks) < g.min {
		first = 0
	}
	for _, task := range g.tasks[first:] {
		sum += task.ask[0]
	}
	return sum
}

// gives says whether a queue may give units to another: each while it has more than it
// deserves, a whole gang while it has that without all that gangs have beyond their minimum.
func (f *full) gives(q int, units [][]place) bool {
	used, spare := f.queues[q].used, map[int]int64{}
	for i := range f.gangs[:f.taker()] {
		if f.gangs[i].queue == q {
			spare[i] = f.beyond(i)
		}
	}
	var singles, wholes [][]place
	for _, u := range units {
		if g := f.gangs[u[0].gang]; g.min > 0 && len(g.tasks) >= g.min && len(u) == len(g.tasks) {
			wholes = append(wholes, u)
		} else {
			singles = append(singles, u)
		}
	}
	slices.SortFunc(singles, func(a, b []place) int { return int(f.gpus(a) - f.gpus(b)) })
	for _, u := range singles {
		if used <= f.deserves[q] {
			return false
		}
		used -= f.gpus(u)
		spare[u[0].gang] = max(0, spare[u[0].gang]-f.gpus(u))
	}
	core := func(u []place) int64 { return f.gpus(u) - f.beyond(u[0].gang) }
	slices.SortFunc(wholes, func(a, b []place) int { return int(core(a) - core(b)) })
	for _, u := range wholes {
		left := used
		for _, n := range spare {
			left -= n
		}
		if left <= f.deserves[q] {
			return false
		}
		used -= f.gpus(u)
		spare[u[0].gang] = 0
	}
	return f.queues[q].guarantee == 0 || used >= f.queues[q].guarantee
}

// helps says whether the taker could run without the victims.
func (f *full) helps(victims []place) bool {
	at := make([]int, len(victims))
	for i, v := range victims {
		at[i] = f.gangs[v.gang].tasks[v.task].node
		f.unput(&f.gangs[v.gang], v.task)
	}
	defer func() {
		for i, v := range victims {
			f.put(&f.gangs[v.gang], v.task, at[i])
		}
	}()
	return f.couldRun(&f.gangs[f.taker()], 0)
}

// any finds victims that may be taken and would help; nil when there are none.
func (f *full) any() []place {
	var all []place
	for i := range f.gangs[:f.taker()] {
		for k := range f.gangs[i].tasks {
			all = append(all, place{i, k})
		}
	}
	for set := 1; set < 1<<len(all); set++ {
		var victims []place
		for b, v := range all {
			if set&(1<<b) != 0 {
				victims = append(victims, v)
			}
		}
		if f.lawful(victims) && f.helps(victims) {
			return victims
		}
	}
	return nil
}

func TestVictimsAreFoundWhereThereAreAnyAndAllAreNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFull(t)
		var victims []place
		placed := false
		for _, d := range f.engine.Run(start).Decisions {
			switch d := d.(type) { //nolint:gochecksumtype // the others tell why
			case engine.Evict:
				var v place
				_, _ = fmt.Sscanf(d.Name, "g%d/%d", &v.gang, &v.task)
				victims = append(victims, v)
			case engine.Bind:
				placed = true
			}
		}
		if err := f.engine.World.Check(); err != nil {
			t.Fatal(err)
		}
		if victims == nil {
			if found := f.any(); !placed && found != nil {
				t.Fatalf("%v could give way, and nobody does: %+v", found, f)
			}
			return
		}
		if !f.lawful(victims) || !f.helps(victims) {
			t.Fatalf("victims %v: lawful %v, they help %v: %+v", victims, f.lawful(victims), f.helps(victims), f)
		}
		units, _ := f.units(victims)
		for i := range units {
			if rest := slices.Concat(slices.Delete(slices.Clone(units), i, i+1)...); f.lawful(rest) && f.helps(rest) {
				t.Fatalf("of %v, %v could be spared: %+v", victims, units[i], f)
			}
		}
		f.depart(t, victims)
	})
}

// depart lets the victims go, and sees the taker placed in what they leave.
func (f *full) depart(t *rapid.T, victims []place) {
	for _, v := range victims {
		f.engine.Apply(engine.TaskGone{UID: fmt.Sprintf("g%d/%d", v.gang, v.task)})
	}
	bound := 0
	for _, d := range f.engine.Run(start).Decisions {
		if b, ok := d.(engine.Bind); ok && b.Gang == fmt.Sprintf("g%d", f.taker()) {
			bound++
		}
	}
	if bound != len(f.gangs[f.taker()].tasks) {
		t.Fatalf("%d of %d tasks are placed when all victims are gone: %+v", bound, len(f.gangs[f.taker()].tasks), f)
	}
	if err := f.engine.World.Check(); err != nil {
		t.Fatal(err)
	}
}
