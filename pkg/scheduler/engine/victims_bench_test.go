package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/reclaim"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// BenchmarkVictims chooses victims for a gang of 1,000 tasks: on 10,000 nodes of 8 GPUs
// run 80,000 tasks of 1 GPU, in gangs of so many, all of lower priority in its queue
// ("preempt") or in five queues that borrow ("reclaim"). Each iteration is the whole cycle in
// which the gang comes; the victims stay, so that the next finds the world as it was.
func BenchmarkVictims(b *testing.B) {
	for _, rule := range []string{"preempt", "reclaim"} {
		for _, size := range []int{1, 8, 100} {
			for _, gpu := range []int64{1, 8} {
				b.Run(fmt.Sprintf("%s/gangs=%d/gpu=%d", rule, size, gpu), func(b *testing.B) { benchVictims(b, rule, size, gpu) })
			}
		}
	}
}

func benchVictims(b *testing.B, rule string, size int, gpu int64) {
	const nodes, tasks = 10_000, 80_000
	config := without(conf.Default(), "proportion")
	config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: "capacity"}})
	config.Actions = append(config.Actions, preempt.New(), reclaim.New())
	e := withGuest(b, config, nil)
	for i := range nodes {
		e.Apply(node(i, 8))
	}
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "default", Deserved: gpus(tasks / 2), Reclaimable: true}})
	for q := range 5 {
		e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: fmt.Sprint("q", q), Deserved: gpus(100), Reclaimable: true}})
	}
	for g, i := 0, 0; i < tasks; g++ {
		queue := "default"
		if rule == "reclaim" {
			queue = fmt.Sprint("q", g%5)
		}
		key := fmt.Sprintf("low%d", g)
		n := min(size, tasks-i)
		e.Apply(gang(key, int32(n), queue))
		for k := range n {
			// Those of a gang are far from each other, as on a cluster that has run for long.
			e.Apply(task(key, k, 1, fmt.Sprintf("n%d", (i*7919)%nodes)))
			i++
		}
	}
	e.Run(start)
	evicted := 0
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		now := start.Add(time.Duration(i) * time.Minute) // nobody stays for what failed before
		key := fmt.Sprintf("high%d", i)
		e.Apply(engine.GangSet{Gang: model.GangSpec{Key: key, UID: key, Queue: "default", Min: 1000, Priority: 10, Created: start}})
		for k := range 1000 {
			e.Apply(engine.TaskSet{Task: model.TaskSpec{
				UID: fmt.Sprint(key, "/", k), Name: fmt.Sprint(key, "/", k), Gang: key, Ours: true,
				Shape: model.Shape{Key: fmt.Sprint(gpu), Requests: resource.ListOf(map[string]int64{"gpu": gpu})},
			}})
		}
		b.StartTimer()
		report := e.Run(now)
		b.StopTimer()
		evicted = 0
		for _, d := range report.Decisions {
			if d, ok := d.(engine.Evict); ok {
				evicted++
				e.Apply(engine.EvictFailed{UID: d.UID})
			}
		}
		if evicted < 1000*int(gpu) {
			b.Fatalf("%d victims", evicted)
		}
		e.Apply(engine.GangGone{Key: key, UID: key})
		for k := range 1000 {
			e.Apply(engine.TaskGone{UID: fmt.Sprint(key, "/", k)})
		}
		e.Run(now)
		b.StartTimer()
	}
	b.ReportMetric(float64(evicted), "victims")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/plan")
}
