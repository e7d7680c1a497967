package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// These are the benchmarks of docs/performance.md. Each builds its world first
// and leaves it after every round as it was before, so that rounds are alike.
// ns/op is all of a round, the events that set it up and clear it away included;
// ns/cycle is the one Run in it that decides.

// stopwatch adds up the time of some parts of a round.
type stopwatch struct {
	b     *testing.B
	total time.Duration
	laps  int
}

// run runs the engine once on the clock.
func (s *stopwatch) run(e *engine.Engine) engine.Report {
	before := s.b.Elapsed()
	report := e.Run(start)
	s.total += s.b.Elapsed() - before
	s.laps++
	return report
}

func (s *stopwatch) report() {
	s.b.ReportMetric(float64(s.total.Nanoseconds())/float64(s.laps), "ns/cycle")
}

// machine is a node of 8 GPUs and room for pods that ask for processors only.
func machine(i int) engine.NodeSet {
	return engine.NodeSet{Node: model.NodeSpec{
		Name:        fmt.Sprintf("n%d", i),
		Allocatable: resource.ListOf(map[string]int64{"gpu": 8, resource.CPU: 96_000}),
		Labels:      map[string]string{"rack": fmt.Sprintf("rack-%d", i%40), "zone": "zone-a"},
	}}
}

// machines makes an engine with so many nodes and one queue.
func machines(b *testing.B, nodes int) *engine.Engine {
	e := newEngine(b)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
	for i := range nodes {
		e.Apply(machine(i))
	}
	e.Run(start)
	return e
}

// processors is a task that asks for processors, in thousandths, and no GPU.
func processors(gang string, i int, milli int64, on string) engine.TaskSet {
	t := task(gang, i, 0, on)
	t.Task.Shape = model.Shape{Key: fmt.Sprintf("cpu %d", milli), Requests: resource.ListOf(map[string]int64{resource.CPU: milli})}
	return t
}

// arrive adds a gang of equal tasks made by one.
func arrive(e *engine.Engine, key string, size int, one func(gang string, i int) engine.TaskSet) {
	e.Apply(gang(key, int32(size), "q"))
	for k := range size {
		e.Apply(one(key, k))
	}
}

// leave takes a gang of that size away again.
func leave(e *engine.Engine, key string, size int) {
	for k := range size {
		e.Apply(engine.TaskGone{UID: fmt.Sprintf("%s/%d", key, k)})
	}
	e.Apply(engine.GangGone{Key: key, UID: key})
}

// occupy binds so many tasks, in gangs of 100, evenly to that many nodes.
func occupy(e *engine.Engine, tasks, nodes int, one func(gang string, i int, on string) engine.TaskSet) {
	for i := range tasks {
		key := fmt.Sprintf("run%d", i/100)
		if i%100 == 0 {
			e.Apply(gang(key, int32(min(100, tasks-i)), "q"))
		}
		e.Apply(one(key, i%100, fmt.Sprintf("n%d", i%nodes)))
	}
	e.Run(start)
}

func oneGPU(gang string, i int) engine.TaskSet { return task(gang, i, 1, "") }

// BenchmarkGrowthNodes places one gang of 100 tasks on a cluster that is half full.
func BenchmarkGrowthNodes(b *testing.B) {
	for _, nodes := range []int{100, 300, 1000, 3000, 10_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			e := machines(b, nodes)
			occupy(e, nodes, nodes, func(gang string, i int, on string) engine.TaskSet { return task(gang, i, 4, on) })
			watch := stopwatch{b: b}
			for b.Loop() {
				arrive(e, "new", 100, oneGPU)
				if got := watch.run(e).Placed; got != 100 {
					b.Fatalf("placed %d tasks, want 100", got)
				}
				leave(e, "new", 100)
				e.Run(start)
			}
			watch.report()
		})
	}
}

// BenchmarkGrowthPods lets one pod end and places one gang of 8 tasks, on 5,000
// nodes on which that many pods are bound.
func BenchmarkGrowthPods(b *testing.B) {
	const nodes = 5000
	for _, pods := range []int{1000, 5000, 20_000, 50_000, 200_000} {
		b.Run(fmt.Sprintf("%dk", pods/1000), func(b *testing.B) {
			e := machines(b, nodes)
			one := func(gang string, i int, on string) engine.TaskSet { return processors(gang, i, 1000, on) }
			occupy(e, pods, nodes, one)
			watch, i := stopwatch{b: b}, 0
			for b.Loop() {
				ends := one(fmt.Sprintf("run%d", i/100), i%100, fmt.Sprintf("n%d", i%nodes))
				i = (i + 7) % pods
				e.Apply(engine.TaskGone{UID: ends.Task.UID})
				arrive(e, "new", 8, oneGPU)
				if got := watch.run(e).Placed; got != 8 {
					b.Fatalf("placed %d tasks, want 8", got)
				}
				leave(e, "new", 8)
				e.Apply(ends)
				e.Run(start)
			}
			watch.report()
		})
	}
}

// BenchmarkEvent applies single events on 10,000 nodes with 40,000 pods. No
// cycle runs, so that is all that a round costs.
func BenchmarkEvent(b *testing.B) {
	const nodes = 10_000
	e := machines(b, nodes)
	occupy(e, 4*nodes, nodes, func(gang string, i int, on string) engine.TaskSet { return task(gang, i, 1, on) })
	pod := func(i int) engine.TaskSet {
		i = i * 7919 % (4 * nodes)
		return task(fmt.Sprintf("run%d", i/100), i%100, 1, fmt.Sprintf("n%d", i%nodes))
	}
	kinds := []struct {
		name string
		make func(i int, again bool) []engine.Event
	}{
		{"pod-starts-or-stops", func(i int, again bool) []engine.Event {
			t := pod(i)
			t.Task.Running = !again
			return []engine.Event{t}
		}},
		{"pod-ends-and-is-made-again", func(i int, _ bool) []engine.Event {
			t := pod(i)
			return []engine.Event{engine.TaskGone{UID: t.Task.UID}, t}
		}},
		{"node-unchanged", func(i int, _ bool) []engine.Event { return []engine.Event{machine(i)} }},
		{"node-room", func(i int, again bool) []engine.Event {
			n := machine(i)
			if !again {
				n.Node.Allocatable = resource.ListOf(map[string]int64{"gpu": 8, resource.CPU: 95_000})
			}
			return []engine.Event{n}
		}},
		{"node-label", func(i int, again bool) []engine.Event {
			n := machine(i)
			n.Node.Labels["again"] = fmt.Sprint(again)
			return []engine.Event{n}
		}},
	}
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			const objects = 4096
			rounds := make([][]engine.Event, 2*objects) // made beforehand: only Apply counts
			for i := range rounds {
				rounds[i] = kind.make(i%objects, i >= objects)
			}
			b.ReportAllocs()
			i, events := 0, 0
			for b.Loop() {
				e.Apply(rounds[i%len(rounds)]...)
				events += len(rounds[i%len(rounds)])
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}

// heap is how many bytes live on the heap.
func heap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers held goes in the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkMemory measures what the model keeps of a node and of a pod, with
// keys and labels as long as real ones. The Kubernetes objects, which the watch
// cache holds anyway, are not in it.
func BenchmarkMemory(b *testing.B) {
	const nodes, pods = 10_000, 100_000
	labelled := func(i int) engine.NodeSet {
		n := machine(i)
		for k := range 15 {
			n.Node.Labels[fmt.Sprintf("label.example.com/key-number-%d", k)] = fmt.Sprintf("the-value-of-label-%d-on-node-%d", k, i)
		}
		return n
	}
	for b.Loop() {
		e := machines(b, 0)
		empty := heap()
		for i := range nodes {
			e.Apply(labelled(i))
		}
		e.Run(start)
		withNodes := heap()
		occupy(e, pods, nodes, func(gang string, i int, on string) engine.TaskSet {
			t := task(gang, i, 0, on)
			t.Task.UID += strings.Repeat("-", 36-len(t.Task.UID))
			t.Task.Shape = model.Shape{
				Key:      strings.Repeat("key", 80),
				Requests: resource.ListOf(map[string]int64{"gpu": 0, resource.CPU: 1000, "memory": 1 << 30, "pods": 1}),
				Images:   []string{"registry.example.com/team/trainer:2026.10"},
			}
			return t
		})
		b.ReportMetric((withNodes-empty)/nodes, "B/node")
		b.ReportMetric((heap()-withNodes)/pods, "B/pod")
		runtime.KeepAlive(e)
	}
}

// BenchmarkThousandGangs places 1,000 gangs of 100 tasks on 10,000 nodes in one
// cycle. 80,000 GPUs are too few for so many tasks that ask for a whole one, so
// they ask for processors: 12 of them fill a node.
func BenchmarkThousandGangs(b *testing.B) {
	for _, classes := range []int{1, 20} {
		b.Run(fmt.Sprintf("classes=%d", classes), func(b *testing.B) {
			placed := 0
			for b.Loop() {
				b.StopTimer()
				e := machines(b, 10_000)
				for g := range 1000 {
					arrive(e, fmt.Sprintf("g%d", g), 100, func(gang string, i int) engine.TaskSet {
						return processors(gang, i, 8000-int64((g*100+i)%classes), "")
					})
				}
				b.StartTimer()
				placed += e.Run(start).Placed
			}
			if want := 100_000 * b.N; placed != want {
				b.Fatalf("placed %d tasks, want %d", placed, want)
			}
			b.ReportMetric(float64(placed)/b.Elapsed().Seconds(), "placements/s")
		})
	}
}

// BenchmarkInfeasible refuses a gang of 100 tasks that ask for all 8 GPUs of a
// node, on 10,000 nodes of which each lacks one: one whose class was never seen
// before, one whose class is known, and one that is parked already. A pod comes
// and goes in between, so that what was counted for an earlier gang no longer holds.
func BenchmarkInfeasible(b *testing.B) {
	const nodes = 10_000
	wholeNode := func(gang string, i int) engine.TaskSet { return task(gang, i, 8, "") }
	refused := func(b *testing.B, e *engine.Engine) {
		watch, i := stopwatch{b: b}, 0
		for b.Loop() {
			arrive(e, "big", 100, wholeNode)
			if got := watch.run(e); got.Tried != 1 || got.Placed != 0 {
				b.Fatalf("tried %d and placed %d, want 1 and 0", got.Tried, got.Placed)
			}
			leave(e, "big", 100)
			e.Apply(task("other", 0, 1, fmt.Sprintf("n%d", i%nodes)), engine.TaskGone{UID: "other/0"})
			e.Run(start)
			i++
		}
		watch.report()
	}
	e := machines(b, nodes)
	occupy(e, nodes, nodes, func(gang string, i int, on string) engine.TaskSet { return task(gang, i, 1, on) })
	b.Run("new-class", func(b *testing.B) { refused(b, e) })
	e.Apply(machine(nodes), gang("whole", 1, "q"), task("whole", 0, 8, fmt.Sprintf("n%d", nodes)))
	e.Run(start)
	b.Run("known-class", func(b *testing.B) { refused(b, e) })
	b.Run("parked", func(b *testing.B) {
		arrive(e, "big", 100, wholeNode)
		e.Run(start)
		watch := stopwatch{b: b}
		for b.Loop() {
			if got := watch.run(e).Tried; got != 0 {
				b.Fatalf("tried %d gangs, want none", got)
			}
		}
		watch.report()
		leave(e, "big", 100)
		e.Run(start)
	})
}

// BenchmarkParked measures a cycle in front of gangs that wait for more room
// than there is: one in which a pod says that it runs, which helps nobody, and
// one in which a pod ends, which might help all. Without gangs that wait, it
// measures what such cycles cost anyway.
func BenchmarkParked(b *testing.B) {
	const nodes = 10_000
	for _, parked := range []int{0, 10_000} {
		e := machines(b, nodes)
		occupy(e, nodes, nodes, func(gang string, i int, on string) engine.TaskSet { return task(gang, i, 8, on) })
		for g := range parked {
			arrive(e, fmt.Sprintf("wait%d", g), 2, func(gang string, i int) engine.TaskSet { return task(gang, i, 8, "") })
		}
		e.Run(start)
		whose := func(i int) engine.TaskSet {
			i %= nodes
			return task(fmt.Sprintf("run%d", i/100), i%100, 8, fmt.Sprintf("n%d", i))
		}
		b.Run(fmt.Sprintf("gangs=%d/unrelated", parked), func(b *testing.B) {
			watch, i := stopwatch{b: b}, 0
			for b.Loop() {
				t := whose(i / 2)
				t.Task.Running = i%2 == 0
				i++
				e.Apply(t)
				watch.run(e)
			}
			watch.report()
		})
		b.Run(fmt.Sprintf("gangs=%d/pod-ends", parked), func(b *testing.B) {
			watch, i := stopwatch{b: b}, 0
			for b.Loop() {
				t := whose(i)
				i++
				e.Apply(engine.TaskGone{UID: t.Task.UID})
				watch.run(e)
				e.Apply(t)
				e.Run(start)
			}
			watch.report()
		})
	}
}
