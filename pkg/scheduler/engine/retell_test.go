package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// TestStaleReasonsAreToldAFewAtATime has a thousand gangs wait for more room than
// there is, and that change without being enough.
func TestStaleReasonsAreToldAFewAtATime(t *testing.T) {
	const gangs, most = 1000, 100
	e := withGuest(t, conf.Default(), nil)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 8))
	for g := range gangs {
		submit(e, fmt.Sprintf("g%d", g), 2, 8)
	}
	now := start
	e.Run(now)
	now = now.Add(time.Second)
	e.Apply(engine.NodeSet{Node: model.NodeSpec{Name: "n1", Allocatable: gpus(4)}})
	if told := len(e.Run(now).Decisions); told != 0 {
		t.Fatalf("%d are told at once that there is another small node", told)
	}
	told := map[string]int{}
	for runs := 0; ; runs++ {
		next, ok := e.Next()
		if !ok {
			break
		}
		if runs == 0 && next.Sub(now) != 5*time.Second {
			t.Errorf("they are told in %v, want 5s", next.Sub(now))
		}
		if runs > 2*gangs/most {
			t.Fatal("it never ends")
		}
		now = next
		n := 0
		for _, d := range e.Run(now).Decisions {
			if refuse, ok := d.(engine.Refuse); ok {
				told[refuse.Gang]++
				n++
			}
		}
		if n > most {
			t.Errorf("%d are told in one run, want %d at most", n, most)
		}
	}
	if len(told) != gangs || slices.Max(slices.Collect(maps.Values(told))) != 1 {
		t.Errorf("%d of %d gangs were told, some of them not once: %v", len(told), gangs, told)
	}
	if took := now.Sub(start); took > 8*time.Second {
		t.Errorf("the last is told after %v", took)
	}
}

// TestABusyClusterKeepsNobodyFromBeingToldAnew has numbers change all the time.
func TestABusyClusterKeepsNobodyFromBeingToldAnew(t *testing.T) {
	const gangs = 300
	e := withGuest(t, conf.Default(), nil)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 8))
	for g := range gangs {
		submit(e, fmt.Sprintf("g%d", g), 5, 4)
	}
	now := start
	e.Run(now)
	last, told := map[string]time.Time{}, 0
	for i := range 1500 {
		now = now.Add(20 * time.Millisecond)
		e.Apply(node(1, int64(4*(i%3))))
		for _, d := range e.Run(now).Decisions {
			if refuse, ok := d.(engine.Refuse); ok {
				if at, ok := last[refuse.Gang]; ok && now.Sub(at) < 5*time.Second {
					t.Fatalf("%s is told again after %v", refuse.Gang, now.Sub(at))
				}
				last[refuse.Gang] = now
				told++
			}
		}
	}
	if least := gangs * 5; len(last) != gangs || told < least {
		t.Errorf("%d of %d gangs were told, %d times in half a minute, want %d at least", len(last), gangs, told, least)
	}
}

// TestOfOneThingOnlyAFewHintsAreTold: a gang and a queue of which there is more to say than
// anybody reads must not crowd out what there is to tell of others.
func TestOfOneThingOnlyAFewHintsAreTold(t *testing.T) {
	said := make([]string, 2000)
	for i := range said {
		said[i] = strings.Repeat(string(rune('a'+i%26)), 100_000)
	}
	e := withGuest(t, conf.Default(), nil)
	e.Apply(
		engine.QueueSet{Queue: model.QueueSpec{Name: "q", Unread: said}},
		engine.GangSet{Gang: model.GangSpec{Key: "g", UID: "u", Queue: "q", Unread: said}},
	)
	told := 0
	for _, d := range e.Run(start).Decisions {
		n, ok := d.(engine.Notice)
		if !ok {
			continue
		}
		told++
		size := 0
		for _, text := range n.Said {
			size += len(text)
		}
		if len(n.Said) > 11 || size > 10_000 {
			t.Errorf("of gang %q, queue %q: %d notices with %d bytes", n.Gang, n.Queue, len(n.Said), size)
		}
		if last := n.Said[len(n.Said)-1]; last != "there is more like that: correct these first" {
			t.Errorf("it ends with %q", last)
		}
	}
	if told != 2 {
		t.Errorf("%d are told, want the gang and the queue", told)
	}
}
