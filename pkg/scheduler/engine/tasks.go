package engine

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// group is the waiting tasks of one role, class and kind: what fits one fits all.
type group struct {
	class *model.Class
	role  string
	kind  string // see framework.JudgesTasks; empty: no plugin judges it
	tasks []*model.Task
	room  int64
}

// missing picks the waiting tasks that a gang lacks to be whole: those of roles
// below their own minimum, those that complete sub-groups, then others, in the
// order of the plugins.
func (e *Engine) missing(g *model.Gang) []*model.Task {
	all := slices.SortedFunc(waiting(g), e.tiers.CompareTasks)
	parts := completing(g)
	lack := g.Min - g.Counts.Held()
	roleLack := make(map[string]int32, len(g.Roles))
	short := len(parts) > 0
	for i := range g.Roles {
		r := &g.Roles[i]
		roleLack[r.Name] = r.Min - r.Held()
		short = short || roleLack[r.Name] > 0
	}
	if lack <= 0 && !short {
		return nil
	}
	picked := make([]*model.Task, 0, len(all))
	var others []*model.Task
	for _, t := range all {
		if parts[t] || roleLack[t.Role] > 0 {
			roleLack[t.Role]--
			picked = append(picked, t)
		} else {
			others = append(others, t)
		}
	}
	if more := int(lack) - len(picked); more > 0 {
		picked = append(picked, others[:min(more, len(others))]...)
	}
	return picked
}

// completing picks the waiting tasks that complete as many sub-groups as a gang
// lacks: those that lack least first, then those that came first.
func completing(g *model.Gang) map[*model.Task]bool {
	parts := g.Parts()
	if parts == nil {
		return nil
	}
	picked := map[*model.Task]bool{}
	lack, open := openParts(g, parts)
	for _, i := range open {
		p := parts[i]
		if lack[p.Policy] > 0 {
			lack[p.Policy]--
			pick(p, int(g.SubGroups[p.Policy].Size-p.Held), picked)
		}
	}
	return picked
}

// openParts says how many sub-groups of each policy a gang lacks, and which could be
// completed, by index: those that lack least first, then those that came first.
func openParts(g *model.Gang, parts []model.Part) (lack []int32, open []int) {
	for _, s := range g.SubGroups {
		lack = append(lack, s.Least)
	}
	for i, p := range parts {
		size := g.SubGroups[p.Policy].Size
		if p.Held >= size {
			lack[p.Policy]--
		} else if p.Alive >= size {
			open = append(open, i)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(parts[b].Held, parts[a].Held) })
	return lack, open
}

// pick marks the first n waiting tasks of a sub-group.
func pick(p model.Part, n int, picked map[*model.Task]bool) {
	for _, t := range p.Tasks {
		if n > 0 && t.Bucket == model.Waiting {
			picked[t] = true
			n--
		}
	}
}

// unit is tasks beyond a minimum that are placed in one go: a sub-group, whole, or
// one group of tasks that are placed each for itself.
type unit struct {
	groups []group
	whole  bool
}

// units divides the waiting tasks beyond a minimum.
func (e *Engine) units(g *model.Gang) []unit {
	var units []unit
	in := map[*model.Task]bool{} // of sub-groups that lack tasks
	for _, p := range g.Parts() {
		size := g.SubGroups[p.Policy].Size
		if p.Held >= size {
			continue
		}
		picked := map[*model.Task]bool{}
		pick(p, int(size-p.Held), picked)
		var tasks []*model.Task
		for _, t := range p.Tasks {
			in[t] = true // its turn comes when its sub-group is complete
			if picked[t] {
				tasks = append(tasks, t)
			}
		}
		if p.Alive >= size && len(tasks) > 0 {
			units = append(units, unit{groups: e.groupsOf(tasks), whole: true})
		}
	}
	single := slices.DeleteFunc(slices.SortedFunc(waiting(g), e.tiers.CompareTasks), func(t *model.Task) bool { return in[t] })
	for _, gr := range e.groupsOf(single) {
		units = append(units, unit{groups: []group{gr}})
	}
	return units
}

// waiting yields the tasks of a gang that could be placed now.
func waiting(g *model.Gang) iter.Seq[*model.Task] {
	return func(yield func(*model.Task) bool) {
		for _, t := range g.Tasks {
			if t.Bucket == model.Waiting && !yield(t) {
				return
			}
		}
	}
}

// groupsOf sorts tasks by role, class and kind, in the order in which those first appear.
func (e *Engine) groupsOf(tasks []*model.Task) []group {
	var groups []group
	for _, t := range tasks {
		kind := e.tiers.Kind(t)
		i := slices.IndexFunc(groups, func(g group) bool { return g.class == t.Class && g.role == t.Role && g.kind == kind })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{class: t.Class, role: t.Role, kind: kind})
		}
		groups[i].tasks = append(groups[i].tasks, t)
	}
	return groups
}

// mixed reports whether it matters which of the waiting tasks of a gang are placed, and where.
func (e *Engine) mixed(g *model.Gang) bool {
	var first *model.Task
	kind := ""
	for t := range waiting(g) {
		if first == nil {
			first, kind = t, e.tiers.Kind(t)
		}
		if len(g.SubGroups) > 0 || t.Class != first.Class || e.tiers.Kind(t) != kind {
			return true
		}
	}
	return false
}

// orphan is a pod that asks for our scheduler without a gang that exists.
type orphan struct {
	task  *model.Task
	since time.Time
	told  bool // it was refused
}

// callOutOrphans refuses pods that had no gang for too long, once each, and takes
// that back when their gang comes.
func (e *Engine) callOutOrphans(c *Cycle) {
	for _, t := range e.World.TakeLoose() {
		e.adopt(t, c.Now)
	}
	for _, en := range c.changed {
		if en.gang.Known {
			continue
		}
		for _, t := range en.gang.Tasks {
			e.adopt(t, c.Now)
		}
	}
	left := e.orphans[:0]
	fault.Each(e.orphans, func(o *orphan) {
		if c.callOut(o) {
			delete(e.adopted, o.task)
		} else {
			left = append(left, o)
		}
	}, func(o *orphan, broke fault.Fault) {
		delete(e.adopted, o.task)
		e.note(Fault{Kind: "Pod", Object: o.task.Name, Doing: "see whether it has a PodGroup"}, broke)
	})
	clear(e.orphans[len(left):])
	e.orphans = left
}

// adopt begins to count how long a pod has no gang.
func (e *Engine) adopt(t *model.Task, now time.Time) {
	if !e.adopted[t] {
		e.adopted[t] = true
		e.orphans = append(e.orphans, &orphan{task: t, since: now})
	}
}

// callOut says of one orphan what there is to say, and whether it is none any more.
func (c *Cycle) callOut(o *orphan) (settled bool) {
	t := o.task
	tell := func(why reason.Reason) {
		c.emit(Refuse{Gang: t.TaskSpec.Gang, UID: t.UID, Task: t.Name, Why: why})
	}
	switch {
	case c.World.TaskOf(t.UID) != t || (t.Bucket != model.Waiting && t.Bucket != model.Gated):
		return true
	case t.Gang != nil && t.Gang.Known:
		if o.told {
			tell(reason.Reason{Code: reason.GangFound, Object: t.Gang.Key})
		}
		return true
	case t.Bucket == model.Gated:
		o.since = c.Now // whoever gates it may give it a gang yet
	case o.told || c.Now.Before(o.since.Add(c.engine.config.OrphansAfter)):
	case t.Gang != nil:
		o.told = true
		tell(reason.Reason{Code: reason.GangMissing, Object: t.Gang.Key})
	default:
		o.told = true
		tell(reason.Reason{Code: reason.NoGang})
	}
	return false
}

// notice says what can't be right in the hints of gangs and queues that changed.
func (c *Cycle) notice() {
	for _, name := range c.engine.told {
		if q := c.World.QueueNamed(name); q != nil && q.Known {
			if said := few(slices.Concat(q.Unread, c.engine.tiers.NoticesOnQueue(q))); len(said) > 0 {
				c.emit(Notice{Queue: name, Said: said})
			}
		}
	}
	c.engine.told = nil
	for _, en := range c.changed {
		if !en.gang.Known {
			continue
		}
		said := few(slices.Concat(en.gang.Unread, c.engine.tiers.Notices(en.gang)))
		if !slices.Equal(said, en.said) && len(said) > 0 {
			c.emit(Notice{Gang: en.gang.Key, UID: en.gang.UID, Said: said})
		}
		en.said = said
	}
}

// few bounds what is said of one thing: who tells it has others to tell of.
func few(said []string) []string {
	const most, letters = 10, 500
	more := len(said) > most
	if more {
		said = said[:most]
	}
	for i := range said {
		said[i] = reason.Clip(said[i], letters)
	}
	if more {
		said = append(said, "there is more like that: correct these first")
	}
	return said
}

// openGates opens the gates of tasks that wait for their queue to have room, as far
// as it has, once it has room for all that the gang lacks: those that come after
// see no pod that lacks nothing but quota, and add no nodes for it. What was let in
// is promised to the gang for a while.
func (c *Cycle) openGates(en *entry) (refusal, bool) {
	e, g := c.engine, en.gang
	if g.Counts.Gated == 0 {
		return refusal{}, true
	}
	if why, wakes, ok := e.mayRun(g); !ok {
		return refusal{why: why, wakes: wakes}, false
	}
	open, takes, no, ok := e.toOpen(g)
	if !ok {
		return no, false
	}
	for _, t := range open {
		if !en.opened[t] {
			c.emit(Ungate{UID: t.UID, Name: t.Name, Gang: g.Key})
		}
	}
	if len(open) > 0 {
		e.World.Promise(g, takes)
		e.timers[en] = c.Now.Add(e.config.PatienceFor)
	}
	en.opened = map[*model.Task]bool{}
	for _, t := range open {
		en.opened[t] = true
	}
	return refusal{}, true
}

// toOpen picks the tasks whose gates may be opened, and what they take; false, with the
// reason, when the queue lacks room for all that the gang lacks.
func (e *Engine) toOpen(g *model.Gang) (open []*model.Task, takes resource.Vector, no refusal, ok bool) {
	var bill model.Bill
	lack := int(g.Min - g.Counts.Held() - g.Counts.Waiting)
	for i, t := range g.Tasks {
		if t.Bucket != model.Gated || !t.QueueGated {
			continue
		}
		bill.Add(e.World, t.Class, g.Tasks[i:i+1])
		if over := e.World.Quota.Exceeded(g.Queue.ID, bill.Sum, e.total, true); over != nil {
			if len(open) < lack {
				return nil, nil, e.overLimit(over, bill), false
			}
			break
		}
		open, takes = append(open, t), slices.Clone(bill.Sum)
	}
	return open, takes, refusal{}, true
}
