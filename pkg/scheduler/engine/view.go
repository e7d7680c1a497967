package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// candidate is a node with room for at least one more task of a class, as it was
// at an epoch.
type candidate struct {
	score int64
	node  *model.Node
	epoch uint64
}

// before is a total order: the better score, then the lower node.
func (a candidate) before(b candidate) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	return a.node.ID < b.node.ID
}

// view is the nodes as one class sees them: how many of its tasks fit on each and
// in all, and the candidates as a heap. It is brought up to date by the nodes that
// changed since it was last looked at, so that many classes cost no pass over the
// nodes each.
type view struct {
	class *model.Class
	at    int      // how far in the world's log of changes it is
	used  uint64   // when it was last looked at
	fit   []int32  // by NodeID
	epoch []uint64 // by NodeID: the state of the node that fit is of
	room  int64    // the sum of fit
	heap  []candidate
	heaps bool // the heap is kept; it may hold candidates of former epochs besides
}

// cells bounds the memory of all views: nodes times views.
const cells = 4 << 20

// view returns the view of a class, up to date.
func (e *Engine) view(c *model.Class) *view {
	e.looks++
	v := e.views[c.ID]
	if v == nil || v.class != c || v.at < e.World.Log.Begin() {
		e.spare()
		v = fresh(c, v, len(e.World.Nodes()))
		e.views[c.ID] = v
		count := e.newCount(c) // the nodes are at hand: one pass serves both
		for _, n := range e.World.Nodes() {
			v.fit[n.ID], v.epoch[n.ID] = fitting(c, n), n.Epoch
			v.room += int64(v.fit[n.ID])
			count.add(n, v)
		}
		e.keep(count)
	} else {
		for _, id := range e.World.Log.Since(v.at) {
			e.look(v, e.World.Nodes()[id])
		}
		if len(v.heap) > 2*len(e.World.Nodes())+64 {
			v.heaps, v.heap = false, v.heap[:0] // mostly former epochs
		}
	}
	v.at, v.used = e.World.Log.End(), e.looks
	return v
}

// fresh is an empty view of so many nodes, in the memory of one that is not needed any more.
func fresh(c *model.Class, old *view, nodes int) *view {
	if old == nil {
		old = &view{}
	}
	return &view{class: c, fit: slices.Grow(old.fit[:0], nodes)[:nodes], epoch: slices.Grow(old.epoch[:0], nodes)[:nodes], heap: old.heap[:0]}
}

// fitting is how many tasks of a class fit on a node.
func fitting(c *model.Class, n *model.Node) int32 {
	if !c.Fits(n) {
		return 0
	}
	return int32(min(n.Free.Times(c.Req), math.MaxInt32))
}

// spare drops the view that was not looked at for longest, when there are too many.
func (e *Engine) spare() {
	most := max(64, cells/max(len(e.World.Nodes()), 1))
	if len(e.views) < most {
		return
	}
	var oldest *view
	//muster:anyorder a minimum of distinct numbers
	for _, v := range e.views {
		if oldest == nil || v.used < oldest.used {
			oldest = v
		}
	}
	delete(e.views, oldest.class.ID)
}

// look brings one node of a view up to date.
func (e *Engine) look(v *view, n *model.Node) {
	for len(v.fit) <= int(n.ID) {
		v.fit, v.epoch = append(v.fit, 0), append(v.epoch, 0)
	}
	if v.epoch[n.ID] == n.Epoch {
		return
	}
	fit := fitting(v.class, n)
	v.room += int64(fit) - int64(v.fit[n.ID])
	v.fit[n.ID], v.epoch[n.ID] = fit, n.Epoch
	if v.heaps && fit > 0 {
		v.heap = append(v.heap, candidate{e.score(v.class, n), n, n.Epoch})
		rise(v.heap)
	}
}

// lackingRoom is the first group that finds no room there, by index; -1 when all may.
func (e *Engine) lackingRoom(groups []group) int {
	return slices.IndexFunc(groups, func(gr group) bool { return e.room(gr.class) < int64(len(gr.tasks)) })
}

// likeliest sorts areas: first those that would hold most of some groups if their nodes ran
// nothing, and among those the ones that have room for most now.
func (e *Engine) likeliest(areas []framework.Area, groups []group) []framework.Area {
	type lacking struct {
		framework.Area
		ever, now int64 // tasks
	}
	all := make([]lacking, len(areas))
	for i, a := range areas {
		l := &all[i]
		l.Area = a
		e.inside(a, func() {
			for _, gr := range groups {
				need, empty := int64(len(gr.tasks)), int64(0)
				for _, n := range e.nodes() {
					if gr.class.Fits(n) {
						empty = resource.Add(empty, n.Allocatable.Times(gr.class.Req))
					}
				}
				l.ever += max(0, need-empty)
				l.now += max(0, need-e.room(gr.class))
			}
		})
	}
	slices.SortStableFunc(all, func(a, b lacking) int { return cmp.Or(cmp.Compare(a.ever, b.ever), cmp.Compare(a.now, b.now)) })
	areas = make([]framework.Area, len(all))
	for i := range all {
		areas[i] = all[i].Area
	}
	return areas
}

// best returns the best candidate of a view; false when there is none.
func (e *Engine) best(v *view) (*model.Node, bool) {
	if !v.heaps {
		e.heap(v)
	}
	for len(v.heap) > 0 {
		if top := v.heap[0]; top.epoch == v.epoch[top.node.ID] {
			return top.node, true
		}
		v.heap = pop(v.heap)
	}
	return nil, false
}

// heap makes the heap of a view anew.
func (e *Engine) heap(v *view) {
	e.rate(v.class)
	v.heaps, v.heap = true, v.heap[:0]
	scored := e.config.scored(len(e.World.Nodes()))
	for _, n := range e.World.Nodes() {
		if int(n.ID) >= len(v.fit) || v.fit[n.ID] == 0 {
			continue
		}
		score := int64(math.MinInt64) // it is taken when those that were scored are full
		if len(v.heap) < scored {
			score = e.score(v.class, n)
		}
		v.heap = append(v.heap, candidate{score, n, n.Epoch})
	}
	heapify(v.heap)
}

// put places a task on the best candidate of a view, which stays up to date.
func (e *Engine) put(v *view, t *model.Task, n *model.Node) {
	e.World.Place(t, n)
	v.fit[n.ID]--
	v.room--
	v.epoch[n.ID], v.at = n.Epoch, e.World.Log.End()
	if v.fit[n.ID] > 0 {
		v.heap[0] = candidate{e.score(v.class, n), n, n.Epoch}
		sink(v.heap, 0)
	} else {
		v.heap = pop(v.heap)
	}
}

// score rates a node: by what changes with placements, and by its fixed traits.
func (e *Engine) score(c *model.Class, n *model.Node) int64 {
	s := e.tiers.ScoreNode(c, n)
	if c.Ratings != nil {
		s += c.Ratings[n.ID]
	}
	return s
}

func heapify(heap []candidate) {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
}

// pop takes the first of a heap away.
func pop(heap []candidate) []candidate {
	last := len(heap) - 1
	heap[0] = heap[last]
	heap = heap[:last]
	sink(heap, 0)
	return heap
}

// rise restores the order of a heap above its last.
func rise(heap []candidate) {
	for i := len(heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !heap[i].before(heap[up]) {
			return
		}
		heap[i], heap[up] = heap[up], heap[i]
		i = up
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

// soonest lists the nodes that a class may run on, those with most room now first.
func (e *Engine) soonest(c *model.Class) []*model.Node {
	var nodes []*model.Node
	for _, n := range e.nodes() {
		if c.Fits(n) {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, b *model.Node) int {
		return cmp.Or(cmp.Compare(b.Free.Times(c.Req), a.Free.Times(c.Req)), cmp.Compare(a.ID, b.ID))
	})
	return nodes
}

// claimsHere is claims where tasks may be placed at present: nodes that have most room
// now first, since they will have enough soonest.
func (e *Engine) claimsHere(g *model.Gang, groups []group) []model.Claim {
	taken := map[model.NodeID]resource.Vector{}
	for _, t := range g.Tasks {
		if t.Placed() {
			used := taken[t.On.ID]
			used.Add(t.Class.Req, 1)
			taken[t.On.ID] = used
		}
	}
	if slices.ContainsFunc(groups, func(gr group) bool { return gr.kind != "" }) {
		return e.claimsJudged(g, groups)
	}
	claims := e.claimDevices(groups)
	for _, gr := range groups {
		req, left := gr.class.Req, int64(len(gr.tasks))
		for _, n := range e.soonest(gr.class) {
			room := append(resource.Vector{}, n.Allocatable...)
			room.Add(n.Claimed, -1)
			room.Add(taken[n.ID], -1)
			fit := min(left, room.Times(req))
			if fit <= 0 {
				continue
			}
			claims = append(claims, model.Claim{Node: n, Req: req, N: fit})
			used := taken[n.ID]
			used.Add(req, fit)
			taken[n.ID] = used
			if left -= fit; left == 0 {
				break
			}
		}
		if left > 0 {
			return nil
		}
	}
	return claims
}

// claimsJudged is claimsHere where plugins judge the places of tasks: it empties nodes in a
// what-if, twice as many each time, until the groups can be placed there.
func (e *Engine) claimsJudged(g *model.Gang, groups []group) []model.Claim {
	w := e.World
	nodes := e.soonest(groups[0].class)
	for _, gr := range groups[1:] {
		for _, n := range e.soonest(gr.class) {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	defer w.Rollback(w.Mark())
	for done, next := 0, 1; done < len(nodes); done, next = next, 2*next {
		for _, n := range nodes[done:min(next, len(nodes))] {
			for _, t := range slices.Clone(n.Tasks) {
				if t.Gang != g {
					w.Evict(t)
				}
			}
		}
		mark := w.Mark()
		if _, ok := e.placeAll(g, groups); ok {
			return append(e.claimDevices(groups), model.ClaimsOf(w.Since(mark), placedOn)...)
		}
		w.Rollback(mark)
	}
	return nil
}
