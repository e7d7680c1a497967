package engine

import (
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/pack"
)

// appealBudget bounds the search for an arrangement that the greedy placement
// missed, in steps of some tens of nanoseconds.
const appealBudget = 1 << 15

// appeal looks at every arrangement of a gang of unequal tasks, and at every
// choice of them that makes it whole, after the greedy placement found none. It
// places the first that holds. Tasks that plugins judge can't be appealed for.
func (e *Engine) appeal(g *model.Gang) bool {
	if len(g.SubGroups) > 0 {
		return false
	}
	groups := e.groupsOf(slices.SortedFunc(waiting(g), e.tiers.CompareTasks))
	if len(groups) < 2 || slices.ContainsFunc(groups, func(gr group) bool { return gr.kind != "" }) {
		return false
	}
	nodes, bins := e.bins(groups)
	p := pack.Problem{
		Bins: bins, Need: int64(g.Min - g.Counts.Held()), Budget: appealBudget,
		Allows: func(sum resource.Vector) bool { return e.World.Quota.Fits(g.Queue.ID, sum, e.total) },
	}
	for i := range g.Roles {
		p.Least = append(p.Least, int64(g.Roles[i].Min-g.Roles[i].Held()))
	}
	for _, gr := range groups {
		p.Items = append(p.Items, pack.Item{
			Req: gr.class.Req, Most: int64(len(gr.tasks)),
			Part: slices.IndexFunc(g.Roles, func(r model.Role) bool { return r.Name == gr.role }),
			Fits: func(bin int) bool { return fits(gr.class, nodes[bin]) },
		})
	}
	counts, ok := p.Solve()
	if !ok {
		return false
	}
	for i, gr := range groups {
		next := 0
		for bin, n := range counts[i] {
			for range n {
				e.World.Place(gr.tasks[next], nodes[bin])
				next++
			}
		}
	}
	return true
}

// bins lists the nodes that have room for a task of any group, in order of arrival,
// with their room.
func (e *Engine) bins(groups []group) ([]*model.Node, []resource.Vector) {
	var nodes []*model.Node
	var bins []resource.Vector
	for _, n := range e.World.Nodes() {
		if slices.ContainsFunc(groups, func(gr group) bool { return fits(gr.class, n) && n.Free.Times(gr.class.Req) > 0 }) {
			nodes = append(nodes, n)
			bins = append(bins, slices.Clone(n.Free))
		}
	}
	return nodes, bins
}
