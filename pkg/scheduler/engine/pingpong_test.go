package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/reclaim"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// greedy is queues that always want more than there is: whoever has to go comes back at
// once, and wants all it had.
type greedy struct {
	*engine.Engine
	config  engine.Config
	now     time.Time
	sizes   map[string]int    // of gangs
	made    map[string]int    // pods so far
	evicted map[string]int    // gangs, in how many plans
	decided []engine.Decision // in the last cycle
	took    map[string]bool   // gangs for whose deadlines others went
	served  map[string]bool   // those that were placed after that
	swapped []engine.Evict    // for others of their gangs
}

func newGreedy(t interface{ Fatal(...any) }, plugin string, nodes, size int) *greedy {
	config := conf.Default()
	if plugin != "proportion" {
		config = without(config, "proportion")
		config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: plugin}})
	}
	config.Actions = append(slices.Clone(config.Actions), preempt.New(), reclaim.New())
	g := &greedy{
		Engine: withGuest(t, config, nil), config: config, now: start,
		sizes: map[string]int{}, made: map[string]int{}, evicted: map[string]int{}, took: map[string]bool{}, served: map[string]bool{},
	}
	for i := range nodes {
		g.Apply(node(i, int64(size)))
	}
	return g
}

func (g *greedy) add(key, queue string, least, tasks int, priority int32) {
	g.submit(model.GangSpec{Key: key, UID: key, Queue: queue, Min: int32(least), Priority: priority, Created: start}, tasks)
}

func (g *greedy) submit(spec model.GangSpec, tasks int) {
	g.sizes[spec.Key] = tasks
	g.Apply(engine.GangSet{Gang: spec})
	for range tasks {
		g.pod(spec.Key, 0)
	}
}

func (g *greedy) pod(gang string, priority int32) {
	pod := task(gang, g.made[gang], 1, "")
	pod.Task.Priority = priority
	g.Apply(pod)
	g.made[gang]++
}

// cycle runs the engine once and does what it says; who has to go comes back.
func (g *greedy) cycle() (evicted int) {
	g.now = g.now.Add(time.Second)
	again := map[string][]int32{} // priorities of those who have to go, by gang
	g.decided = g.Run(g.now).Decisions
	for _, d := range g.decided {
		switch d := d.(type) { //nolint:gochecksumtype // the others tell why
		case engine.Bind:
			s := g.World.TaskOf(d.UID).TaskSpec
			s.Node, s.Started = d.Node, g.now
			g.Apply(engine.TaskSet{Task: s})
		case engine.Evict:
			evicted++
			again[d.Gang] = append(again[d.Gang], g.World.TaskOf(d.UID).TaskSpec.Priority)
			if d.Why.Code == reason.Swapped {
				g.swapped = append(g.swapped, d)
			}
			g.Apply(engine.TaskGone{UID: d.UID})
		}
	}
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for key := range again {
			if !yield(key) {
				return
			}
		}
	}) {
		g.evicted[key]++
		for _, priority := range again[key] {
			g.pod(key, priority)
		}
	}
	return evicted
}

func TestTwoGreedyQueuesComeToRest(t *testing.T) {
	for _, plugin := range []string{"capacity", "proportion"} {
		t.Run(plugin, func(t *testing.T) {
			g := newGreedy(t, plugin, 4, 8)
			for _, q := range []string{"a", "b"} {
				g.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: q, Weight: 1, Deserved: gpus(16), Reclaimable: true}})
			}
			for i := range 10 {
				g.add(fmt.Sprintf("a%d", i), "a", 4, 4, 0)
			}
			for range 20 {
				g.cycle()
			}
			for i := range 10 {
				g.add(fmt.Sprintf("b%d", i), "b", 3, 3, 0)
			}
			total := 0
			for range 10_000 {
				total += g.cycle()
			}
			if total != 16 {
				t.Errorf("%d pods had to go, want the 16 that a had beyond its part", total)
			}
			for key, n := range g.evicted {
				if n > 1 {
					t.Errorf("gang %s had to go %d times", key, n)
				}
			}
		})
	}
}

// TestElasticGangsOfTwoQueuesShareThem lets a gang that took all give back, beyond its
// minimum, what another wants beyond its own; each has its part then, and keeps it.
func TestElasticGangsOfTwoQueuesShareThem(t *testing.T) {
	for _, plugin := range []string{"capacity", "proportion"} {
		t.Run(plugin, func(t *testing.T) {
			g := newGreedy(t, plugin, 4, 8)
			for _, q := range []string{"a", "b"} {
				g.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: q, Weight: 1, Deserved: gpus(16), Reclaimable: true}})
			}
			g.add("a", "a", 4, 40, 0)
			for range 20 {
				g.cycle()
			}
			g.add("b", "b", 2, 40, 0)
			total := 0
			for range 10_000 {
				total += g.cycle()
			}
			if total != 16 {
				t.Errorf("%d pods had to go, want the 16 that a had beyond its part", total)
			}
			for _, key := range []string{"a", "b"} {
				if held := g.World.GangOf(key).Counts.Held(); held != 16 {
					t.Errorf("gang %s has %d pods, want its part of 16", key, held)
				}
			}
		})
	}
}

// TestTasksOfHighPriorityTakeThePlacesThatTheirGangCanSpare has them come to a gang that
// runs with more than its minimum on a full cluster.
func TestTasksOfHighPriorityTakeThePlacesThatTheirGangCanSpare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least, tasks := rapid.IntRange(0, 6).Draw(t, "min"), rapid.IntRange(6, 8).Draw(t, "tasks")
		g := newGreedy(t, "capacity", 1, tasks)
		g.add("a", "default", least, tasks, 0)
		g.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "default", Reclaimable: true}})
		for range 3 {
			g.cycle()
		}
		come := rapid.IntRange(0, 9).Draw(t, "come")
		for range come {
			g.pod("a", 5)
		}
		for range 50 {
			g.cycle()
			if held := g.World.GangOf("a").Counts.Confirmed(); held < int32(least) {
				t.Fatalf("%d of its minimum of %d are left", held, least)
			}
		}
		high := 0
		for _, task := range g.World.GangOf("a").Tasks {
			if task.Placed() && task.TaskSpec.Priority == 5 {
				high++
			}
		}
		want := min(come, tasks)
		if tasks == least {
			want = 0 // it can spare nobody, not even for a moment
		}
		if high != want || len(g.swapped) != high {
			t.Fatalf("%d of %d have a place, in place of %d others", high, come, len(g.swapped))
		}
	})
}

func TestNobodyHasToGoTwiceWhileNothingChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plugin := rapid.SampledFrom([]string{"capacity", "proportion"}).Draw(t, "plugin")
		g := newGreedy(t, plugin, rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(1, 8).Draw(t, "size"))
		queues := rapid.IntRange(1, 3).Draw(t, "queues")
		for q := range queues {
			g.Apply(engine.QueueSet{Queue: model.QueueSpec{
				Name: fmt.Sprint("q", q), Weight: rapid.Int32Range(1, 3).Draw(t, "weight"), Reclaimable: true,
				Deserved: gpus(rapid.Int64Range(0, 12).Draw(t, "deserved")), Guarantee: gpus(rapid.Int64Range(0, 1).Draw(t, "guarantee")),
			}})
		}
		gangs := rapid.IntRange(1, 8).Draw(t, "gangs")
		for i := range gangs {
			tasks := rapid.IntRange(1, 6).Draw(t, "tasks")
			g.add(fmt.Sprint("g", i), fmt.Sprint("q", rapid.IntRange(0, queues-1).Draw(t, "queue")),
				rapid.IntRange(1, tasks).Draw(t, "min"), tasks, rapid.Int32Range(0, 2).Draw(t, "priority"))
			for range rapid.IntRange(0, 3).Draw(t, "cycles") {
				g.cycle()
			}
			for range rapid.IntRange(0, 2).Draw(t, "more") {
				g.pod(fmt.Sprint("g", rapid.IntRange(0, i).Draw(t, "of")), rapid.Int32Range(0, 2).Draw(t, "task's priority"))
			}
		}
		for range 100 {
			g.cycle()
		}
		clear(g.evicted)
		for range 200 {
			g.cycle()
		}
		if len(g.evicted) > 0 {
			t.Fatalf("it does not come to rest: %v had to go", g.evicted)
		}
		if err := g.World.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
