package victims

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// The annotations, on pods and PodGroups, that say what may be taken.
const (
	preemptable    = "volcano.sh/preemptable"
	minAvailable   = "volcano.sh/jdb-min-available"
	maxUnavailable = "volcano.sh/jdb-max-unavailable"
)

// unit is what leaves together: one task or one sub-group beyond a gang's minimum, or
// all that the gang has.
type unit struct {
	rule  framework.Rule
	gang  *model.Gang
	tasks []*model.Task
	whole bool
	gone  []*model.Task // those that left with it; others were gone before

	rate           // how much it is worth to take
	lost   float64 // seconds of work, of all its tasks
	queue  int     // the rank of its queue: who is to be served last gives first
	number int     // of arrival among the units
}

// gather finds all units that the rules speak of.
func (c *choice) gather() {
	for _, rule := range c.Rules {
		for _, g := range slices.Backward(c.world.Gangs()) { // who came last goes first
			if g.Known && g.Queue != nil && g.Counts.Placed > 0 && g != c.Gang && c.concerns(rule, g) {
				c.divide(rule, g)
			}
		}
	}
}

// concerns reports whether a rule speaks of a gang.
func (c *choice) concerns(rule framework.Rule, g *model.Gang) bool {
	if says(g.Annotations, preemptable, "false") {
		return false
	}
	if rule == framework.Preempting {
		return g.Queue == c.Gang.Queue
	}
	if g.Queue == c.Gang.Queue {
		return false
	}
	_, branch := c.world.Quota.Siblings(c.Gang.Queue.ID, g.Queue.ID)
	for at := g.Queue.ID; ; at = c.world.Quota.Parent(at) {
		if !c.world.Queues()[at].Reclaimable {
			return false
		}
		if at == branch {
			return true
		}
	}
}

// divide makes the units of a gang: what is beyond its minimum, then all of it.
func (c *choice) divide(rule framework.Rule, g *model.Gang) {
	var tasks []*model.Task
	all := true
	for _, t := range g.Tasks {
		if t.Bucket != model.Assumed && t.Bucket != model.Bound {
			continue
		}
		if c.protects(t) {
			all = false
			continue
		}
		tasks = append(tasks, t)
	}
	slices.SortStableFunc(tasks, c.firstToGo)
	keep := budget(g)
	for _, some := range surplus(g, tasks, keep) {
		c.add(unit{rule: rule, gang: g, tasks: some})
	}
	if all && keep == 0 && g.Whole() && (g.Min > 0 || len(g.SubGroups) > 0) {
		c.add(unit{rule: rule, gang: g, tasks: tasks, whole: true})
	}
}

func (c *choice) add(u unit) {
	u.number = len(c.units)
	for _, t := range u.tasks {
		if !t.Started.IsZero() {
			u.lost += max(0, c.Now.Sub(t.Started).Seconds())
		}
	}
	c.units = append(c.units, u)
}

// protects reports whether a task may not be taken whoever asks.
func (c *choice) protects(t *model.Task) bool {
	if t.Pod != nil && (says(t.Pod.Annotations, preemptable, "false") || says(t.Pod.Labels, preemptable, "false")) {
		return true
	}
	_, ok := c.tiers.Protected(t, c.Now)
	c.protected = c.protected || ok
	return ok
}

// firstToGo orders the tasks of a gang: low priority first, then those that lose least.
func (c *choice) firstToGo(a, b *model.Task) int {
	if d := cmp.Compare(a.TaskSpec.Priority, b.TaskSpec.Priority); d != 0 {
		return d
	}
	if a.Started.IsZero() != b.Started.IsZero() {
		if a.Started.IsZero() {
			return -1
		}
		return 1
	}
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Seq, a.Seq))
}

// surplus cuts off tasks what a gang can do without: each by itself, those of whole
// sub-groups together. keep tasks must stay at least. A gang that is not whole can do
// without all it has.
func surplus(g *model.Gang, tasks []*model.Task, keep int32) [][]*model.Task {
	s := slack{role: make(map[string]int32, len(g.Roles)), parts: make([]int32, len(g.SubGroups))}
	s.all = g.Counts.Held() - max(g.Min, keep)
	for i := range g.Roles {
		s.role[g.Roles[i].Name] = g.Roles[i].Held() - g.Roles[i].Min
	}
	if !g.Whole() {
		s.all = g.Counts.Held() - keep
		clear(s.role)
	}
	in := map[*model.Task]model.Part{}
	for _, p := range g.Parts() {
		if p.Held >= g.SubGroups[p.Policy].Size {
			s.parts[p.Policy]++
		}
		for _, t := range p.Tasks {
			in[t] = p
		}
	}
	for i := range s.parts {
		s.parts[i] -= g.SubGroups[i].Least
	}
	var cut [][]*model.Task
	done := map[*model.Task]bool{}
	for _, t := range tasks {
		some := []*model.Task{t}
		p, member := in[t]
		if member && p.Held >= g.SubGroups[p.Policy].Size {
			some = slices.DeleteFunc(slices.Clone(tasks), func(o *model.Task) bool { return !slices.Contains(p.Tasks, o) })
			member = len(some) == int(p.Held) // else one of it must stay
			if !member || done[t] || s.parts[p.Policy] <= 0 {
				continue
			}
			s.parts[p.Policy]--
		}
		if s.spare(some) {
			cut = append(cut, some)
			for _, t := range some {
				done[t] = true
			}
		}
	}
	return cut
}

// slack is how many tasks a gang can do without, in all, of each role, and how many
// sub-groups of each policy.
type slack struct {
	all   int32
	role  map[string]int32 // of a role that is not in it, any number
	parts []int32
}

// spare takes tasks off what a gang can do without, if that is so many.
func (s *slack) spare(tasks []*model.Task) bool {
	roles := map[string]int32{}
	for _, t := range tasks {
		roles[t.Role]++
	}
	if int32(len(tasks)) > s.all {
		return false
	}
	for _, t := range tasks {
		if left, ok := s.role[t.Role]; ok && roles[t.Role] > left {
			return false
		}
	}
	s.all -= int32(len(tasks))
	for _, t := range tasks {
		if _, ok := s.role[t.Role]; ok {
			s.role[t.Role]--
		}
	}
	return true
}

// budget is how many tasks of a gang must stay by its disruption budget; 0: it has none.
func budget(g *model.Gang) int32 {
	keep := int32(0)
	alive := g.Counts.Alive()
	if n, ok := amount(g.Annotations[minAvailable], alive); ok {
		keep = n
	}
	if n, ok := amount(g.Annotations[maxUnavailable], alive); ok {
		keep = max(keep, alive-n)
	}
	return keep
}

// amount reads a number, or a percentage of all, rounded up.
func amount(text string, all int32) (int32, bool) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return 0, false
	}
	if percent {
		return int32((n*int64(all) + 99) / 100), true
	}
	return int32(n), true
}

func says(m map[string]string, key, value string) bool { return m[key] == value }
