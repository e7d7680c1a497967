package engine

import (
	"cmp"
	"iter"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// group is the waiting tasks of one role, class and kind: what fits one fits all.
type group struct {
	class *model.Class
	role  string
	kind  string      // see framework.JudgesTasks; empty: no plugin judges it
	near  *model.Near // how near the tasks of one sub-group must or should be; nil: as their gang says
	part  string      // which sub-group that is
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

// groupsOf sorts tasks by role, class and kind, and by sub-group where each is to be kept
// together, in the order in which those first appear.
func (e *Engine) groupsOf(tasks []*model.Task) []group {
	var groups []group
	for _, t := range tasks {
		kind := e.tiers.Kind(t)
		near, part := t.Gang.NearOf(t)
		i := slices.IndexFunc(groups, func(g group) bool {
			return g.class == t.Class && g.role == t.Role && g.kind == kind && g.part == part
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{class: t.Class, role: t.Role, kind: kind, near: near, part: part})
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

// mostAreas bounds in how many areas of the network a placement is tried at once.
const mostAreas = 64

// nearby has tasks of a gang placed that must or should be near one another: within the
// first area of the network in which they find room, nearest first; where they only should
// be, anywhere else after that. place leaves what it placed on false to be taken back.
func (e *Engine) nearby(g *model.Gang, near *model.Near, groups []group, place func() (refusal, bool)) (refusal, bool) {
	if near == nil {
		return place()
	}
	areas, first, ok := e.areas(g, near, groups, nil)
	if !ok {
		return first, false
	}
	others := near == g.Near && !g.Whole() && e.mixed(g) // another choice of tasks may do with less
	mark, tries := e.World.Mark(), mostAreas
	for _, a := range areas {
		no, ok := refusal{}, false
		e.inside(a, func() {
			if tries > 0 && (others || e.lackingRoom(groups) < 0) {
				tries--
				no, ok = place()
			}
		})
		if ok || !no.lacksNodes() {
			return no, ok
		}
		e.World.Rollback(mark)
	}
	if !near.Hard {
		return place()
	}
	a := e.likeliest(areas, groups)[0]
	var no refusal
	e.inside(a, func() {
		if no, _ = place(); no.why.Code == "" {
			no = e.noRoom(groups[max(0, e.lackingRoom(groups))])
		}
	})
	no.why = withinOne(no.why, near, a)
	no.wakes, no.long = no.wakes|first.wakes, no.long || tries < mostAreas
	return no, false
}

// areas lists the areas of the network within which tasks of a gang may run, all that are
// placed already, and those nodes, among them; see [framework.KnowsAreas]. What is said of
// how near tasks must be is their sub-group's, where it is not their gang's.
func (e *Engine) areas(g *model.Gang, near *model.Near, groups []group, at []*model.Node) ([]framework.Area, refusal, bool) {
	var need resource.Vector
	for _, gr := range groups {
		need.Add(gr.class.Req, int64(len(gr.tasks)))
	}
	for _, t := range g.Tasks {
		if !t.Placed() {
			continue
		}
		if _, part := g.NearOf(t); near == g.Near || part == groups[0].part {
			at = append(at, t.On)
		}
	}
	areas, why, wakes, ok := e.tiers.Areas(near, need, at)
	return areas, refusal{why: why, wakes: wakes}, ok
}

// inside has something done within an area, as far as that is within the one that it is done in already.
func (e *Engine) inside(a framework.Area, do func()) {
	outer := e.within
	defer func() { e.within = outer }()
	e.within = &a
	if outer != nil {
		a.Nodes = slices.DeleteFunc(slices.Clone(a.Nodes), func(n *model.Node) bool { return !outer.Holds(n) })
	}
	do()
}

// enough reports whether a gang has the tasks that it needs, behind gates or not;
// if not, how many which of its roles lacks.
func enough(g *model.Gang) (reason.Reason, bool) {
	for i := range g.Roles {
		r := &g.Roles[i]
		if why, ok := r.Exist(r.Min, r.Name); !ok {
			return why, false
		}
	}
	return g.Counts.Exist(g.Min, "")
}

// stuck says that the API server does not take the binding of a task.
func stuck(t *model.Task) reason.Reason {
	return reason.Reason{Code: reason.BindRefused, Kind: "Pod", Object: t.Name, Value: t.Stuck}
}

// least is the task of least priority of groups; of those that are equal, the first.
func least(groups []group) (last *model.Task) {
	for _, gr := range groups {
		for _, t := range gr.tasks {
			if last == nil || t.TaskSpec.Priority < last.TaskSpec.Priority {
				last = t
			}
		}
	}
	return last
}
