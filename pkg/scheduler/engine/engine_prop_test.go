package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

var start = time.Unix(1_000_000, 0)

func newEngine(t interface{ Fatal(...any) }) *engine.Engine {
	return withGuest(t, conf.Default(), nil)
}

// withGuest is an engine of a configuration, with one more plugin that has a tier of
// its own; nil: none.
func withGuest(t interface{ Fatal(...any) }, config engine.Config, guest framework.Plugin) *engine.Engine {
	registry := plugins.Builtin()
	if guest != nil {
		registry[guest.Name()] = func(framework.Args, framework.Env) (framework.Plugin, error) { return guest, nil }
		config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: guest.Name()}})
	}
	e, err := engine.New(config, registry)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func gpus(n int64) resource.List { return resource.ListOf(map[string]int64{"gpu": n}) }

func node(i int, gpu int64) engine.Event {
	return engine.NodeSet{Node: model.NodeSpec{Name: fmt.Sprintf("n%d", i), Allocatable: gpus(gpu)}}
}

func gang(key string, least int32, queue string) engine.Event {
	return engine.GangSet{Gang: model.GangSpec{Key: key, UID: key, Queue: queue, Min: least, Created: start}}
}

func task(gang string, i int, gpu int64, on string) engine.TaskSet {
	return engine.TaskSet{Task: model.TaskSpec{
		UID: fmt.Sprintf("%s/%d", gang, i), Name: fmt.Sprintf("%s/%d", gang, i), Gang: gang, Ours: true, Node: on,
		Shape: model.Shape{Key: fmt.Sprint(gpu), Requests: gpus(gpu)},
	}}
}

// history draws events as a cluster might have them, in an order that may make
// little sense: pods before groups, groups without queues, nodes that go.
func history(t *rapid.T) []engine.Event {
	events := []engine.Event{engine.QueueSet{Queue: model.QueueSpec{Name: "q0", Capability: gpus(12)}}}
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		i := rapid.IntRange(0, 4).Draw(t, "which")
		g := fmt.Sprintf("g%d", i)
		k := rapid.IntRange(0, 4).Draw(t, "task")
		var ev engine.Event
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0, 1:
			ev = node(i, rapid.Int64Range(0, 8).Draw(t, "size"))
		case 2:
			ev = engine.NodeGone{Name: fmt.Sprintf("n%d", i)}
		case 3, 4:
			ev = gang(g, rapid.Int32Range(0, 4).Draw(t, "min"), fmt.Sprintf("q%d", rapid.IntRange(0, 1).Draw(t, "queue")))
		case 5:
			ev = engine.GangGone{Key: g, UID: g}
		case 6:
			ev = engine.TaskGone{UID: fmt.Sprintf("%s/%d", g, k)}
		case 7:
			ev = engine.QueueGone{Name: fmt.Sprintf("q%d", i%2)}
		case 8:
			ev = engine.QueueSet{Queue: model.QueueSpec{Name: fmt.Sprintf("q%d", i%3), Capability: gpus(12), Parent: []string{"", "q2"}[i/2%2]}}
		case 9:
			there := task(g, k, 1, fmt.Sprintf("n%d", rapid.IntRange(0, 6).Draw(t, "on")))
			there.Task.Ended = model.Ended(rapid.IntRange(0, 2).Draw(t, "ended"))
			ev = there
		default:
			waits := task(g, k, rapid.Int64Range(1, 5).Draw(t, "ask"), "")
			waits.Task.Nominated = rapid.SampledFrom([]string{"", "", "n0", "n1", "nowhere"}).Draw(t, "nominated")
			ev = waits
		}
		events = append(events, ev)
	}
	return events
}

func TestALedgerAlwaysAddsUpAndNoGangIsHalfPlaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEngine(t)
		now := start
		for _, ev := range history(t) {
			e.Apply(ev)
			if rapid.IntRange(0, 2).Draw(t, "run") != 0 {
				continue
			}
			now = now.Add(time.Second)
			bound, filled := map[string]int32{}, map[string]bool{}
			report := e.Run(now)
			for _, d := range report.Decisions {
				if b, ok := d.(engine.Bind); ok {
					bound[b.Gang]++
					filled[b.Node] = true
				}
			}
			used := e.World.Quota.Used(0).At(e.World.Resources.Dim("gpu"))
			for key := range bound {
				g := e.World.GangOf(key)
				if !g.Whole() {
					t.Fatalf("gang %s was given %d tasks and has %d of %d", key, bound[key], g.Counts.Held(), g.Min)
				}
				if g.Queue.Name == "q0" && used > 12 { // a gang may move in with more, but then nothing is added
					t.Fatalf("queue q0 was charged a task and uses %d of 12", used)
				}
			}
			if err := e.World.Check(); err != nil {
				t.Fatal(err)
			}
			for _, n := range e.World.Nodes() {
				for d, free := range n.Free { // a pod may grow where it is, but nothing is put where there is no room
					free += n.Claimed.At(d) // a claim may be for room that others are yet to give back
					if filled[n.Name] && free < 0 {
						t.Fatalf("node %s was given a task and has %d free", n.Name, free)
					}
				}
			}
		}
	})
}

func TestEqualEventsGiveEqualDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := history(t)
		a, b := newEngine(t), newEngine(t)
		for i, ev := range events {
			a.Apply(ev)
			b.Apply(ev)
			if i%7 == 0 {
				if diff := cmp.Diff(a.Run(start), b.Run(start)); diff != "" {
					t.Fatalf("after event %d:\n%s", i, diff)
				}
			}
		}
	})
}

// fitsAtAll is the oracle: it tries every way to put tasks of the given sizes on nodes.
func fitsAtAll(tasks, free []int64) bool {
	if len(tasks) == 0 {
		return true
	}
	for i := range free {
		if free[i] >= tasks[0] {
			free[i] -= tasks[0]
			ok := fitsAtAll(tasks[1:], free)
			free[i] += tasks[0]
			if ok {
				return true
			}
		}
	}
	return false
}

func TestAGangOfEqualTasksIsPlacedExactlyWhenItCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEngine(t)
		e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
		free := rapid.SliceOfN(rapid.Int64Range(0, 9), 1, 4).Draw(t, "nodes")
		for i, n := range free {
			e.Apply(node(i, n))
		}
		ask := rapid.Int64Range(1, 5).Draw(t, "ask")
		count := rapid.IntRange(1, 6).Draw(t, "tasks")
		e.Apply(gang("g", int32(count), "q"))
		tasks := make([]int64, count)
		for i := range tasks {
			tasks[i] = ask
			e.Apply(task("g", i, ask, ""))
		}
		report := e.Run(start)
		if want := fitsAtAll(tasks, free); (report.Placed == count) != want {
			t.Fatalf("placed %d of %d, the oracle says it fits: %v", report.Placed, count, want)
		}
	})
}

// TestTheExplanationIsRight does what the explanation asks for and sees the gang placed.
func TestTheExplanationIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEngine(t)
		ceiling := rapid.Int64Range(1, 30).Draw(t, "ceiling")
		e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q", Capability: gpus(ceiling)}})
		for i, n := range rapid.SliceOfN(rapid.Int64Range(1, 8), 1, 4).Draw(t, "nodes") {
			e.Apply(node(i, n))
		}
		ask := rapid.Int64Range(1, 8).Draw(t, "ask")
		count := rapid.IntRange(1, 6).Draw(t, "tasks")
		e.Apply(gang("g", int32(count), "q"))
		for i := range count {
			e.Apply(task("g", i, ask, ""))
		}
		placed := e.Run(start).Placed
		for step := 0; placed == 0; step++ {
			why, ok := e.Explain("g")
			if !ok || step > 3 {
				t.Fatalf("not placed, and after %d steps: %v %v", step, ok, why)
			}
			switch why.Code {
			case reason.QueueCapability:
				var short int64
				if _, err := fmt.Sscan(why.Short[0].Short, &short); err != nil {
					t.Fatal(err)
				}
				ceiling += short
				e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q", Capability: gpus(ceiling)}})
			case reason.NotEnoughNodes, reason.NeverFits:
				for i := range why.Need - why.Room {
					e.Apply(node(100*(step+1)+int(i), ask))
				}
			default:
				t.Fatalf("unexpected reason %v", why)
			}
			placed = e.Run(start).Placed
		}
		if placed != count {
			t.Fatalf("placed %d of %d", placed, count)
		}
	})
}

func TestAParkedGangIsNotTriedAgainForNothing(t *testing.T) {
	e := newEngine(t)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 8), gang("g", 2, "q"), task("g", 0, 8, ""), task("g", 1, 8, ""))
	if got := e.Run(start).Tried; got != 1 {
		t.Fatalf("tried %d gangs, want 1", got)
	}
	e.Apply(node(0, 8), gang("g", 2, "q"), task("g", 0, 8, ""))
	if got := e.Run(start); got.Tried != 0 || len(got.Decisions) != 0 {
		t.Errorf("news that is none woke the gang: %+v", got)
	}
	e.Apply(node(1, 8))
	if got := e.Run(start).Placed; got != 2 {
		t.Errorf("a new node: placed %d, want 2", got)
	}
}

func TestAConfigurationNamesAllItsFaults(t *testing.T) {
	config := conf.Default()
	config.PatienceFor = -1
	config.Tiers = append(config.Tiers, []engine.PluginConfig{
		{Name: "binpak"},
		{Name: "binpack", Args: map[string]any{"binpack.cpu": "x", "weight": "1"}},
	})
	_, err := engine.New(config, plugins.Builtin())
	want := `tier 3: plugin "binpak" is unknown; did you mean "binpack"?
tier 3: plugin "binpack": argument binpack.cpu is "x": give a whole number of 0 or more
argument "weight" is unknown; there are binpack.cpu, binpack.resources, binpack.weight
patienceFor -1ns, orphansAfter 0s: a duration can't be negative`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
