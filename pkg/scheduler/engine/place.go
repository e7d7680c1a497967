package engine

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// place puts tasks of one group on the best nodes, one after the other, while
// more, which may be nil, says so before each; without it, all or none. It returns
// how many were placed and, when plugins turned all nodes away beforehand, why. It
// takes time in proportion to the nodes that changed since the class was last
// looked at, and to the tasks times the logarithm of the nodes.
func (e *Engine) place(gr group, more func(placed int) bool) (int, refusal) {
	if gr.kind != "" {
		return e.placeJudged(gr, more)
	}
	v := e.view(gr.class)
	if more == nil && v.room < int64(len(gr.tasks)) {
		return 0, refusal{}
	}
	for i, t := range gr.tasks {
		if more != nil && !more(i) {
			return i, refusal{}
		}
		n, ok := e.best(v)
		if !ok {
			return i, refusal{}
		}
		e.put(v, t, n)
	}
	return len(gr.tasks), refusal{}
}

// domain is the nodes that the judges of a group can't tell apart, ranked.
type domain struct {
	heap  []candidate
	score int64 // of the best node, the judges' included
	order int   // of first mention
}

func (d *domain) before(o *domain) bool {
	return cmp.Or(cmp.Compare(o.score, d.score), cmp.Compare(d.order, o.order)) < 0
}

// placeJudged is place for tasks whose nodes plugins judge by what was placed
// before. The judges are asked once per domain and placement, best domain first.
func (e *Engine) placeJudged(gr group, more func(placed int) bool) (int, refusal) {
	if more == nil && e.view(gr.class).room < int64(len(gr.tasks)) {
		return 0, e.noRoom(gr) // whatever the judges say
	}
	panel, why, wakes, ok := e.tiers.Judge(gr.tasks[0])
	if !ok {
		return 0, refusal{why: why, wakes: wakes | roomWakes, long: true}
	}
	f := &field{ranked: e.domains(gr.class, &panel)}
	f.rate(&panel)
	for i, t := range gr.tasks {
		if more != nil && !more(i) {
			return i, refusal{}
		}
		if panel.Scores() && i > 0 {
			f.rate(&panel)
		}
		d := f.best(&panel)
		if d == nil {
			return i, e.noDomain(gr, i, f.aside, &panel)
		}
		n := d.heap[0].node
		e.World.Place(t, n)
		panel.Placed(t, n)
		if n.Free.Times(gr.class.Req) > 0 {
			d.heap[0].score = e.score(gr.class, n)
			sink(d.heap, 0)
		} else {
			d.heap = pop(d.heap)
		}
		f.settle()
	}
	return len(gr.tasks), refusal{}
}

// ranked is domains as a heap, for container/heap.
type ranked []*domain

func (r ranked) Len() int           { return len(r) }
func (r ranked) Less(i, j int) bool { return r[i].before(r[j]) }
func (r ranked) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranked) Push(d any)        { *r = append(*r, d.(*domain)) } //nolint:forcetypeassert // heap.Push is called with nothing else

func (r *ranked) Pop() any {
	last := len(*r) - 1
	d := (*r)[last]
	*r = (*r)[:last]
	return d
}

// field is the domains of a group, ranked, but for those that the judges turned
// away since the last placement.
type field struct {
	ranked ranked
	aside  []*domain
}

// rate makes the heap anew by what the judges think of each domain now.
func (f *field) rate(panel *framework.Panel) {
	for _, d := range f.ranked {
		d.score = d.heap[0].score + panel.Score(d.heap[0].node)
	}
	heap.Init(&f.ranked)
}

// best returns the domain for the next task, which comes first then; nil when the
// judges let none pass.
func (f *field) best(panel *framework.Panel) *domain {
	for len(f.ranked) > 0 {
		d := f.ranked[0]
		if _, ok := panel.Fits(d.heap[0].node); ok {
			return d
		}
		f.aside = append(f.aside, d)
		heap.Pop(&f.ranked)
	}
	return nil
}

// settle brings the heap in order after a placement in its first domain: what the
// judges turned away before may pass now.
func (f *field) settle() {
	if d := f.ranked[0]; len(d.heap) > 0 {
		d.score = d.heap[0].score // where judges rate nodes, all are rated anew before the next task
		heap.Fix(&f.ranked, 0)
	} else {
		heap.Pop(&f.ranked)
	}
	for _, d := range f.aside {
		heap.Push(&f.ranked, d)
	}
	f.aside = f.aside[:0]
}

// domains divides the candidates for a class as the judges see them.
func (e *Engine) domains(c *model.Class, panel *framework.Panel) []*domain {
	e.rate(c)
	var domains []*domain
	index := map[string]*domain{}
	for _, n := range e.World.Nodes() {
		if !c.Fits(n) || n.Free.Times(c.Req) == 0 {
			continue
		}
		name := panel.Domain(n)
		d := index[name]
		if d == nil {
			d = &domain{order: len(domains)}
			index[name] = d
			domains = append(domains, d)
		}
		d.heap = append(d.heap, candidate{score: e.score(c, n), node: n})
	}
	for _, d := range domains {
		heapify(d.heap)
	}
	return domains
}

// noDomain says why no node would do for the next task after placed of a group
// were placed: what the judges say of nodes with room, and what else keeps it off
// the others.
func (e *Engine) noDomain(gr group, placed int, domains []*domain, panel *framework.Panel) refusal {
	causes := map[string]int{}
	for _, d := range domains {
		if cause, ok := panel.Fits(d.heap[0].node); !ok {
			causes[cause] += len(d.heap)
		}
	}
	s := e.explain(gr.class)
	nodes := slices.Clone(s.nodes)
	//muster:anyorder sorted below
	for cause, n := range causes {
		nodes = append(nodes, reason.Tally{Cause: cause, Nodes: n})
	}
	sortTally(nodes)
	return refusal{
		why: reason.Reason{
			Code: reason.NotEnoughNodes, Role: gr.role, Need: int64(len(gr.tasks)), Room: int64(placed),
			Each: s.each, Shut: s.shut, Total: s.total, Nodes: nodes,
		},
		wakes: roomWakes | e.tiers.NodeWakes() | panel.WakesOn(),
		long:  true,
	}
}
