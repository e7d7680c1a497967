package engine

import (
	"container/heap"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/pack"
)

// appealBudget bounds the search for an arrangement that the greedy placement
// missed, in steps of some tens of nanoseconds; appealChoices, how many choices
// of sub-groups are looked at.
const (
	appealBudget  = 1 << 15
	appealChoices = 64
	// tiedAsks bounds how often judges are asked where else tasks could be that one of them ties.
	tiedAsks = 1 << 14
)

// elsewhere places equal tasks where the first of them does not tie the others to a part of
// the cluster that is too small for all, such as a zone in which they must be together. It
// is tried once in each part, the roomiest domain first. On false it leaves no trace.
func (e *Engine) elsewhere(gr group) bool {
	mark := e.World.Mark()
	known := map[string]bool{} // domains in parts that were tried
	for asks := tiedAsks; asks > 0; e.World.Rollback(mark) {
		panel, _, _, ok := e.tiers.Judge(gr.tasks[0])
		if !ok {
			return false
		}
		all := e.domains(gr.class, &panel)
		fits := func(d *domain) bool {
			if len(d.heap) == 0 {
				return false
			}
			asks--
			_, ok := panel.Fits(d.heap[0].node)
			return ok
		}
		var first *domain
		most := int64(0)
		for _, d := range all {
			if room := d.room(gr.class); room > most && !known[d.name] && fits(d) {
				first, most = d, room
			}
		}
		if first == nil {
			return false
		}
		known[first.name] = true
		f := &field{ranked: slices.Clone(all)}
		f.rate(&panel)
		first.score = math.MaxInt64
		heap.Init(&f.ranked)
		placed, _ := e.fill(gr, f, &panel, func(placed int) bool {
			for _, d := range all {
				if placed == 1 && !known[d.name] {
					known[d.name] = fits(d)
				}
			}
			return true
		})
		if placed == len(gr.tasks) {
			return true
		}
	}
	return false
}

// appeal looks at every arrangement of a gang's tasks, and at every choice of them
// that makes it whole, after the greedy placement found none. It places the first
// that holds. Where plugins judge tasks, an arrangement is made of what they say
// beforehand, and is dropped when they say otherwise as it is carried out, or when the
// queue has no room for the devices that its tasks claim.
func (e *Engine) appeal(g *model.Gang) bool {
	parts := g.Parts()
	items := e.plead(g, parts)
	switch {
	case len(items) < 2:
		return false // of equal tasks any choice and arrangement is as good as another
	case slices.ContainsFunc(items, func(it *plea) bool { return it.near != nil }):
		return false // an arrangement knows no areas of the network
	}
	nodes, bins := e.bins(items)
	p := pack.Problem{
		Bins: bins, Need: int64(g.Min - g.Counts.Held()), Budget: appealBudget,
		Allows: func(sum resource.Vector) bool { return e.World.Quota.Fits(g.Queue.ID, sum, e.total) },
	}
	for i := range g.Roles {
		p.Least = append(p.Least, int64(g.Roles[i].Min-g.Roles[i].Held()))
	}
	for _, it := range items {
		on := []int{slices.IndexFunc(g.Roles, func(r model.Role) bool { return r.Name == it.role })}
		if it.part >= 0 {
			on = append(on, len(g.Roles)+it.part)
		}
		p.Items = append(p.Items, pack.Item{
			Req: it.class.Req, Most: int64(len(it.tasks)), Parts: on,
			Fits: func(bin int) bool { return it.fits(nodes[bin]) },
		})
	}
	mark := e.World.Mark()
	for chosen := range choices(g, parts, items) {
		p.Least = p.Least[:len(g.Roles)]
		for i, part := range parts {
			least := int64(0)
			if slices.Contains(chosen, i) {
				least = int64(g.SubGroups[part.Policy].Size - part.Held)
			}
			p.Least = append(p.Least, least)
		}
		if counts, ok := p.Solve(); ok && e.affords(g, items, counts) && e.arrange(items, counts, nodes) && g.Whole() {
			return true
		}
		e.World.Rollback(mark)
		if p.Budget < 0 {
			break
		}
	}
	return false
}

// placeNominated is placeGroups with tasks on the nodes that they are nominated for, where
// those will do. False, and no trace, when there are none, or the gang is not whole so.
func (e *Engine) placeNominated(g *model.Gang, groups []group) bool {
	some := func(gr group) bool { return gr.near == nil && slices.ContainsFunc(gr.tasks, nominated) }
	if !slices.ContainsFunc(groups, some) || !e.World.Quota.Fits(g.Queue.ID, e.bill(groups).Sum, e.total) {
		return false
	}
	mark := e.World.Mark()
	var others []group
	for _, gr := range groups {
		if gr.near == nil {
			gr.tasks = e.placeWhereNominated(gr, nil)
		}
		if len(gr.tasks) > 0 {
			others = append(others, gr)
		}
	}
	if len(e.World.Since(mark)) > 0 {
		if _, ok := e.placeGroups(g, others); ok && g.Whole() {
			return true
		}
	}
	e.World.Rollback(mark)
	return false
}

// placeWhereNominated places the tasks of a group on the nodes that they are nominated
// for, where those will do and may, which may be nil, says so. It returns the others.
func (e *Engine) placeWhereNominated(gr group, may func(*model.Task) bool) (others []*model.Task) {
	var panel framework.Panel
	judged := gr.kind == ""
	for i, t := range gr.tasks {
		n := e.World.NodeNamed(t.Nominated)
		if n == nil || !gr.class.Fits(n) || n.Free.Times(gr.class.Req) == 0 || e.within != nil && !e.within.Holds(n) || may != nil && !may(t) {
			others = append(others, t)
			continue
		}
		if !judged {
			if panel, _, _, judged = e.tiers.Judge(t); !judged {
				return append(others, gr.tasks[i:]...)
			}
		}
		if _, ok := panel.Fits(n); !ok {
			others = append(others, t)
			continue
		}
		e.World.Place(t, n)
		panel.Placed(t, n)
	}
	return others
}

// plea is a group of waiting tasks of one sub-group, and what judges say of it.
type plea struct {
	group
	part     int // index of the sub-group, -1 when in none
	panel    framework.Panel
	verdicts map[string]bool // by the judges' domain
}

// plead divides the waiting tasks of a gang, and gathers their judges. Those for
// which no node would do are left out.
func (e *Engine) plead(g *model.Gang, parts []model.Part) []*plea {
	tasks := make([][]*model.Task, len(parts)+1) // those in no sub-group first
	in := map[*model.Task]int{}
	for i, p := range parts {
		for _, t := range p.Tasks {
			in[t] = i + 1
		}
	}
	for _, t := range slices.SortedFunc(waiting(g), e.tiers.CompareTasks) {
		tasks[in[t]] = append(tasks[in[t]], t)
	}
	var pleas []*plea
	for i := range tasks {
		for _, gr := range e.groupsOf(tasks[i]) {
			it := &plea{group: gr, part: i - 1, verdicts: map[string]bool{}}
			ok := true
			if gr.kind != "" {
				it.panel, _, _, ok = e.tiers.Judge(gr.tasks[0])
			}
			if ok {
				pleas = append(pleas, it)
			}
		}
	}
	return pleas
}

// fits reports whether a node would do, room aside.
func (it *plea) fits(n *model.Node) bool {
	if !it.class.Fits(n) {
		return false
	}
	if it.kind == "" {
		return true
	}
	domain := it.panel.Domain(n)
	ok, known := it.verdicts[domain]
	if !known {
		_, ok = it.panel.Fits(n)
		it.verdicts[domain] = ok
	}
	return ok
}

// affords reports whether the queue has room for the tasks of an arrangement with all their
// claims, which the search does not know of.
func (e *Engine) affords(g *model.Gang, items []*plea, counts [][]int64) bool {
	var bill model.Bill
	for i, it := range items {
		n := int64(0)
		for _, here := range counts[i] {
			n += here
		}
		bill.Add(e.World, it.class, it.tasks[:n])
	}
	return e.World.Quota.Fits(g.Queue.ID, bill.Sum, e.total)
}

// arrange carries out an arrangement, as far as the judges let it.
func (e *Engine) arrange(items []*plea, counts [][]int64, nodes []*model.Node) bool {
	for i, it := range items {
		if it.kind != "" && slices.Max(counts[i]) > 0 {
			var ok bool
			if it.panel, _, _, ok = e.tiers.Judge(it.tasks[0]); !ok {
				return false
			}
		}
		next := 0
		for bin, n := range counts[i] {
			for range n {
				if it.kind != "" {
					if _, ok := it.panel.Fits(nodes[bin]); !ok {
						return false
					}
				}
				e.World.Place(it.tasks[next], nodes[bin])
				it.panel.Placed(it.tasks[next], nodes[bin])
				next++
			}
		}
	}
	return true
}

// choices yields the sub-groups that would be completed, by index: as many of each
// policy as a gang lacks, those that lack least before others. Of sub-groups that
// are alike, any is as good as another.
func choices(g *model.Gang, parts []model.Part, items []*plea) iter.Seq[[]int] {
	lack, open := openParts(g, parts)
	c := chooser{lack: lack, parts: parts, looks: looks(parts, items), left: appealChoices}
	return func(yield func([]int) bool) { c.choose(open, nil, yield) }
}

type chooser struct {
	lack  []int32 // by policy
	parts []model.Part
	looks []string // by sub-group: equal for those that are alike
	left  int      // how many choices may still be made
}

// choose goes on from a choice with the open sub-groups; false when it was told to stop.
func (c *chooser) choose(open, chosen []int, yield func([]int) bool) bool {
	if len(open) == 0 {
		if slices.ContainsFunc(c.lack, func(n int32) bool { return n > 0 }) {
			return true
		}
		c.left--
		return yield(chosen) && c.left > 0
	}
	first := open[0]
	policy := c.parts[first].Policy
	if c.lack[policy] > 0 {
		c.lack[policy]--
		if !c.choose(open[1:], append(slices.Clip(chosen), first), yield) {
			return false
		}
		c.lack[policy]++
	}
	rest := slices.DeleteFunc(slices.Clone(open), func(i int) bool {
		return c.parts[i].Policy == policy && c.looks[i] == c.looks[first]
	})
	return c.choose(rest, chosen, yield)
}

// looks names what the waiting tasks of each sub-group are, and how many it has.
func looks(parts []model.Part, items []*plea) []string {
	looks := make([]string, len(parts))
	for i, p := range parts {
		var s strings.Builder
		s.WriteString(strconv.Itoa(int(p.Held)))
		for _, it := range items {
			if it.part == i {
				s.WriteString("\x00" + strconv.Itoa(int(it.class.ID)) + "\x00" + it.role + "\x00" + it.kind + "\x00" + strconv.Itoa(len(it.tasks)))
			}
		}
		looks[i] = s.String()
	}
	return looks
}

// bins lists the nodes that have room for a task of any group, in order of arrival,
// with their room.
func (e *Engine) bins(items []*plea) ([]*model.Node, []resource.Vector) {
	var nodes []*model.Node
	var bins []resource.Vector
	for _, n := range e.nodes() {
		if slices.ContainsFunc(items, func(it *plea) bool { return it.class.Fits(n) && n.Free.Times(it.class.Req) > 0 }) {
			nodes = append(nodes, n)
			bins = append(bins, slices.Clone(n.Free))
		}
	}
	return nodes, bins
}
