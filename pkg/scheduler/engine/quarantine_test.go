package engine_test

import (
	"testing"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// faulty breaks while it scores the second placement of tasks that ask for 3 GPUs.
type faulty struct{ scored int }

var _ framework.ScoresNodes = &faulty{}

func (*faulty) Name() string { return "faulty" }

func (f *faulty) ScoreNode(c *model.Class, _ *model.Node) int64 {
	if c.Shape.Key == "3" {
		if f.scored++; f.scored > 1 {
			panic("broken plugin")
		}
	}
	return 0
}

func TestAFaultStopsOnlyTheGangThatProvokesIt(t *testing.T) {
	e := withGuest(t, conf.Default(), &faulty{})
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 8))
	submit(e, "bad", 2, 3)
	submit(e, "good", 2, 2)
	if placed := e.Run(start).Placed; placed != 2 {
		t.Errorf("placed %d tasks, want the 2 of the good gang", placed)
	}
	if why, ok := e.Explain("bad"); !ok || why.Code != reason.Fault || why.Value != "broken plugin" {
		t.Errorf("the bad gang waits for %+v", why)
	}
	if err := e.World.Check(); err != nil {
		t.Error(err)
	}
	if free := e.World.NodeNamed("n0").Free.At(e.World.Resources.Dim("gpu")); free != 4 {
		t.Errorf("%d GPUs are free, want 4", free)
	}
}
