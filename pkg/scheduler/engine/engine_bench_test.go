package engine_test

import (
	"fmt"
	"testing"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// cluster makes an engine with nodes of 8 GPUs.
func cluster(t interface{ Fatal(...any) }, nodes int) *engine.Engine {
	e := newEngine(t)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
	for i := range nodes {
		e.Apply(node(i, 8))
	}
	e.Run(start)
	return e
}

// submit adds a gang of equal tasks.
func submit(e *engine.Engine, key string, size int, gpu int64) {
	e.Apply(gang(key, int32(size), "q"))
	for k := range size {
		e.Apply(task(key, k, gpu, ""))
	}
}

// BenchmarkPlace measures how fast gangs of 8 find nodes on an empty cluster.
func BenchmarkPlace(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			placed := 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				e := cluster(b, nodes)
				for g := range nodes / 8 {
					submit(e, fmt.Sprintf("g%d", g), 8, 8)
				}
				b.StartTimer()
				placed += e.Run(start).Placed
			}
			b.ReportMetric(float64(placed)/b.Elapsed().Seconds(), "placements/s")
		})
	}
}

// BenchmarkFullCluster measures a cycle in which one pod ends in front of gangs
// that all wait for more room than that.
func BenchmarkFullCluster(b *testing.B) {
	for _, waiting := range []int{100, 5000} {
		b.Run(fmt.Sprintf("nodes=1000/waiting=%d", waiting), func(b *testing.B) {
			e := cluster(b, 1000)
			for i := range 1000 {
				key := fmt.Sprintf("run%d", i)
				submit(e, key, 1, 8)
			}
			for i := range waiting {
				submit(e, fmt.Sprintf("wait%d", i), 8, 8)
			}
			e.Run(start)
			i := 0
			for b.Loop() {
				t := task(fmt.Sprintf("run%d", i%1000), 0, 8, fmt.Sprintf("n%d", i%1000))
				e.Apply(engine.TaskGone{UID: t.Task.UID})
				e.Run(start)
				e.Apply(t)
				e.Run(start)
				i++
			}
		})
	}
}

// TestPlacingAllocatesNothingPerNode compares the allocations of the same gang
// on a small and a large cluster.
func TestPlacingAllocatesNothingPerNode(t *testing.T) {
	measure := func(nodes int) float64 {
		e := cluster(t, nodes)
		submit(e, "warm", 8, 8)
		e.Run(start)
		i := 0
		return testing.AllocsPerRun(20, func() {
			key := fmt.Sprintf("g%d", i)
			i++
			submit(e, key, 4, 1)
			if e.Run(start).Placed != 4 {
				t.Fatal("not placed")
			}
		})
	}
	small, large := measure(64), measure(2048)
	if large > small+2 {
		t.Errorf("%v allocations on 2048 nodes, %v on 64", large, small)
	}
}
