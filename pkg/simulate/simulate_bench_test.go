package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions/gangpreempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/gangreclaim"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/simulate"
)

// busy is a trace of jobs that ask for load times what the nodes, of 8 GPUs each, have:
// most are small and short, few are large or long.
func busy(jobs, nodes int, load float64) *simulate.Trace {
	rng := rand.New(rand.NewPCG(1, 2))
	t := &simulate.Trace{}
	for i := range nodes {
		t.Nodes = append(t.Nodes, model.NodeSpec{
			Name:        fmt.Sprintf("n%d", i),
			Allocatable: resource.ListOf(map[string]int64{simulate.GPU: 8, resource.CPU: 96_000, resource.Pods: 110}),
		})
	}
	t.Queues = append(t.Queues, model.QueueSpec{Name: "root", Reclaimable: true})
	for i := range 8 {
		t.Queues = append(t.Queues, model.QueueSpec{Name: fmt.Sprintf("q%d", i), Parent: "root", Weight: int32(1 + i%3), Reclaimable: true})
	}
	sizes := []int32{1, 1, 1, 1, 1, 1, 2, 2, 4, 16}
	gpus := []int64{1, 1, 2, 4, 8, 8}
	var work float64
	for i := range jobs {
		size, gpu := sizes[rng.IntN(len(sizes))], gpus[rng.IntN(len(gpus))]
		d := time.Duration(60+rng.ExpFloat64()*3600) * time.Second
		work += float64(size) * float64(gpu) * d.Seconds()
		req := resource.ListOf(map[string]int64{simulate.GPU: gpu, resource.CPU: 1000 * gpu, resource.Pods: 1})
		t.Jobs = append(t.Jobs, simulate.Job{
			Name: fmt.Sprintf("j%06d", i), Queue: fmt.Sprintf("q%d", rng.IntN(8)), Priority: int32(rng.IntN(3)), Duration: d,
			Size: size, Min: size, Shape: model.Shape{Key: req.String(), Requests: req},
		})
	}
	span := work / (load * float64(nodes) * 8)
	for i := range t.Jobs {
		t.Jobs[i].Submit = (time.Duration(span*float64(i)/float64(jobs)*1000) * time.Millisecond).Truncate(time.Second)
	}
	return t
}

// BenchmarkSimulate simulates jobs: with room, when they ask for all there is,
// and with gangs that take room from others, within queues and across.
func BenchmarkSimulate(b *testing.B) {
	for _, c := range []struct {
		name  string
		jobs  int
		nodes int
		load  float64
		takes []engine.Action
	}{
		{"jobs=100k/nodes=1k/load=80%", 100_000, 1000, 0.8, nil},
		{"jobs=100k/nodes=1k/load=100%", 100_000, 1000, 1, nil},
		{"jobs=100k/nodes=1k/load=80%/preempt", 100_000, 1000, 0.8, []engine.Action{gangpreempt.New()}},
		{"jobs=5k/nodes=100/load=80%/reclaim", 5000, 100, 0.8, []engine.Action{gangpreempt.New(), gangreclaim.New()}},
		{"jobs=20k/nodes=1k/load=80%/reclaim", 20_000, 1000, 0.8, []engine.Action{gangpreempt.New(), gangreclaim.New()}},
		{"jobs=100k/nodes=1k/load=80%/reclaim", 100_000, 1000, 0.8, []engine.Action{gangpreempt.New(), gangreclaim.New()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			trace := busy(c.jobs, c.nodes, c.load)
			o := simulate.Options{Config: conf.Default(), Registry: plugins.Builtin()}
			o.Config.Actions = append(o.Config.Actions, c.takes...)
			for b.Loop() {
				res, err := simulate.Run(trace, o)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(res.Passes), "passes")
				b.ReportMetric(res.Utilisation, "utilisation")
				b.ReportMetric(float64(res.Preemptions.Pods), "evictions")
				b.ReportMetric(res.Queueing.P90, "s-queued-p90")
			}
		})
	}
}
