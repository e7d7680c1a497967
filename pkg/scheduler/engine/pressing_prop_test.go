package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// TestADeadlineTakesOnceAndLeavesGuarantees: whatever gangs there are, whatever they were
// promised and however greedy they are, a gang whose deadline presses makes others go until
// it is placed, and never again; no queue goes below its guarantee for it, nobody of higher
// priority goes, and in the end all come to rest.
func TestADeadlineTakesOnceAndLeavesGuarantees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGreedy(t, rapid.SampledFrom([]string{"capacity", "proportion"}).Draw(t, "plugin"),
			rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(1, 8).Draw(t, "size"))
		config := g.config
		config.Tiers = append([][]engine.PluginConfig{{{Name: "slo", Args: framework.Args{"slo.preempt": true, "slo.reclaim": true}}}}, config.Tiers...)
		if err := g.Reconfigure(config); err != nil {
			t.Fatal(err)
		}
		queues := rapid.IntRange(1, 3).Draw(t, "queues")
		for q := range queues {
			g.Apply(engine.QueueSet{Queue: model.QueueSpec{
				Name: fmt.Sprint("q", q), Weight: 1, Reclaimable: true,
				Deserved: gpus(rapid.Int64Range(0, 12).Draw(t, "deserved")), Guarantee: gpus(rapid.Int64Range(0, 3).Draw(t, "guarantee")),
			}})
		}
		for i := range rapid.IntRange(1, 8).Draw(t, "gangs") {
			tasks := rapid.IntRange(1, 6).Draw(t, "tasks")
			spec := model.GangSpec{
				Key: fmt.Sprint("g", i), Queue: fmt.Sprint("q", rapid.IntRange(0, queues-1).Draw(t, "queue")), Created: start,
				Min: int32(rapid.IntRange(1, tasks).Draw(t, "min")), Priority: rapid.Int32Range(0, 1).Draw(t, "priority"),
			}
			spec.UID = spec.Key
			if rapid.Bool().Draw(t, "deadline") {
				spec.Annotations = map[string]string{
					"scheduling.volcano.sh/slo-deadline":         start.Add(time.Duration(rapid.IntRange(10, 200).Draw(t, "due")) * time.Second).Format(time.RFC3339),
					"scheduling.volcano.sh/slo-running-estimate": fmt.Sprint(rapid.IntRange(1, 200).Draw(t, "work"), "s"),
				}
			}
			g.submit(spec, tasks)
			for range rapid.IntRange(0, 3).Draw(t, "cycles") {
				urged(t, g)
			}
		}
		for range 300 {
			urged(t, g)
		}
		clear(g.evicted)
		for range 100 {
			g.cycle()
		}
		if len(g.evicted) > 0 {
			t.Fatalf("it does not come to rest: %v had to go", g.evicted)
		}
	})
}

// urged is a cycle after which those that went for a deadline are looked at.
func urged(t *rapid.T, g *greedy) {
	gpu := g.World.Resources.Dim("gpu")
	used := map[*model.Queue]int64{}
	for _, q := range g.World.Queues() {
		used[q] = g.World.Quota.Used(q.ID).At(gpu)
	}
	g.cycle()
	for _, d := range g.decided {
		switch d := d.(type) { //nolint:gochecksumtype // the others tell why
		case engine.Bind:
			used[g.World.GangOf(d.Gang).Queue]++
			g.served[d.Gang] = g.took[d.Gang]
		case engine.Evict:
			from, by := g.World.GangOf(d.Gang), g.World.GangOf(d.For)
			used[from.Queue]--
			if d.Why.Code != reason.MoreUrgent {
				continue
			}
			if g.took[d.For] = true; g.served[d.For] {
				t.Fatalf("%s took, was placed, and takes again", d.For)
			}
			if from.Queue == by.Queue && from.Priority > by.Priority {
				t.Fatalf("%s goes for %s, whose priority is lower", d.Gang, d.For)
			}
			if least := g.World.Quota.Terms(from.Queue.ID).Guarantee.At(gpu); from.Queue != by.Queue && used[from.Queue] < least {
				t.Fatalf("queue %s keeps %d for %s, of %d that it is guaranteed", from.Queue.Name, used[from.Queue], d.For, least)
			}
		}
	}
}
