package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// served is what an API server knows: a scheduler that starts is told no more.
type served struct {
	nodes, gangs []engine.Event
	tasks        []model.TaskSpec // in order of arrival
}

func (s *served) task(uid string) *model.TaskSpec {
	i := slices.IndexFunc(s.tasks, func(t model.TaskSpec) bool { return t.UID == uid })
	if i < 0 {
		return nil
	}
	return &s.tasks[i]
}

func (s *served) add(gang string, tasks, gpus int) {
	for i := range tasks {
		s.tasks = append(s.tasks, task(gang, i, int64(gpus), "").Task)
	}
}

// start has a scheduler begin with what is known.
func (s *served) start(t interface{ Fatal(...any) }) *engine.Engine {
	config := conf.Default()
	config.Actions = append(slices.Clone(config.Actions), preempt.New())
	e := withGuest(t, config, nil)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
	e.Apply(s.nodes...)
	e.Apply(s.gangs...)
	for _, spec := range s.tasks {
		e.Apply(engine.TaskSet{Task: spec})
	}
	return e
}

// run runs a scheduler once, carries out what it decides, and returns for whom pods were told to go.
func (s *served) run(e *engine.Engine, now time.Time) (evictedFor []string) {
	for _, d := range e.Run(now).Decisions {
		switch d := d.(type) { //nolint:gochecksumtype // the others tell why
		case engine.Bind:
			s.task(d.UID).Node = d.Node
		case engine.Evict:
			s.task(d.UID).Deleting = true
			evictedFor = append(evictedFor, d.For)
		case engine.Nominate:
			s.task(d.UID).Nominated = d.Node
		}
	}
	for i := range s.tasks {
		e.Apply(engine.TaskSet{Task: s.tasks[i]})
	}
	return evictedFor
}

func prioritised(key string, least int, priority int32) engine.Event {
	return engine.GangSet{Gang: model.GangSpec{Key: key, UID: key, Queue: "q", Min: int32(least), Priority: priority, Created: start}}
}

// TestAfterARestartRoomGoesToWhomItWasMadeFor has one scheduler make room for a gang, and
// others decide while its victims leave. A rival came before it, and asks for as much.
func TestAfterARestartRoomGoesToWhomItWasMadeFor(t *testing.T) {
	restarted := 0
	rapid.Check(t, func(t *rapid.T) {
		s := &served{}
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		for i := range nodes {
			s.nodes = append(s.nodes, node(i, 4))
		}
		for i := range nodes { // they are full
			size := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "size")
			key := fmt.Sprintf("low%d", i)
			s.gangs = append(s.gangs, prioritised(key, 4/size, 0))
			s.add(key, 4/size, size)
		}
		each := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "each")
		count := rapid.IntRange(1, 4*nodes/each).Draw(t, "count")
		s.gangs = append(s.gangs, prioritised("rival", 1, 10))
		now := start
		e := s.start(t)
		s.run(e, now)
		high := prioritised("high", count, 10)
		s.gangs = append(s.gangs, high)
		e.Apply(high)
		before := len(s.tasks)
		s.add("high", count, each)
		for _, spec := range s.tasks[before:] {
			e.Apply(engine.TaskSet{Task: spec})
		}
		if len(s.run(e, now.Add(time.Second))) == 0 {
			t.Skip("nobody has to give way") // as when the rival has all
		}
		s.add("rival", 1, each) // it is looked at first, were it not for what was promised
		order := rapid.Permutation(slices.Clone(s.tasks)).Draw(t, "order of leaving")
		for _, leaves := range order {
			if rapid.IntRange(0, 2).Draw(t, "restarts") == 0 {
				restarted++
				e = s.start(t)
			}
			now = now.Add(time.Second)
			if slices.Contains(s.run(e, now), "high") {
				t.Fatalf("further pods have to go for high: others got its room")
			}
			if at := s.task(leaves.UID); at.Deleting {
				s.tasks = slices.DeleteFunc(s.tasks, func(x model.TaskSpec) bool { return x.UID == leaves.UID })
				e.Apply(engine.TaskGone{UID: leaves.UID})
			}
			if err := e.World.Check(); err != nil {
				t.Fatal(err)
			}
		}
		s.run(e, now.Add(time.Second))
		for i := range count {
			if s.task(fmt.Sprintf("high/%d", i)).Node == "" {
				t.Fatalf("high/%d waits, though all its victims are gone", i)
			}
		}
	})
	if restarted == 0 {
		t.Error("no scheduler was ever restarted")
	}
}
