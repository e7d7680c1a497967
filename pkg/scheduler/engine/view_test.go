package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// TestAViewStaysSmall has pods come and go on nodes while a gang waits whose class
// was placed before.
func TestAViewStaysSmall(t *testing.T) {
	e := placer(t)
	gpus := resource.ListOf(map[string]int64{"gpu": 8})
	task := func(uid, gang, node string) TaskSet {
		shape := model.Shape{Key: "1", Requests: resource.ListOf(map[string]int64{"gpu": 1})}
		return TaskSet{Task: model.TaskSpec{UID: uid, Name: uid, Gang: gang, Ours: gang != "", Node: node, Shape: shape}}
	}
	for i := range 10 {
		e.Apply(NodeSet{Node: model.NodeSpec{Name: fmt.Sprint("n", i), Allocatable: gpus}})
	}
	e.Apply(GangSet{Gang: model.GangSpec{Key: "a", UID: "a", Queue: "q", Min: 1}}, task("a", "a", ""),
		GangSet{Gang: model.GangSpec{Key: "b", UID: "b", Queue: "q", Min: 100}})
	now := time.Unix(1000, 0)
	e.Run(now)
	for i := range 100 {
		e.Apply(task(fmt.Sprint("b", i), "b", ""))
	}
	for i := range 5000 {
		e.Apply(task("x", "", fmt.Sprint("n", i%10)), TaskGone{UID: "x"})
		e.Run(now)
	}
	for _, v := range e.views {
		if len(v.heap) > 200 {
			t.Errorf("a view of 10 nodes holds %d candidates", len(v.heap))
		}
	}
}

// TestWithoutEnqueueAllAreToldToGoAhead: some operators make no pods before.
func TestWithoutEnqueueAllAreToldToGoAhead(t *testing.T) {
	e := placer(t)
	e.Apply(GangSet{Gang: model.GangSpec{Key: "g", UID: "g", Queue: "q", Min: 1}})
	for _, d := range e.Run(time.Unix(1000, 0)).Decisions {
		if s, ok := d.(Status); ok && s.Phase == model.Inqueue {
			return
		}
	}
	t.Error("the gang is not told to go ahead")
}

// TestARefusalStandsNodesThatAreOnlySpokenOf: a pod names a node that nobody
// was told of, after the class was looked at.
func TestARefusalStandsNodesThatAreOnlySpokenOf(t *testing.T) {
	e := placer(t)
	task := func(uid, gang string) TaskSet {
		shape := model.Shape{Key: "9", Requests: resource.ListOf(map[string]int64{"gpu": 9})}
		return TaskSet{Task: model.TaskSpec{UID: uid, Name: uid, Gang: gang, Ours: true, Shape: shape}}
	}
	e.Apply(NodeSet{Node: model.NodeSpec{Name: "n", Allocatable: resource.ListOf(map[string]int64{"gpu": 8})}},
		GangSet{Gang: model.GangSpec{Key: "a", UID: "a", Queue: "q", Min: 1}}, task("a0", "a"))
	now := time.Unix(1000, 0)
	e.Run(now)
	lost := task("x", "")
	lost.Task.Node, lost.Task.Ours = "lost", false
	running := model.TaskSpec{UID: "r", Name: "r", Node: "n", Shape: model.Shape{Key: "1", Requests: resource.ListOf(map[string]int64{"gpu": 1})}}
	e.Apply(lost, TaskSet{Task: running}, GangSet{Gang: model.GangSpec{Key: "b", UID: "b", Queue: "q", Min: 1}}, task("b0", "b"))
	for _, d := range e.Run(now).Decisions {
		if no, ok := d.(Refuse); ok && no.Gang == "b" && no.Why.Code == reason.NeverFits {
			return
		}
	}
	t.Error("b is not told that it never fits")
}

// TestCausesThatAreNoMoreAreForgotten: a node is turned away for ever new causes.
func TestCausesThatAreNoMoreAreForgotten(t *testing.T) {
	reg := framework.Registry{"labels": func(framework.Args, framework.Env) (framework.Plugin, error) { return byLabel{}, nil }}
	e, err := New(Config{Actions: []Action{placing{}}, Tiers: [][]PluginConfig{{{Name: "labels"}}}}, reg)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	e.Apply(QueueSet{Queue: model.QueueSpec{Name: "q"}}, GangSet{Gang: model.GangSpec{Key: "g", UID: "g", Queue: "q", Min: 1}},
		TaskSet{Task: model.TaskSpec{UID: "g0", Name: "g0", Gang: "g", Ours: true, Shape: model.Shape{Key: "1"}}})
	for i := range 3 * mostCauses {
		e.Apply(NodeSet{Node: model.NodeSpec{Name: "n", Labels: map[string]string{"why": fmt.Sprint("cause ", i)}}})
		e.Run(now)
	}
	if n := len(e.causes.words); n > mostCauses+1 {
		t.Errorf("%d causes are remembered", n)
	}
	if why, _ := e.Explain("g"); len(why.Nodes) != 1 || why.Nodes[0].Cause != fmt.Sprint("cause ", 3*mostCauses-1) {
		t.Errorf("the gang waits for %s", why)
	}
}

// byLabel turns nodes away for what their label says.
type byLabel struct{}

func (byLabel) Name() string          { return "labels" }
func (byLabel) WakesOn() model.Change { return model.NodeChanged }
func (byLabel) FilterNodes(*model.Class) framework.NodeFilter {
	return func(n *model.Node) (string, bool) { return n.Labels["why"], n.Labels["why"] == "" }
}

// placer is an engine that only places, without plugins, with a queue q.
func placer(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Config{Actions: []Action{placing{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Apply(QueueSet{Queue: model.QueueSpec{Name: "q"}})
	return e
}

type placing struct{}

func (placing) Name() string { return "placing" }
func (placing) Run(c *Cycle) { c.Serve(c.Placeable, c.Place) }

// TestAGangOfWhichAPodIsMadeAnewTimeAndAgainHearsWhatItLacks, though it changes all the time.
func TestAGangOfWhichAPodIsMadeAnewTimeAndAgainHearsWhatItLacks(t *testing.T) {
	e := placer(t)
	task := func(i int) TaskSet {
		uid := fmt.Sprint("g", i)
		return TaskSet{Task: model.TaskSpec{UID: uid, Name: uid, Gang: "g", Ours: true, Shape: model.Shape{Key: "1"}}}
	}
	now := time.Unix(1000, 0)
	e.Apply(NodeSet{Node: model.NodeSpec{Name: "n"}}, GangSet{Gang: model.GangSpec{Key: "g", UID: "g", Queue: "q", Min: 3, Phase: model.Inqueue}}, task(0), task(1))
	for i := range 40 {
		e.Apply(TaskGone{UID: fmt.Sprint("g", i+1)}, task(i+2))
		for _, d := range e.Run(now).Decisions {
			if no, ok := d.(Refuse); ok && no.Why.Code == reason.NotEnoughTasks {
				return
			}
		}
		now = now.Add(500 * time.Millisecond)
	}
	t.Error("in 20 s it hears nothing")
}
