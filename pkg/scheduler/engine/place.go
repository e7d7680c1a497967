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
	if len(gr.tasks) == 0 {
		return 0, refusal{} // all went where they were nominated: nobody is left to be judged
	}
	if gr.kind != "" || e.within != nil {
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
	name  string
	heap  []candidate
	score int64 // of the best node, the judges' included
	order int   // of first mention
}

func (d *domain) before(o *domain) bool {
	return cmp.Or(cmp.Compare(o.score, d.score), cmp.Compare(d.order, o.order)) < 0
}

// room is how many tasks of a class its nodes have room for.
func (d *domain) room(c *model.Class) (sum int64) {
	for _, at := range d.heap {
		sum += at.node.Free.Times(c.Req)
	}
	return sum
}

// placeJudged is place for tasks whose nodes plugins judge by what was placed
// before. The judges are asked once per domain and placement, best domain first.
func (e *Engine) placeJudged(gr group, more func(placed int) bool) (int, refusal) {
	if more == nil && e.room(gr.class) < int64(len(gr.tasks)) {
		return 0, e.noRoom(gr) // whatever the judges say
	}
	panel, why, wakes, ok := e.tiers.Judge(gr.tasks[0])
	if !ok {
		return 0, refusal{why: why, wakes: wakes | roomWakes, long: true}
	}
	mark := e.World.Mark()
	f := &field{ranked: e.domains(gr.class, &panel)}
	f.rate(&panel)
	placed, no := e.fill(gr, f, &panel, more)
	if more != nil || placed == 0 || placed == len(gr.tasks) {
		return placed, no
	}
	e.World.Rollback(mark)
	if e.elsewhere(gr) {
		return len(gr.tasks), refusal{}
	}
	return 0, no
}

// fill places tasks of a group in the best domains, one after the other, while more, which
// may be nil, says so before each.
func (e *Engine) fill(gr group, f *field, panel *framework.Panel, more func(placed int) bool) (int, refusal) {
	for i, t := range gr.tasks {
		if more != nil && !more(i) {
			return i, refusal{}
		}
		if panel.Scores() && i > 0 {
			f.rate(panel)
		}
		d := f.best(panel)
		if d == nil {
			return i, e.noDomain(gr, i, f.aside, panel)
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
	for _, n := range e.nodes() {
		if !c.Fits(n) || n.Free.Times(c.Req) == 0 {
			continue
		}
		name := panel.Domain(n)
		d := index[name]
		if d == nil {
			d = &domain{name: name, order: len(domains)}
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

// nodes is where tasks may be placed at present.
func (e *Engine) nodes() []*model.Node {
	if e.within != nil {
		return e.within.Nodes
	}
	return e.World.Nodes()
}

// room is how many tasks of a class find room there.
func (e *Engine) room(c *model.Class) int64 {
	v := e.view(c)
	if e.within == nil {
		return v.room
	}
	var sum int64
	for _, n := range e.within.Nodes {
		sum += int64(v.fit[n.ID])
	}
	return sum
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

// reserve sets room aside for a gang that was refused for want of it: for one that lost a
// part of its minimum at once, for others once they have waited as long as plugins
// allow. Until then it notes when that will be.
func (c *Cycle) reserve(en *entry, no refusal, claims []model.Claim) {
	e, g := c.engine, en.gang
	if g.Whole() || !g.Broken() && !c.remind(en) {
		return
	}
	switch no.why.Code {
	case reason.NotEnoughNodes, reason.QueueCapability:
	default:
		return // room alone would not help, or it is kept for others
	}
	if !e.stands(g, claims, no.groups) {
		others := e.claims(g, no.groups)
		if claims != nil && !slices.EqualFunc(claims, others, alike) {
			c.World.Happened |= model.NodeRoom | model.QueueRoom // what it does not claim any more
		}
		claims = others
	}
	e.setAside(g, claims)
}

// remind reports whether a gang has waited as long as plugins allow; if it has
// not yet, it will be tried again when it has.
func (c *Cycle) remind(en *entry) bool {
	from, ok := c.engine.tiers.ReserveFrom(en.gang)
	if ok && c.Now.Before(from) {
		c.engine.alarm(en, from)
		return false
	}
	return ok
}

// alike reports whether two claims set the same aside.
func alike(a, b model.Claim) bool {
	return a.Node == b.Node && a.N == b.N && slices.Equal(a.Req, b.Req)
}

// stands reports whether claims are still good for what a gang needs.
func (e *Engine) stands(g *model.Gang, claims []model.Claim, groups []group) bool {
	var need, have int64
	var devices []model.Claim
	var at []*model.Node
	for _, gr := range groups {
		need += int64(len(gr.tasks))
	}
	for _, claim := range claims {
		if claim.Node == nil {
			devices = append(devices, claim)
			continue
		}
		if !slices.ContainsFunc(groups, func(gr group) bool { return gr.class.Req.Is(claim.Req) && gr.class.Fits(claim.Node) }) {
			return false
		}
		have += claim.N
		at = append(at, claim.Node)
	}
	if g.Near != nil && g.Near.Hard && len(groups) > 0 {
		if _, _, ok := e.areas(g, g.Near, groups, at); !ok {
			return false // the network is divided otherwise now
		}
	}
	return len(claims) > 0 && have == need && slices.EqualFunc(devices, e.claimDevices(groups), alike)
}

// claimDevices claims, in its queue, what the claims for devices of tasks of a gang take; nil: nothing.
func (e *Engine) claimDevices(groups []group) []model.Claim {
	devices := e.bill(groups).Devices
	if len(devices) == 0 {
		return nil
	}
	return []model.Claim{{Req: devices, N: 1}}
}

// claims chooses nodes for groups of tasks by what would fit if those nodes ran nothing but
// what the gang has there and others have claimed; for tasks that must be near one another,
// in one area of the network. Nil when even that is not enough.
func (e *Engine) claims(g *model.Gang, groups []group) (claims []model.Claim) {
	if g.Near == nil || !g.Near.Hard || len(groups) == 0 {
		return e.claimsHere(g, groups)
	}
	areas, _, _ := e.areas(g, g.Near, groups, nil)
	areas = e.likeliest(areas, groups)
	for _, a := range areas[:min(len(areas), mostAreas)] {
		e.inside(a, func() { claims = e.claimsHere(g, groups) })
		if claims != nil {
			break
		}
	}
	return claims
}

// setAside changes what is set aside for a gang.
func (e *Engine) setAside(g *model.Gang, claims []model.Claim) {
	if g.Claims != nil || claims != nil {
		e.World.SetAside(g, claims)
		if claims == nil {
			delete(e.claimed, g)
		} else {
			e.claimed[g] = true
		}
	}
}
