package engine

import "github.com/muster-sh/muster/pkg/model"

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

// place puts tasks of one class on the best nodes, one after the other, and
// returns how many found room. It takes time in proportion to the nodes and to
// the tasks times the logarithm of the nodes, and allocates nothing per node.
func (e *Engine) place(c *model.Class, tasks []*model.Task) int {
	heap := e.heap[:0]
	for _, n := range e.World.Nodes() {
		if fits(c, n) && n.Free.Times(c.Req) > 0 {
			heap = append(heap, candidate{e.tiers.ScoreNode(c, n), n})
		}
	}
	e.heap = heap
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for i, t := range tasks {
		if len(heap) == 0 {
			return i
		}
		n := heap[0].node
		e.World.Place(t, n)
		if n.Free.Times(c.Req) > 0 {
			heap[0].score = e.tiers.ScoreNode(c, n)
		} else {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap, 0)
	}
	return len(tasks)
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
