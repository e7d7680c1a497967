package engine_test

import (
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// atOnce sets room aside for the gang "big" from the start, and keeps pools apart.
type atOnce struct{}

func (atOnce) Name() string                                { return "at-once" }
func (atOnce) ReserveFrom(g *model.Gang) (time.Time, bool) { return start, g.Key == "big" }
func (atOnce) WakesOn() model.Change                       { return model.NodeChanged }
func (atOnce) FilterNodes(c *model.Class) framework.NodeFilter {
	return func(n *model.Node) (string, bool) { return "pool", n.Labels["pool"] == c.Shape.NodeSelector["pool"] }
}

// TestWhatIsNotSetAsideAnyMoreIsToldOf: a gang waits for its queue's ceiling, which
// another's reservation fills; that gang then needs less.
func TestWhatIsNotSetAsideAnyMoreIsToldOf(t *testing.T) {
	e := withGuest(t, engine.Config{Actions: []engine.Action{allocate.New()}}, atOnce{})
	gpus := func(n int64) resource.List { return resource.ListOf(map[string]int64{"gpu": n}) }
	node := func(name, pool string) engine.NodeSet {
		return engine.NodeSet{Node: model.NodeSpec{Name: name, Labels: map[string]string{"pool": pool}, Allocatable: gpus(8)}}
	}
	task := func(gang, uid, pool, node string) engine.TaskSet {
		return engine.TaskSet{Task: model.TaskSpec{
			UID: uid, Name: uid, Gang: gang, Ours: gang != "", Node: node,
			Shape: model.Shape{Key: pool, Requests: gpus(8), NodeSelector: map[string]string{"pool": pool}},
		}}
	}
	big := model.GangSpec{Key: "big", UID: "big", Queue: "q", Min: 2}
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q", Capability: gpus(16)}}, node("a1", "a"), node("a2", "a"), node("b1", "b"),
		task("", "x1", "a", "a1"), task("", "x2", "a", "a2"), engine.GangSet{Gang: big}, task("big", "big0", "a", ""), task("big", "big1", "a", ""))
	e.Run(start)
	e.Apply(engine.GangSet{Gang: model.GangSpec{Key: "small", UID: "small", Queue: "q", Min: 1}}, task("small", "s0", "b", ""))
	if e.Run(start).Placed != 0 {
		t.Fatal("the queue's ceiling should be reserved whole")
	}
	big.Min = 1
	e.Apply(engine.GangSet{Gang: big})
	placed := 0
	for range 3 {
		placed += e.Run(start.Add(time.Second)).Placed
	}
	if placed != 1 {
		why, _ := e.Explain("small")
		t.Errorf("small still waits: %v", why)
	}
}
