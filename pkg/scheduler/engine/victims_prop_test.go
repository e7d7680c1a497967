package engine_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for i := range rapid.IntRange(1, 5).Draw(t, "queues") {
		q := smallQueue{parent: rapid.IntRange(-1, i-1).Draw(t, "parent"), ceiling: -1, guarantee: rapid.Int64Range(0, 2).Draw(t, "guarantee")}
		if rapid.IntRange(0, 3).Draw(t, "capped") == 0 {
			q.ceiling = rapid.Int64Range(q.guarantee, 9).Draw(t, "ceiling")
		}
		f.queues = append(f.queues, q)
		f.deserves = append(f.deserves, rapid.Int64Range(0, 5).Draw(t, "deserved"))
		f.kept = append(f.kept, rapid.IntRange(0, 4).Draw(t, "kept") == 0)
		spec := model.QueueSpec{Name: fmt.Sprintf("q%d", i), Guarantee: gpus(q.guarantee), Deserved: gpus(f.deserves[i]), Reclaimable: !f.kept[i]}
		if q.parent >= 0 {
			spec.Parent = fmt.Sprintf("q%d", q.parent)
		}
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
	if rapid.IntRange(0, 2).Draw(t, "parted") == 0 {
		g.rings, g.size = rapid.IntRange(0, 2).Draw(t, "rings"), rapid.IntRange(1, 2).Draw(t, "size")
	}
	f.gangs = append(f.gangs, g)
	for range rapid.IntRange(0, min(most, 4)).Draw(t, "tasks") {
		task := smallTask{ask: [2]int64{rapid.Int64Range(0, 3).Draw(t, "gpu"), rapid.Int64Range(0, 3).Draw(t, "cpu")}, node: -1}
		if g.size > 0 {
			task.ring = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "ring")
		}
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
	if g.size > 0 {
		spec.SubGroups = []model.SubGroup{{Name: "rings", By: []string{"ring"}, Size: int32(g.size), Least: int32(g.rings)}}
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
		Pod:   &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"ring": task.ring}}},
	}
	if task.node >= 0 {
		s.Node = fmt.Sprintf("n%d", task.node)
	}
	return s
}

// place is a task by gang and number.
type place struct{ gang, task int }

// leaving is victims as they leave together: one task, or all of a gang.
type leaving struct {
	tasks []place
	gang  int
	whole bool // the gang is broken by it
	gpus  int64
}

// units divides victims as they leave: a gang that loses all is one.
func (f *full) units(victims []place) (units []leaving, lawful bool) {
	by := make([][]place, len(f.gangs))
	for _, v := range victims {
		by[v.gang] = append(by[v.gang], v)
	}
	for i, list := range by {
		g := &f.gangs[i]
		switch broken := !g.without(nil); {
		case len(list) == 0:
		case broken || g.without(list):
			for _, some := range g.parts(i) {
				switch n := overlap(some, list); {
				case n == len(some):
					units = append(units, leaving{tasks: some, gang: i, gpus: f.gpus(some)})
				case n > 0:
					return nil, false
				}
			}
		case len(list) == len(g.tasks):
			units = append(units, leaving{tasks: list, gang: i, whole: true, gpus: f.gpus(list)})
		default:
			return nil, false
		}
	}
	return units, true
}

func overlap(a, b []place) (n int) {
	for _, v := range a {
		if slices.Contains(b, v) {
			n++
		}
	}
	return n
}

// without says whether a gang that runs has its minimum when some of it are gone.
func (g *smallGang) without(gone []place) bool {
	left := *g
	left.tasks = nil
	for k, task := range g.tasks {
		if !slices.ContainsFunc(gone, func(v place) bool { return v.task == k }) {
			left.tasks = append(left.tasks, task)
		}
	}
	return left.whole()
}

// parts are the tasks of a gang as they may leave, the last first: those of a ring that has
// all it needs together.
func (g *smallGang) parts(i int) (parts [][]place) {
	rings := map[string]int{}
	for _, task := range g.tasks {
		rings[task.ring]++
	}
	at := map[string]int{}
	for k, task := range slices.Backward(g.tasks) {
		n, begun := at[task.ring]
		if g.size > 0 && rings[task.ring] >= g.size && begun {
			parts[n] = append(parts[n], place{i, k})
			continue
		}
		at[task.ring] = len(parts)
		parts = append(parts, []place{{i, k}})
	}
	return parts
}

// lawful says whether these victims may be taken, in some order.
func (f *full) lawful(victims []place) bool {
	units, ok := f.units(victims)
	if !ok {
		return false
	}
	for _, u := range units {
		if f.protected[u.gang] {
			return false
		}
	}
	b := f.books()
	return b.inOrder(units, map[uint]bool{}, 0)
}

// books is what queues use and gangs have beyond their minimums while victims leave.
type books struct {
	*full
	used  []int64 // by queue, of its own gangs
	spare []int64 // by gang
}

func (f *full) books() *books {
	b := &books{full: f, spare: make([]int64, len(f.gangs))}
	for _, q := range f.queues {
		b.used = append(b.used, q.used)
	}
	for i := range f.gangs[:f.taker()] {
		if b.reclaims(leaving{gang: i, gpus: 1}) {
			b.spare[i] = f.beyond(i)
		}
	}
	return b
}

// inOrder says whether those of the units that are not gone may leave one after the other.
func (b *books) inOrder(units []leaving, dead map[uint]bool, gone uint) bool {
	if gone == 1<<len(units)-1 {
		return true
	}
	if dead[gone] {
		return false
	}
	for i, u := range units {
		if gone&(1<<i) != 0 || !b.gives(u) {
			continue
		}
		q, spared := b.gangs[u.gang].queue, b.spare[u.gang]
		if !u.whole {
			spared = min(spared, u.gpus)
		}
		b.used[q] -= u.gpus
		b.spare[u.gang] -= spared
		ok := b.inOrder(units, dead, gone|1<<i)
		b.used[q] += u.gpus
		b.spare[u.gang] += spared
		if ok {
			return true
		}
	}
	dead[gone] = true
	return false
}

// gives says whether a unit may be taken as things stand.
func (b *books) gives(u leaving) bool {
	if b.gangs[u.gang].queue == b.gangs[b.taker()].queue {
		return b.preempts && b.priority[u.gang] < b.priority[b.taker()]
	}
	return b.full.reclaims && u.gpus > 0 && b.reclaims(u)
}

// reclaims says whether the taker's queue deserves what it needs besides what it has, and
// that of a unit has more than it deserves, both on every level up to where they part.
func (b *books) reclaims(u leaving) bool {
	to, from := b.path(b.gangs[b.taker()].queue), b.path(b.gangs[u.gang].queue)
	for len(to) > 0 && len(from) > 0 && to[len(to)-1] == from[len(from)-1] {
		to, from = to[:len(to)-1], from[:len(from)-1]
	}
	if len(to) == 0 || len(from) == 0 {
		return false
	}
	for _, q := range to { // what left does not count: it was there
		var used int64
		for i := range b.queues {
			if slices.Contains(b.path(i), q) {
				used += b.queues[i].used
			}
		}
		if n := b.need(); n == 0 || used+n > b.deserves[q] {
			return false
		}
	}
	return !slices.ContainsFunc(from, func(q int) bool { return !b.spares(q, u) })
}

// spares says whether a queue has more than it deserves, and keeps what is guaranteed to
// it. Before a gang is broken, all goes that gangs can do without.
func (b *books) spares(q int, u leaving) bool {
	var used, spare int64
	for i := range b.queues {
		if slices.Contains(b.path(i), q) {
			used += b.used[i]
		}
	}
	for i := range b.gangs[:b.taker()] {
		if u.whole && slices.Contains(b.path(b.gangs[i].queue), q) {
			spare += b.spare[i]
		}
	}
	g := b.queues[q].guarantee
	return !b.kept[q] && (g == 0 || used-u.gpus >= g) && used-spare > b.deserves[q]
}

// path is a queue and those above it.
func (f *full) path(q int) []int {
	var path []int
	for ; q >= 0; q = f.queues[q].parent {
		path = append(path, q)
	}
	return path
}

// need is how many GPUs the taker needs.
func (f *full) need() (sum int64) {
	for _, task := range f.gangs[f.taker()].tasks {
		sum += task.ask[0]
	}
	return sum
}

func (f *full) gpus(tasks []place) (sum int64) {
	for _, v := range tasks {
		sum += f.gangs[v.gang].tasks[v.task].ask[0]
	}
	return sum
}

// beyond is how many GPUs the tasks of a gang have that it can do without, the last first.
func (f *full) beyond(i int) (sum int64) {
	g := &f.gangs[i]
	broken := !g.without(nil)
	if f.protected[i] || !broken && len(g.tasks) <= g.min {
		return 0
	}
	var gone []place
	for _, some := range g.parts(i) {
		if more := slices.Concat(gone, some); broken || g.without(more) {
			gone = more
			sum += f.gpus(some)
		}
	}
	return sum
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
			var rest []place
			for _, u := range slices.Delete(slices.Clone(units), i, i+1) {
				rest = append(rest, u.tasks...)
			}
			if f.lawful(rest) && f.helps(rest) {
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
