package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/sim"
)

// team is a gang in the oracle: all its tasks share claims, and each has one of its own.
type team struct {
	queue string
	size  int
	share []string
	own   bool
}

// office is the oracle: who has which claim, in the order in which they got it.
type office struct {
	takes map[string]int // by claim
	limit map[string]int // by queue; b and c are below a
	teams map[string]*team
	bound map[string]bool     // tasks
	users map[string][]string // tasks by claim, as they were bound
}

func (o *office) claims(gang string, task int) []string {
	t := o.teams[gang]
	claims := slices.Clone(t.share)
	if t.own {
		claims = append(claims, fmt.Sprintf("%s/%d own", gang, task))
	}
	return claims
}

// taken is what a claim takes; one of a task's own takes 1.
func (o *office) taken(claim string) int {
	if n, ok := o.takes[claim]; ok {
		return n
	}
	return 1
}

func above(queue string) []string {
	if queue == "a" {
		return []string{"a"}
	}
	return []string{queue, "a"}
}

func (o *office) used() map[string]int {
	used := map[string]int{}
	for claim, users := range o.users {
		if len(users) > 0 {
			gang, _, _ := strings.Cut(users[0], "/")
			for _, q := range above(o.teams[gang].queue) {
				used[q] += o.taken(claim)
			}
		}
	}
	return used
}

func (o *office) bind(task string) {
	var n int
	gang, number, _ := strings.Cut(task, "/")
	_, _ = fmt.Sscan(number, &n)
	o.bound[task] = true
	for _, claim := range o.claims(gang, n) {
		o.users[claim] = append(o.users[claim], task)
	}
}

func (o *office) leave(task string) {
	delete(o.bound, task)
	for claim := range o.users {
		o.users[claim] = slices.DeleteFunc(o.users[claim], func(u string) bool { return u == task })
	}
}

// room reports whether a gang of which no task is bound could be bound whole.
func (o *office) room(gang string) bool {
	need := map[string]bool{}
	for i := range o.teams[gang].size {
		for _, claim := range o.claims(gang, i) {
			need[claim] = len(o.users[claim]) == 0
		}
	}
	sum := 0
	for claim, lacks := range need {
		if lacks {
			sum += o.taken(claim)
		}
	}
	used := o.used()
	for _, q := range above(o.teams[gang].queue) {
		if sum > 0 && used[q]+sum > o.limit[q] {
			return false
		}
	}
	return true
}

// TestQueuesAreChargedForDevicesOnceAndFilled lets gangs with claims of their own and
// shared ones, also between queues, come and go. No queue grows over its ceiling, and
// at rest whoever still waits has no room.
func TestQueuesAreChargedForDevicesOnceAndFilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := sim.New(conf.Default(), plugins.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		do := func(format string, args ...any) []string {
			out, err := s.Do(fmt.Sprintf(format, args...))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		o := &office{takes: map[string]int{}, limit: map[string]int{}, teams: map[string]*team{}, bound: map[string]bool{}, users: map[string][]string{}}
		do("plugin capacity")
		do("node n cpu=1000")
		do("template own class=gpu")
		for _, q := range []string{"a", "b", "c"} {
			o.limit[q] = rapid.IntRange(1, 8).Draw(t, "limit of "+q)
			parent := "parent=a"
			if q == "a" {
				parent = ""
			}
			do("queue %s %s deviceclass/gpu=%d", q, parent, o.limit[q])
		}
		for _, claim := range []string{"x", "y", "z"} {
			o.takes[claim] = rapid.IntRange(1, 4).Draw(t, "takes of "+claim)
			do("claim %s class=gpu count=%d", claim, o.takes[claim])
		}
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			o.happen(t, do)
			o.settle(t, do)
		}
	})
}

// happen lets a gang come, or one that is bound go.
func (o *office) happen(t *rapid.T, do func(string, ...any) []string) {
	if bound := slices.Sorted(maps.Keys(o.bound)); len(bound) > 0 && rapid.Bool().Draw(t, "goes") {
		gang, _, _ := strings.Cut(rapid.SampledFrom(bound).Draw(t, "who"), "/")
		for i := range o.teams[gang].size {
			task := fmt.Sprintf("%s/%d", gang, i)
			do("gone task %s", task)
			o.leave(task)
		}
		do("gone gang %s", gang)
		return
	}
	name := fmt.Sprintf("g%d", len(o.teams))
	tm := &team{queue: rapid.SampledFrom([]string{"b", "c"}).Draw(t, "queue"), size: rapid.IntRange(1, 3).Draw(t, "size"), own: rapid.Bool().Draw(t, "own")}
	for _, claim := range []string{"x", "y", "z"} {
		if rapid.IntRange(0, 2).Draw(t, claim) == 0 {
			tm.share = append(tm.share, claim)
		}
	}
	o.teams[name] = tm
	own := ""
	if tm.own {
		own = "template=own"
	}
	do("gang %s min=%d tasks=%d cpu=1 queue=%s claims=%s %s", name, tm.size, tm.size, tm.queue, strings.Join(tm.share, ","), own)
}

// settle runs cycles until nothing happens any more, and compares.
func (o *office) settle(t *rapid.T, do func(string, ...any) []string) {
	before := o.used()
	for again := true; again; {
		again = false
		for _, line := range do("cycle") {
			if task, found := strings.CutPrefix(line, "bind "); found {
				o.bind(strings.TrimSuffix(task, " n"))
				again = true
			}
		}
		do("confirm")
	}
	for q, n := range o.used() {
		// A queue may be over since before: a claim falls to it when those who had it go.
		if n > o.limit[q] && n > before[q] {
			t.Fatalf("queue %s uses %d of %d: %v", q, n, o.limit[q], o.users)
		}
	}
	for gang, tm := range o.teams {
		if waits := do("explain %s", gang)[0] != gang+" does not wait"; waits && o.room(gang) {
			t.Fatalf("%s %+v waits, though there is room: %v of %v used", gang, *tm, o.used(), o.limit)
		}
	}
}
