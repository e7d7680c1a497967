package engine

import (
	"cmp"
	"iter"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
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
