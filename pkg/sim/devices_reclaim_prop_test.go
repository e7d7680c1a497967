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

// firm is the oracle of a world in which queues take devices back: what they are entitled
// to, and how many devices each gang takes.
type firm struct {
	t         *rapid.T
	do        func(string, ...any) []string
	total     int
	queues    []string
	guarantee map[string]int
	deserved  map[string]int
	limit     map[string]int
	crews     map[string]*crew
	made      int
}

// crew is a gang of which all or nothing runs. Shared: one claim for all of it, else one for each task.
type crew struct {
	queue          string
	size, each     int
	shared, placed bool
}

func (c *crew) takes() int {
	if c.shared {
		return c.each
	}
	return c.each * c.size
}

func (f *firm) used() map[string]int {
	used := map[string]int{}
	for _, c := range f.crews {
		if c.placed {
			used[c.queue] += c.takes()
		}
	}
	return used
}

// TestDevicesAreTakenBackAsDeserved lets gangs with devices come and go in queues that
// borrow from one another. Ceilings and guarantees hold, who is reclaimed from has more than
// it deserves and who reclaims no more, and at rest nobody waits who could take back.
func TestDevicesAreTakenBackAsDeserved(t *testing.T) {
	taken := 0
	world := func(t *rapid.T) {
		s, err := sim.New(conf.Default(), plugins.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		f := &firm{t: t, total: rapid.IntRange(2, 10).Draw(t, "devices"), queues: []string{"a", "b", "c"}}
		f.do = func(format string, args ...any) []string {
			out, err := s.Do(fmt.Sprintf(format, args...))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		f.found()
		for range rapid.IntRange(1, 10).Draw(t, "rounds") {
			f.happen()
			taken += f.settle()
		}
	}
	for n := 0; n < 20 && taken == 0; n++ { // in one of fifteen times a hundred worlds nobody takes
		rapid.Check(t, world)
	}
	if taken == 0 {
		t.Error("nothing was ever taken back")
	}
}

func (f *firm) found() {
	f.guarantee, f.deserved, f.limit, f.crews = map[string]int{}, map[string]int{}, map[string]int{}, map[string]*crew{}
	f.do("plugin capacity")
	f.do("action reclaim")
	f.do("devices gpu %d", f.total)
	f.do("node n cpu=1000")
	f.do("queue all deviceclass/gpu=%d", f.total)
	left := f.total
	for _, q := range f.queues {
		f.deserved[q] = rapid.IntRange(0, left).Draw(f.t, "deserved by "+q)
		left -= f.deserved[q]
		f.guarantee[q] = rapid.IntRange(0, f.deserved[q]).Draw(f.t, "guaranteed to "+q)
		f.limit[q] = rapid.IntRange(f.deserved[q], f.total).Draw(f.t, "limit of "+q)
		f.do("queue %s parent=all deviceclass/gpu=%d deserved.deviceclass/gpu=%d guarantee.deviceclass/gpu=%d", q, f.limit[q], f.deserved[q], f.guarantee[q])
	}
	for n := 1; n <= 3; n++ {
		f.do("template take%d class=gpu count=%d", n, n)
	}
}

// happen lets a gang come, or one that runs go.
func (f *firm) happen() {
	for _, name := range slices.Sorted(maps.Keys(f.crews)) {
		if f.crews[name].placed && rapid.IntRange(0, 3).Draw(f.t, name+" ends") == 0 {
			f.end(name)
			return
		}
	}
	f.made++
	name := fmt.Sprintf("g%d", f.made)
	c := &crew{
		queue: rapid.SampledFrom(f.queues).Draw(f.t, "queue"), size: rapid.IntRange(1, 3).Draw(f.t, "size"),
		each: rapid.IntRange(1, 3).Draw(f.t, "each"), shared: rapid.Bool().Draw(f.t, "shared"),
	}
	f.crews[name] = c
	claims := fmt.Sprintf("template=take%d", c.each)
	if c.shared {
		f.do("claim %s class=gpu count=%d", name, c.each)
		claims = "claims=" + name
	}
	f.do("gang %s min=%d tasks=%d cpu=1 queue=%s %s", name, c.size, c.size, c.queue, claims)
}

func (f *firm) end(name string) {
	for i := range f.crews[name].size {
		f.do("gone task %s/%d", name, i)
	}
	f.do("gone gang %s", name)
	delete(f.crews, name)
}

// settle runs cycles until nothing happens any more, and returns how many gangs had to go.
func (f *firm) settle() (taken int) {
	for quiet := 0; quiet < 2; quiet++ {
		f.do("after 10s") // victims are looked for again after a pause
		used := f.used()
		gone := map[string]bool{}
		for _, line := range f.do("cycle") {
			what, rest, _ := strings.Cut(line, " ")
			name, _, _ := strings.Cut(rest, "/")
			switch what {
			case "bind":
				if c := f.crews[name]; !c.placed {
					c.placed = true
					used[c.queue] += c.takes() // it may have to go in the same cycle
				}
				quiet = 0
			case "evict":
				gone[name], quiet = true, 0
				_, by, _ := strings.Cut(rest, "PodGroup ")
				by, _, _ = strings.Cut(by, " ")
				f.mayTake(used, name, by)
			}
		}
		f.holds()
		f.do("confirm")
		for _, name := range slices.Sorted(maps.Keys(gone)) {
			f.end(name)
			taken++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.crews)) {
		if c := f.crews[name]; !c.placed && f.couldTake(c) {
			f.t.Fatalf("%s %+v waits, though it could take back: %v used", name, *c, f.used())
		}
	}
	return taken
}

func (f *firm) mayTake(used map[string]int, victim, by string) {
	from, to := f.crews[victim].queue, f.crews[by].queue
	if used[from] <= f.deserved[from] {
		f.t.Fatalf("%s has to go for %s, though queue %s uses %d and deserves %d", victim, by, from, used[from], f.deserved[from])
	}
	if n := used[to] + f.crews[by].takes(); n > f.deserved[to] {
		f.t.Fatalf("%s takes from %s, though queue %s would have %d and deserves %d", by, victim, to, n, f.deserved[to])
	}
}

// holds checks ceilings and guarantees.
func (f *firm) holds() {
	used, claimed := f.used(), 0
	for _, q := range f.queues {
		claimed += max(used[q], f.guarantee[q])
		if used[q] > f.limit[q] {
			f.t.Fatalf("queue %s uses %d of %d", q, used[q], f.limit[q])
		}
	}
	if claimed > f.total {
		f.t.Fatalf("used are %v, guaranteed %v, of %d", used, f.guarantee, f.total)
	}
}

// couldTake reports whether there is room for a gang, or one gang that it may have for it.
func (f *firm) couldTake(c *crew) bool {
	used := f.used()
	fits := func() bool {
		claimed := 0
		for _, q := range f.queues {
			claimed += max(used[q], f.guarantee[q])
		}
		claimed += max(used[c.queue]+c.takes(), f.guarantee[c.queue]) - max(used[c.queue], f.guarantee[c.queue])
		return claimed <= f.total && used[c.queue]+c.takes() <= f.limit[c.queue]
	}
	if fits() {
		return true
	}
	if used[c.queue]+c.takes() > f.deserved[c.queue] {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(f.crews)) {
		o := f.crews[name]
		if !o.placed || o.queue == c.queue || used[o.queue] <= f.deserved[o.queue] || used[o.queue]-o.takes() < f.guarantee[o.queue] {
			continue
		}
		used[o.queue] -= o.takes()
		ok := fits()
		used[o.queue] += o.takes()
		if ok {
			return true
		}
	}
	return false
}
