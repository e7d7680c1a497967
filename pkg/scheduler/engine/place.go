package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// candidate is a node with room for at least one more task of the class at hand.
type candidate struct {
	score int64
	node  *model.Node
}

// before is a total order: the better score, then the lower node.
func (a candidate) before(b candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return a.node.ID < b.node.ID
}

// ranking is the candidates for one class as a heap, kept from gang to gang while
// nothing but its own placements changed the nodes.
type ranking struct {
	class *model.Class
	epoch uint64
	heap  []candidate
}

// place puts tasks of one group on the best nodes, one after the other, while
// more, which may be nil, says so before each. It returns how many were placed
// and, when plugins turned all nodes away beforehand, why. It takes time in
// proportion to the nodes and to the tasks times the logarithm of the nodes, and
// allocates nothing per node.
func (e *Engine) place(gr group, more func(placed int) bool) (int, refusal) {
	if gr.kind != "" {
		return e.placeJudged(gr, more)
	}
	c := gr.class
	e.rank(c)
	r := &e.ranking
	for i, t := range gr.tasks {
		if len(r.heap) == 0 || (more != nil && !more(i)) {
			r.epoch = e.World.Epoch
			return i, refusal{}
		}
		n := r.heap[0].node
		e.World.Place(t, n)
		e.settle(r.heap, c)
		if n.Free.Times(c.Req) == 0 {
			r.heap = r.heap[:len(r.heap)-1]
		}
	}
	r.epoch = e.World.Epoch
	return len(gr.tasks), refusal{}
}

// settle brings a heap in order again after a placement on its first node. A node
// without further room goes to the end, to be cut off.
func (e *Engine) settle(heap []candidate, c *model.Class) {
	n := heap[0].node
	if n.Free.Times(c.Req) > 0 {
		heap[0].score = e.score(c, n)
		sink(heap, 0)
		return
	}
	last := len(heap) - 1
	heap[0], heap[last] = heap[last], heap[0]
	sink(heap[:last], 0)
}

// rank makes the ranking that of class c, if it is not already.
func (e *Engine) rank(c *model.Class) {
	r := &e.ranking
	if r.class == c && r.epoch == e.World.Epoch {
		return
	}
	r.class, r.heap = c, r.heap[:0]
	for _, n := range e.World.Nodes() {
		if fits(c, n) && n.Free.Times(c.Req) > 0 {
			r.heap = append(r.heap, candidate{e.score(c, n), n})
		}
	}
	heapify(r.heap)
}

// score rates a node: by what changes with placements, and by its fixed traits.
func (e *Engine) score(c *model.Class, n *model.Node) int64 {
	s := e.tiers.ScoreNode(c, n)
	if c.Ratings != nil {
		s += c.Ratings[n.ID]
	}
	return s
}

// rollback takes placements back, and forgets what was ranked meanwhile.
func (e *Engine) rollback(mark model.Mark) {
	e.World.Rollback(mark)
	e.ranking.epoch = math.MaxUint64
}

func heapify(heap []candidate) {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
}

// sink restores the order of a heap below i.
func sink(heap []candidate, i int) {
	for {
		best := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[child].before(heap[best]) {
				best = child
			}
		}
		if best == i {
			return
		}
		heap[i], heap[best] = heap[best], heap[i]
		i = best
	}
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
	panel, why, wakes, ok := e.tiers.Judge(gr.tasks[0])
	if !ok {
		return 0, refusal{why: why, wakes: wakes | roomWakes}
	}
	domains := e.domains(gr.class, &panel)
	for i, t := range gr.tasks {
		if more != nil && !more(i) {
			return i, refusal{}
		}
		d := e.best(domains, &panel)
		if d == nil {
			return i, e.noDomain(gr, i, domains, &panel)
		}
		n := d.heap[0].node
		e.World.Place(t, n)
		panel.Placed(t, n)
		e.settle(d.heap, gr.class)
		if n.Free.Times(gr.class.Req) == 0 {
			d.heap = d.heap[:len(d.heap)-1]
		}
		domains = slices.DeleteFunc(domains, func(d *domain) bool { return len(d.heap) == 0 })
	}
	return len(gr.tasks), refusal{}
}

// domains divides the candidates for a class as the judges see them.
func (e *Engine) domains(c *model.Class, panel *framework.Panel) []*domain {
	var domains []*domain
	index := map[string]*domain{}
	for _, n := range e.World.Nodes() {
		if !fits(c, n) || n.Free.Times(c.Req) == 0 {
			continue
		}
		name := panel.Domain(n)
		d := index[name]
		if d == nil {
			d = &domain{order: len(domains)}
			index[name] = d
			domains = append(domains, d)
		}
		d.heap = append(d.heap, candidate{e.score(c, n), n})
	}
	for _, d := range domains {
		heapify(d.heap)
	}
	return domains
}

// best returns the domain for the next task: of those that the judges let pass,
// the one whose best node rates highest; nil when there is none.
func (e *Engine) best(domains []*domain, panel *framework.Panel) *domain {
	for _, d := range domains {
		d.score = d.heap[0].score + panel.Score(d.heap[0].node)
	}
	heap := append(e.ranked[:0], domains...)
	e.ranked = heap
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sinkDomain(heap, i)
	}
	for len(heap) > 0 {
		if _, ok := panel.Fits(heap[0].heap[0].node); ok {
			return heap[0]
		}
		last := len(heap) - 1
		heap[0] = heap[last]
		heap = heap[:last]
		sinkDomain(heap, 0)
	}
	return nil
}

func sinkDomain(heap []*domain, i int) {
	for {
		best := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[child].before(heap[best]) {
				best = child
			}
		}
		if best == i {
			return
		}
		heap[i], heap[best] = heap[best], heap[i]
		i = best
	}
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
	tally := slices.Clone(s.tally)
	//muster:anyorder sorted below
	for cause, nodes := range causes {
		tally = append(tally, reason.Tally{Cause: cause, Nodes: nodes})
	}
	sortTally(tally)
	return refusal{
		why: reason.Reason{
			Code: reason.NotEnoughNodes, Role: gr.role, Need: int64(len(gr.tasks)), Room: int64(placed),
			Total: s.total, Nodes: tally,
		},
		wakes: roomWakes | e.tiers.NodeWakes() | panel.WakesOn(),
	}
}
