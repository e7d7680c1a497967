package victims

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// preemptable, on pods and PodGroups, says what may be taken.
const preemptable = "volcano.sh/preemptable"

// unit is what leaves together: one task or one sub-group, which leave their gang its
// minimum, or all that the gang has.
type unit struct {
	rule   framework.Rule
	gang   *model.Gang
	tasks  []*model.Task
	*leave // what went with it when it left; nil before

	whole  bool
	broken bool  // its gang has not its minimum anyway
	again  bool  // its tasks are units by themselves as well
	keep   int32 // so many tasks of its gang must stay

	rate          // how much it is worth to take
	lost  float64 // seconds of work, of all its tasks
	class uint64  // what comes before all worth, and the rank of its queue; see order
	queue quota.ID
	// number is its place in the order before it was rated.
	number int32
}

// leave is what went with a unit. It is apart, since of 100,000 units few leave.
type leave struct {
	gone   []*model.Task   // those that left with it; others were gone before
	gave   resource.Vector // what its queue was charged no more
	spared resource.Vector // what left of its gang's surplus
}

// giver is a gang that may have to give way, by a rule.
type giver struct {
	rule framework.Rule
	gang *model.Gang
}

// gather finds the gangs that the rules speak of and the plugins let go of.
func (c *choice) gather() {
	for _, rule := range c.Rules {
		if rule == framework.Swapping {
			if g := c.Gang; len(g.SubGroups) == 0 && !forbids(g.Annotations) {
				c.givers = append(c.givers, giver{rule, g})
			}
			continue
		}
		for id, gangs := range c.Holders.of {
			if len(gangs) > 0 && c.concerns(rule, c.world.Queues()[id]) {
				c.ask(rule, gangs)
			}
		}
	}
}

// concerns reports whether a rule speaks of the gangs of a queue.
func (c *choice) concerns(rule framework.Rule, q *model.Queue) bool {
	if rule == framework.Preempting || q == c.Gang.Queue {
		return rule == framework.Preempting && q == c.Gang.Queue
	}
	_, branch := c.world.Quota.Siblings(c.Gang.Queue.ID, q.ID)
	for at := q.ID; ; at = c.world.Quota.Parent(at) {
		if !c.world.Queues()[at].Reclaimable {
			return false
		}
		if at == branch {
			return true
		}
	}
}

// ask asks the plugins about the gangs of a queue, only once if they look at the queue alone.
func (c *choice) ask(rule framework.Rule, gangs []*model.Gang) {
	once, asked := c.tiers.VoteByQueue(rule), false
	for _, g := range gangs {
		if g == c.Gang || forbids(g.Annotations) {
			continue
		}
		if !once || !asked {
			if asked = c.thinkable(rule, g); !asked {
				if once {
					return
				}
				continue
			}
		}
		c.givers = append(c.givers, giver{rule, g})
	}
}

// thinkable reports whether the plugins would let a gang give a little, as things are. With
// each that leaves they let go of less.
func (c *choice) thinkable(rule framework.Rule, g *model.Gang) bool {
	if c.little == nil {
		for d, n := range c.Need {
			c.little.Set(d, min(n, 1))
		}
	}
	return c.tiers.MayTake(rule, framework.Taking{By: c.Gang, Need: c.Need, From: g, Takes: c.little})
}

// promising reports whether there would be room for as many tasks of each class as there
// are, if all left that may be asked.
func (c *choice) promising() bool {
	for _, from := range c.givers {
		for _, t := range from.gang.Tasks {
			if t.Placed() {
				c.Holders.free(t)
			}
		}
	}
	return c.roomy() && len(c.givers) > 0
}

// roomy reports whether there would be room for as many tasks of each class as there are,
// with what was noted to be freed; that is forgotten then.
func (c *choice) roomy() bool {
	defer c.Holders.clear()
	for _, class := range c.Classes {
		lack := class.N - class.Room
		for _, n := range c.Holders.nodes {
			if lack <= 0 {
				break
			}
			if class.Fits(n) {
				lack -= c.more(class, n, c.Holders.freed[n.ID])
			}
		}
		if lack > 0 {
			return false
		}
	}
	return true
}

// divide makes the units of a gang: each task by itself, those of a whole sub-group
// together, and all of it. Which of them it can do without shows when they are taken.
func (c *choice) divide(rule framework.Rule, g *model.Gang) {
	tasks, all := c.candidates(g)
	keep := c.Holders.mustStay(g)
	broken := !g.Whole()
	if broken && c.Beyond {
		return
	}
	apart := broken || g.Counts.Held() > g.Min
	if apart {
		for _, some := range slices.Backward(parts(g, tasks)) { // the order is turned round later
			c.add(unit{rule: rule, gang: g, tasks: some, keep: keep, broken: broken})
		}
	}
	breaks := !c.Beyond && !slices.Contains(c.Sparing, rule)
	if breaks && all && keep == 0 && !broken && together(g) && len(tasks) > 0 {
		c.add(unit{rule: rule, gang: g, tasks: tasks, whole: true, again: apart})
	}
}

// candidates are the tasks of a gang that may be taken, the first to go first; all: it
// has no others.
func (c *choice) candidates(g *model.Gang) (tasks []*model.Task, all bool) {
	tasks, all = c.room(g), true
	for _, t := range g.Tasks {
		switch {
		case !t.Placed():
		case c.protects(t):
			all = false
		default:
			tasks = append(tasks, t)
		}
	}
	slices.Reverse(tasks) // in their order of arrival, the last first, they are mostly in order already
	if !slices.IsSortedFunc(tasks, firstToGo) {
		slices.SortFunc(tasks, firstToGo) // no two are alike
	}
	return tasks, all
}

// divideOwn makes a unit of each task of the gang itself that may go for others of it: it
// keeps its minimum, or has it again with those that come. A gang with sub-groups has no
// such tasks, since what is of use without them is not known.
func (c *choice) divideOwn() {
	g := c.Gang
	least := g.Min
	if !g.Whole() {
		for _, class := range c.Classes {
			least -= int32(class.N)
		}
	}
	tasks, _ := c.candidates(g)
	keep := c.Holders.mustStay(g)
	for i := range slices.Backward(tasks) {
		c.add(unit{rule: framework.Swapping, gang: g, tasks: tasks[i : i+1], keep: max(keep, least)})
	}
}

// leavesEnough reports whether a gang can do without the tasks of a unit, which have left. One
// that swaps keeps the minimum of the role that gives; what it has left is confirmed, as
// what is on its way may come to nothing.
func (u *unit) leavesEnough() bool {
	if u.rule != framework.Swapping {
		return suffices(u.gang, u.keep, u.broken)
	}
	role := u.tasks[0].Role
	return u.gang.Counts.Confirmed() >= u.keep &&
		!slices.ContainsFunc(u.gang.Roles, func(r model.Role) bool { return r.Name == role && r.Confirmed() < r.Min })
}

// together reports whether a gang has a minimum at all.
func together(g *model.Gang) bool {
	return g.Min > 0 || slices.ContainsFunc(g.Roles, func(r model.Role) bool { return r.Min > 0 }) ||
		slices.ContainsFunc(g.SubGroups, func(s model.SubGroup) bool { return s.Least > 0 })
}

// suffices reports whether what a gang has left will do: so many tasks must stay, and its
// minimum, unless it had not even that.
func suffices(g *model.Gang, keep int32, broken bool) bool {
	return g.Counts.Held() >= keep && (broken || g.Whole())
}

// parts divides tasks into those that may leave by themselves: each alone, but those of
// a whole sub-group all together.
func parts(g *model.Gang, tasks []*model.Task) [][]*model.Task {
	if len(g.SubGroups) == 0 {
		cut := make([][]*model.Task, len(tasks))
		for i := range tasks {
			cut[i] = tasks[i : i+1]
		}
		return cut
	}
	in := map[*model.Task]int{}
	sub := g.Parts()
	for i, p := range sub {
		if p.Held >= g.SubGroups[p.Policy].Size {
			for _, t := range p.Tasks {
				in[t] = i + 1
			}
		}
	}
	var cut [][]*model.Task
	at := map[int]int{} // where the tasks of a sub-group are in cut
	for _, t := range tasks {
		p := in[t]
		if i, ok := at[p]; ok && p > 0 {
			cut[i] = append(cut[i], t)
			continue
		}
		at[p] = len(cut)
		cut = append(cut, []*model.Task{t})
	}
	return slices.DeleteFunc(cut, func(some []*model.Task) bool {
		p := in[some[0]]
		return p > 0 && int32(len(some)) < sub[p-1].Held // one of it must stay
	})
}

// room is an empty list for the tasks that a gang has on nodes; those of many gangs are cut
// from one.
func (c *choice) room(g *model.Gang) []*model.Task {
	n := int(g.Counts.Placed)
	if len(c.lists) < n {
		c.lists = make([]*model.Task, max(n, many))
	}
	list := c.lists[:0:n]
	c.lists = c.lists[n:]
	return list
}

// many is of how many units memory is taken at once: there may be 100,000.
const many = 512

func (c *choice) add(of unit) {
	if len(c.memory) == cap(c.memory) {
		c.memory = make([]unit, 0, many)
	}
	c.memory = append(c.memory, of)
	u := &c.memory[len(c.memory)-1]
	u.class, u.queue = c.classOf(u), u.gang.Queue.ID
	for _, t := range u.tasks {
		if !t.Started.IsZero() {
			u.lost += max(0, c.Now.Sub(t.Started).Seconds())
		}
	}
	c.units = append(c.units, u)
}

// protects reports whether a task may not be taken whoever asks.
func (c *choice) protects(t *model.Task) bool {
	if forbidden(t) {
		return true
	}
	ok := c.Stays(t)
	if !ok {
		_, ok = c.tiers.Protected(t, c.Now)
	}
	c.protected = c.protected || ok
	return ok
}

// firstToGo orders the tasks of a gang: low priority first, then those that lose least.
func firstToGo(a, b *model.Task) int {
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

// forbidden reports whether a task's pod says that it may not be taken.
func forbidden(t *model.Task) bool {
	return t.Pod != nil && (forbids(t.Pod.Annotations) || forbids(t.Pod.Labels))
}

// forbids reports whether annotations or labels say that nothing may be taken.
func forbids(m map[string]string) bool {
	may, err := strconv.ParseBool(m[preemptable])
	return err == nil && !may
}
