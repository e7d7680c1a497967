package slo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// drawn is a gang as it is to be told.
type drawn struct {
	key, queue      string
	min             int32
	placed, waiting int
	since           time.Duration
	notes           []string
}

// drawGangs draws gangs of all kinds in some queues.
func drawGangs(t *rapid.T) []drawn {
	span := func(name string) string {
		return (time.Duration(rapid.IntRange(1, 600).Draw(t, name)) * time.Minute).String()
	}
	var list []drawn
	for i := range rapid.IntRange(2, 7).Draw(t, "gangs") {
		d := drawn{
			key: fmt.Sprintf("ns/%d", i), queue: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "queue")),
			min: rapid.Int32Range(0, 3).Draw(t, "min"), placed: rapid.IntRange(0, 4).Draw(t, "placed"),
			waiting: rapid.IntRange(0, 3).Draw(t, "waiting"),
			since:   -time.Duration(rapid.IntRange(0, 600).Draw(t, "ran")) * time.Minute,
		}
		note := func(key string, value func() string) {
			if rapid.Bool().Draw(t, key) {
				d.notes = append(d.notes, key, value())
			}
		}
		note(deadline, func() string { return in(time.Duration(rapid.IntRange(-60, 900).Draw(t, "due")) * time.Minute) })
		note(estimate, func() string { return span("estimate") })
		note(progress, func() string { return fmt.Sprintf("%d%%", rapid.IntRange(0, 100).Draw(t, "percent")) })
		note(replicas, func() string { return fmt.Sprint(rapid.IntRange(1, 5).Draw(t, "least")) })
		note(least, func() string { return "10" })
		note(throughput, func() string { return fmt.Sprint(rapid.IntRange(5, 15).Draw(t, "rate")) })
		list = append(list, d)
	}
	return list
}

// tell tells a stage of gangs, and returns them.
func (s *stage) tell(list []drawn) []*model.Gang {
	var gangs []*model.Gang
	for _, d := range list {
		s.w.SetQueue(model.QueueSpec{Name: d.queue})
		gangs = append(gangs, s.gang(d.key, d.queue, d.min, d.notes...))
		s.tasks(d.key, d.placed+d.waiting, time.Time{}, model.NotEnded)
		s.tasks(d.key, d.placed, start.Add(d.since), model.NotEnded)
	}
	return gangs
}

// TestTheOrderIsTotalAndUrgentGangsGoFirst compares all with all, among gangs and among
// queues, and with another plugin that was told in another order.
func TestTheOrderIsTotalAndUrgentGangsGoFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := framework.Args{"slo.threshold": float64(rapid.IntRange(1, 10).Draw(t, "threshold")) / 10}
		list := drawGangs(t)
		s, other := newStage(t, args), newStage(t, args)
		gangs := s.tell(list)
		slices.Reverse(list)
		others := other.tell(list)
		slices.Reverse(others)
		s.at(0)
		other.at(0)
		compare := func(i, j int) int {
			got := s.CompareGangs(gangs[i], gangs[j])
			if again := other.CompareGangs(others[i], others[j]); sign(got) != sign(again) {
				t.Fatalf("gangs %d and %d: %d, told in another order %d", i, j, got, again)
			}
			return got
		}
		queues := func(i, j int) int {
			a, b := &model.Queue{ID: gangs[i].Queue.ID, Next: gangs[i]}, &model.Queue{ID: gangs[j].Queue.ID, Next: gangs[j]}
			return s.CompareQueues(a, b)
		}
		total(t, len(gangs), compare)
		total(t, len(gangs), queues)
		for i := range gangs {
			for j := range gangs {
				x, _ := s.VoteOnGang(gangs[i], nil)
				y, _ := s.VoteOnGang(gangs[j], nil)
				if x == framework.Permit && y == framework.Abstain && (compare(i, j) >= 0 || queues(i, j) >= 0) {
					t.Fatalf("gang %d is urgent, %d is not, and goes first: %d, %d", i, j, compare(i, j), queues(i, j))
				}
			}
		}
	})
}

// total checks that an order of n things knows no circles.
func total(t *rapid.T, n int, c func(i, j int) int) {
	for i := range n {
		for j := range n {
			if sign(c(i, j)) != -sign(c(j, i)) {
				t.Fatalf("gangs %d and %d: %d one way, %d the other", i, j, c(i, j), c(j, i))
			}
			for k := range n {
				if c(i, j) <= 0 && c(j, k) <= 0 && (c(i, k) > 0 || c(i, k) == 0 && c(i, j)+c(j, k) < 0) {
					t.Fatalf("gangs %d, %d and %d go round: %d, %d, %d", i, j, k, c(i, j), c(j, k), c(i, k))
				}
			}
		}
	}
}

// standing is all that time alone may change.
type standing struct {
	vote  framework.Vote
	unmet reason.Code
}

// TestNothingChangesBeforeTheInstantThatIsNamed looks at random instants up to the one
// that the plugin names, and goes on from there until nothing more is to come.
func TestNothingChangesBeforeTheInstantThatIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStage(t, framework.Args{"slo.threshold": float64(rapid.IntRange(1, 10).Draw(t, "threshold")) / 10})
		gangs := s.tell(drawGangs(t))
		now := time.Duration(0)
		look := func(at time.Duration) (all []standing) {
			s.at(at)
			for _, g := range gangs {
				vote, _ := s.VoteOnGang(g, nil)
				why, _ := s.Unmet(g)
				all = append(all, standing{vote, why.Code})
			}
			return all
		}
		before := look(now)
		for range 100 {
			next, ok := s.ChangesAt()
			until := next.Sub(start)
			if !ok {
				until = now + 1000*time.Hour
			}
			if until <= now {
				t.Fatalf("at %v it names %v", now, until)
			}
			for range 3 {
				at := now + time.Duration(rapid.Int64Range(0, int64(until-now)/1e6-1).Draw(t, "at"))*time.Millisecond
				if got := look(at); !slices.Equal(got, before) {
					t.Fatalf("at %v, before %v: %v, was %v", at, until, got, before)
				}
			}
			if !ok {
				return
			}
			now = until
			after := look(now)
			for i, g := range gangs {
				if after[i] != before[i] && !slices.Contains(s.Changed(), g) {
					t.Fatalf("at %v gang %d was %v and is %v, and is not named", now, i, before[i], after[i])
				}
			}
			before = after
		}
		t.Fatal("it goes on for ever")
	})
}
