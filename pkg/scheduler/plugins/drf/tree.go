package drf

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// full is the share that is all of the cluster: shares are kept in units of 1/full.
const full = 1_000_000_000_000

// node is a place in the tree: a queue, or what stands above queues.
type node struct {
	weight   int64
	children []*node
	queue    *model.Queue // nil above queues
	// parts is how much of each resource of the cluster it holds, in units of
	// 1/full; of a place above queues, after scaling, see gather.
	parts     []int64
	share     int64 // the greatest of parts
	saturated bool  // more would not help it now
}

// tree is hierarchical dominant resource fairness. A queue stands at the end of
// its path; what two queues are owed is compared from the root down, at the
// first level where they differ. Its cost follows queues, never tasks or nodes.
type tree struct {
	pods  int // the dimension that does not count
	top   *node
	ways  [][]*node // by queue, from the root down to the queue
	epoch uint64    // of the world whose sums it shows
}

// build makes the tree of all queues.
func (t *tree) build(w *model.World) {
	t.top = &node{}
	t.ways = make([][]*node, len(w.Queues()))
	inner := map[string]*node{}
	for _, q := range w.Queues() {
		if q.Name == "" {
			continue
		}
		at, key := t.top, strings.Builder{}
		path := pathOf(w, q)
		for _, s := range path[:len(path)-1] {
			key.WriteString("/" + s.name)
			next := inner[key.String()]
			if next == nil { // whoever names a place first gives its weight
				next = &node{weight: s.weight}
				inner[key.String()] = next
				at.children = append(at.children, next)
			}
			t.ways[q.ID] = append(t.ways[q.ID], next)
			at = next
		}
		leaf := &node{weight: path[len(path)-1].weight, queue: q}
		at.children = append(at.children, leaf)
		t.ways[q.ID] = append(t.ways[q.ID], leaf)
	}
	t.sum(w)
}

// follow brings the sums up to date with placements since they were made.
func (t *tree) follow(w *model.World) {
	if t.epoch != w.Epoch {
		t.sum(w)
	}
}

func (t *tree) sum(w *model.World) {
	t.epoch = w.Epoch
	own := make([]resource.Vector, len(w.Queues())) // used in the queue itself, not below it
	used := slices.Clone(w.Foreign)
	used.Add(w.Quota.Used(quota.None), 1)
	for _, q := range w.Queues() {
		own[q.ID].Add(w.Quota.Used(q.ID), 1)
		if up := w.Quota.Parent(q.ID); up != quota.None {
			own[up].Add(w.Quota.Used(q.ID), -1)
		}
	}
	t.gather(t.top, w, own, used)
}

// gather adds up n from what is below it. Used is what the whole cluster uses.
//
// Children that are not saturated are scaled to the least share among them
// before they are added: where one of them can't have more of its dominant
// resource, its big share must not count against its siblings.
func (t *tree) gather(n *node, w *model.World, own []resource.Vector, used resource.Vector) {
	if n.queue != nil {
		t.count(n, w, own[n.queue.ID], used)
		return
	}
	least := int64(full)
	n.saturated = true
	for _, c := range n.children {
		t.gather(c, w, own, used)
		if c.saturated {
			continue
		}
		n.saturated = false
		if c.share > 0 {
			least = min(least, c.share)
		}
	}
	clear(n.parts)
	for _, c := range n.children {
		for d, part := range c.parts {
			if !c.saturated && c.share > 0 {
				part = resource.Share{Part: least, Whole: c.share}.Of(part)
			}
			for len(n.parts) <= d {
				n.parts = append(n.parts, 0)
			}
			n.parts[d] = resource.Add(n.parts[d], part)
		}
	}
	n.share = most(n.parts)
}

// count sums up a queue. It is saturated when more would not help it: it holds
// something and waits for nothing, or it waits for a resource of which nothing is free.
func (t *tree) count(n *node, w *model.World, own, used resource.Vector) {
	n.parts = n.parts[:0]
	waits, stuck, wanted := false, false, w.Quota.Wanted(n.queue.ID)
	for d := range max(len(own), len(wanted)) {
		part := int64(0)
		if d != t.pods {
			part = resource.Share{Part: own.At(d), Whole: w.Total.At(d)}.Of(full)
		}
		n.parts = append(n.parts, part)
		if wanted.At(d) > 0 {
			waits = true
			stuck = stuck || used.At(d) >= w.Total.At(d)
		}
	}
	n.share = most(n.parts)
	n.saturated = stuck || (!waits && n.share > 0)
}

func most(parts []int64) int64 {
	var greatest int64
	for _, p := range parts {
		greatest = max(greatest, p)
	}
	return greatest
}

// compare walks down to both queues: who could use more goes first, then who has
// less for its weight; where that is equal, one level below decides. Of two that
// are equal all the way the one nearer to the root goes first.
func (t *tree) compare(a, b *model.Queue) int {
	left, right := t.ways[a.ID], t.ways[b.ID]
	for i := range min(len(left), len(right)) {
		if c := left[i].compare(right[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(left), len(right))
}

func (n *node) compare(o *node) int {
	if n.saturated != o.saturated {
		if o.saturated {
			return -1
		}
		return 1
	}
	// share/weight against share/weight, as fractions of one whole.
	return resource.Share{Part: n.share, Whole: n.weight}.Compare(resource.Share{Part: o.share, Whole: o.weight})
}
