package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// explained fails unless a gang waits, for that cause.
func explained(t *testing.T, e *engine.Engine, gang string, code reason.Code) reason.Reason {
	t.Helper()
	why, waits := e.Explain(gang)
	if !waits || why.Code != code {
		t.Errorf("%s waits: %t, for %s: %s; want %s", gang, waits, why.Code, why, code)
	}
	return why
}

func TestAGangThatLacksPodsIsExplainedAtOnce(t *testing.T) {
	e := cluster(t, 1)
	spec := model.GangSpec{Key: "g", UID: "g", Queue: "q", Min: 3, RoleMin: []model.RoleMin{{Role: "worker", Min: 2}}}
	worker := task("g", 0, 1, "")
	worker.Task.Role = "worker"
	e.Apply(engine.GangSet{Gang: spec}, worker)
	if report := e.Run(start); len(report.Decisions) != 1 {
		t.Errorf("it is called out at once: %+v", report.Decisions)
	}
	if why := explained(t, e, "g", reason.NotEnoughTasks); why.Role != "worker" || why.Need != 2 || why.Have != 1 {
		t.Errorf("%+v", why)
	}
	e.Apply(task("g", 1, 1, "")) // of no role
	gated := task("g", 2, 1, "")
	gated.Task.Role, gated.Task.Gated = "worker", true
	e.Apply(gated)
	e.Run(start)
	if why := explained(t, e, "g", reason.Gated); why.Role != "worker" || why.Have != 1 {
		t.Errorf("%+v", why)
	}
	gated.Task.Gated = false
	e.Apply(gated)
	e.Run(start)
	why, waits := e.Explain("g")
	status, known := e.StatusOf("g")
	if waits || !known || !status.Whole || status.Held != 3 {
		t.Errorf("%t: %s; %+v", waits, why, status)
	}
	if _, known := e.StatusOf("h"); known {
		t.Error("a gang that was never heard of has a status")
	}
}

// TestAnExplanationIsOfNow: the room that others get, which wakes nobody, is in it,
// and what is told of the gang later still is.
func TestAnExplanationIsOfNow(t *testing.T) {
	e := cluster(t, 4)
	e.Apply(engine.TaskSet{Task: model.TaskSpec{UID: "x", Name: "x", Node: "n0", Shape: model.Shape{Key: "x", Requests: gpus(8)}}})
	submit(e, "big", 4, 8)
	e.Run(start)
	if why := explained(t, e, "big", reason.NotEnoughNodes); why.Room != 3 {
		t.Errorf("room %d, want 3", why.Room)
	}
	submit(e, "small", 1, 8)
	e.Run(start)
	if why := explained(t, e, "big", reason.NotEnoughNodes); why.Room != 2 {
		t.Errorf("room %d, want 2", why.Room)
	}
	e.Apply(engine.TaskSet{Task: model.TaskSpec{UID: "x", Name: "x", Node: "n0", Shape: model.Shape{Key: "y", Requests: gpus(7)}}})
	e.Run(start)
	explained(t, e, "big", reason.NotEnoughNodes)
	told := false
	for _, d := range e.Run(start.Add(time.Minute)).Decisions {
		refuse, ok := d.(engine.Refuse)
		told = told || ok && refuse.Why.Room == 2
	}
	if !told {
		t.Error("the numbers that were asked for are not told any more")
	}
}

func TestWhatIsSetAsideForAGangDoesNotKeepItWaiting(t *testing.T) {
	e := withGuest(t, engine.Config{Actions: []engine.Action{allocate.New()}}, atOnce{})
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 8), node(1, 8))
	e.Apply(engine.TaskSet{Task: model.TaskSpec{UID: "x", Name: "x", Node: "n0", Shape: model.Shape{Key: "x", Requests: gpus(5)}}})
	submit(e, "big", 2, 8)
	for range 2 {
		e.Run(start)
		if why := explained(t, e, "big", reason.NotEnoughNodes); why.Room != 1 {
			t.Errorf("room %d, want 1: %s", why.Room, why)
		}
	}
	if got := e.Queues()[0].Reserved; len(got) != 2 {
		t.Errorf("set aside on %v, want both nodes", got)
	}
}

// TestAQuestionChangesNothing asks one of two engines about all gangs after each run.
func TestAQuestionChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked, other := newEngine(t), newEngine(t)
		now := start
		for i, ev := range history(t) {
			asked.Apply(ev)
			other.Apply(ev)
			if i%5 != 0 {
				continue
			}
			now = now.Add(3 * time.Second)
			if diff := cmp.Diff(other.Run(now), asked.Run(now)); diff != "" {
				t.Fatalf("after event %d:\n%s", i, diff)
			}
			for _, g := range asked.World.GangFacts() {
				asked.Explain(g.Key)
			}
			if err := asked.World.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// brittle breaks when it is asked, once it is told to.
type brittle struct{ broken bool }

func (*brittle) Name() string          { return "brittle" }
func (*brittle) WakesOn() model.Change { return 0 }
func (b *brittle) AdmitGang(*model.Gang) (reason.Reason, bool) {
	if b.broken {
		panic("broken plugin")
	}
	return reason.Reason{}, true
}

func TestAFaultWhileExplainingIsTheExplanation(t *testing.T) {
	b := &brittle{}
	e := withGuest(t, conf.Default(), b)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 6))
	submit(e, "bad", 3, 3)
	e.Run(start)
	explained(t, e, "bad", reason.NeverFits)
	b.broken = true
	explained(t, e, "bad", reason.Fault)
	if err := e.World.Check(); err != nil {
		t.Error(err)
	}
}
