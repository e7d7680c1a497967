package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

// promising is the default configuration with slo before all other plugins.
func promising() engine.Config {
	config := conf.Default()
	config.Tiers = append([][]engine.PluginConfig{{{Name: "slo"}}}, config.Tiers...)
	return config
}

// promised is a gang that has a deadline, and work, both from start.
func promised(key, queue string, least int32, deadline, work time.Duration) engine.Event {
	return engine.GangSet{Gang: model.GangSpec{Key: key, UID: key, Queue: queue, Min: least, Created: start, Annotations: map[string]string{
		"scheduling.volcano.sh/slo-deadline":         start.Add(deadline).UTC().Format(time.RFC3339),
		"scheduling.volcano.sh/slo-running-estimate": work.String(),
	}}}
}

// pressed is a world in which gangs with deadlines press on a queue with a guarantee.
type pressed struct {
	*engine.Engine

	now              time.Time
	size, guarantee  int64
	total            int64
	running          []engine.TaskSet
	needs            map[string]int64 // of gangs in the queue that is guaranteed something
	kept, open, step int64            // used in that, and in the other queue
}

func drawPressed(t *rapid.T) *pressed {
	e, err := engine.New(promising(), plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	nodes, size := rapid.IntRange(1, 4).Draw(t, "nodes"), rapid.Int64Range(1, 4).Draw(t, "size")
	for i := range nodes {
		e.Apply(node(i, size))
	}
	p := &pressed{Engine: e, now: start, size: size, total: int64(nodes) * size, needs: map[string]int64{}}
	p.guarantee = rapid.Int64Range(1, p.total).Draw(t, "guarantee")
	e.Apply(
		engine.QueueSet{Queue: model.QueueSpec{Name: "kept", Guarantee: gpus(p.guarantee), Weight: 1}},
		engine.QueueSet{Queue: model.QueueSpec{Name: "open", Weight: rapid.Int32Range(1, 5).Draw(t, "weight")}},
	)
	return p
}

// happen lets gangs come or tasks end, and time go by.
func (p *pressed) happen(t *rapid.T) {
	p.step++
	key, n := fmt.Sprintf("g%d", p.step), rapid.IntRange(1, 3).Draw(t, "tasks")
	minutes := func(what string, least int) time.Duration {
		return time.Duration(rapid.IntRange(least, 100).Draw(t, what)) * time.Minute
	}
	gpu := int64(1)
	switch rapid.IntRange(0, 3).Draw(t, "step") {
	case 0:
		p.Apply(gang(key, int32(n), "kept"))
		p.needs[key] = int64(n)
	case 1, 2:
		p.Apply(promised(key, "open", int32(n), p.now.Sub(start)+minutes("due", 1), minutes("work", 1)))
		gpu = rapid.Int64Range(1, p.size).Draw(t, "gpu")
	default:
		p.now = p.now.Add(minutes("minutes", 0))
		if len(p.running) > 0 {
			at := rapid.IntRange(0, len(p.running)-1).Draw(t, "which")
			done := p.running[at]
			p.running = append(p.running[:at], p.running[at+1:]...)
			p.use(done, -1)
			done.Task.Ended = model.Succeeded
			p.Apply(done)
		}
		return
	}
	for k := range n {
		p.Apply(task(key, k, gpu, ""))
	}
}

// use counts what a task uses.
func (p *pressed) use(s engine.TaskSet, times int64) {
	gpu := s.Task.Shape.Requests[0].Value * times
	if _, ok := p.needs[s.Task.Gang]; ok {
		p.kept += gpu
	} else {
		p.open += gpu
	}
}

// settle runs cycles until only time or news could change something, and confirms binds.
func (p *pressed) settle(t *rapid.T) {
	for range 20 {
		for _, d := range p.Run(p.now).Decisions {
			if bind, ok := d.(engine.Bind); ok {
				placed := engine.TaskSet{Task: p.World.TaskOf(bind.UID).TaskSpec}
				placed.Task.Node, placed.Task.Started = bind.Node, p.now
				p.running = append(p.running, placed)
				p.use(placed, 1)
				p.Apply(placed)
			}
		}
		if next, ok := p.Next(); !ok || next.After(p.now) {
			return
		}
	}
	t.Fatal("it does not settle")
}

// TestWhatIsUrgentTakesNothingThatOthersAreGuaranteed lets gangs with deadlines in one
// queue, some of tasks that need most of a node, press on a queue with a guarantee, whose
// gangs are of single GPUs: one that its guarantee covers does not wait.
func TestWhatIsUrgentTakesNothingThatOthersAreGuaranteed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPressed(t)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			p.happen(t)
			p.settle(t)
			for key, n := range p.needs {
				if p.World.GangOf(key).Counts.Waiting > 0 && p.kept+n <= p.guarantee {
					why, _ := p.Explain(key)
					t.Fatalf("%s needs %d, %d of %d guaranteed are used, and waits: %v", key, n, p.kept, p.guarantee, why)
				}
			}
			if p.open+max(p.kept, p.guarantee) > p.total {
				t.Fatalf("%d are used by who is guaranteed nothing, %d by others, %d of %d are guaranteed", p.open, p.kept, p.guarantee, p.total)
			}
		}
	})
}

// unmet lists what was said of promises, gang by gang.
func unmet(r engine.Report) (said []string) {
	for _, d := range r.Decisions {
		if d, ok := d.(engine.Unmet); ok {
			code := reason.Code("met")
			if d.Why != nil {
				code = d.Why.Code
			}
			said = append(said, d.Gang+" "+string(code))
		}
	}
	return said
}

// TestWhatIsSaidOfPromisesIsTakenBack goes through all that ends a promise that can't be kept.
func TestWhatIsSaidOfPromisesIsTakenBack(t *testing.T) {
	tests := map[string]struct {
		then func(e *engine.Engine) error
		want string
	}{
		"nothing happens":       {func(*engine.Engine) error { return nil }, ""},
		"its deadline is moved": {func(e *engine.Engine) error { e.Apply(promised("g", "q", 1, 9*time.Hour, 2*time.Hour)); return nil }, "g met"},
		"it has none any more":  {func(e *engine.Engine) error { e.Apply(gang("g", 1, "q")); return nil }, "g met"},
		"it is done early": {func(e *engine.Engine) error {
			done := task("g", 0, 1, "n0")
			done.Task.Ended = model.Succeeded
			e.Apply(done)
			return nil
		}, "g met"},
		"the plugin is taken away": {func(e *engine.Engine) error { return e.Reconfigure(conf.Default()) }, "g met"},
		"the plugin goes on":       {func(e *engine.Engine) error { return e.Reconfigure(promising()) }, ""},
		"the gang goes":            {func(e *engine.Engine) error { e.Apply(engine.GangGone{Key: "g", UID: "g"}); return nil }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := engine.New(promising(), plugins.Builtin())
			if err != nil {
				t.Fatal(err)
			}
			e.Apply(node(0, 1), engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, promised("g", "q", 1, time.Hour, 2*time.Hour), task("g", 0, 1, ""))
			if got := fmt.Sprint(unmet(e.Run(start))); got != "[g DeadlineTooSoon]" {
				t.Errorf("first it says %s", got)
			}
			if err := tt.then(e); err != nil {
				t.Fatal(err)
			}
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			if got := fmt.Sprint(unmet(e.Run(start.Add(time.Minute)))); got != fmt.Sprint(want) {
				t.Errorf("then it says %s, want %s", got, want)
			}
		})
	}
}

// TestWithoutPromisesTheClockRunsNoCycles holds gangs that wait without one.
func TestWithoutPromisesTheClockRunsNoCycles(t *testing.T) {
	e, err := engine.New(promising(), plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	e.Apply(node(0, 1), engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
	for i := range 3 {
		key := fmt.Sprint(i)
		e.Apply(gang(key, 1, "q"), task(key, 0, 1, ""))
	}
	e.Run(start)
	e.Run(start)
	if next, ok := e.Next(); ok {
		t.Errorf("the next cycle is %v later", next.Sub(start))
	}
}
