package simulate

import (
	"math"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// fairness says what would have been fair, whatever the configuration: the counted resource
// divided down the tree of queues by what they deserve, where all siblings name that, else by
// weight; at least the guarantee, at most the capability, and no more than was asked for.
type fairness struct {
	tree quota.Tree
	ids  []quota.ID // by number of the queue in the books
	into []resource.Vector
	last []int64 // asked for in the slice before
}

// fine is in how many parts one of the counted resource is divided.
const fine = 1000

func newFairness(t *Trace, counted string, queues []string) *fairness {
	f := &fairness{last: make([]int64, len(queues))}
	ids := map[string]quota.ID{}
	for _, q := range t.Queues {
		ids[q.Name] = f.tree.Add()
	}
	deserves := map[string]bool{} // by parent: all below name it
	for _, q := range t.Queues {
		_, named := q.Deserved.Get(counted)
		before, met := deserves[q.Parent]
		deserves[q.Parent] = named && (before || !met)
	}
	for _, q := range t.Queues {
		parent, ok := ids[q.Parent]
		if !ok {
			parent = quota.None
		}
		f.tree.Set(ids[q.Name], parent, termsOf(q, counted, deserves[q.Parent]))
	}
	for _, name := range queues {
		f.ids = append(f.ids, ids[name])
	}
	return f
}

func termsOf(q model.QueueSpec, counted string, deserved bool) quota.Terms {
	terms := quota.Terms{Weight: int64(q.Weight)}
	if n, _ := q.Deserved.Get(counted); deserved {
		terms.Weight = max(n, 1)
	}
	if n, ok := q.Guarantee.Get(counted); ok {
		terms.Guarantee = resource.Vector{times(n, fine)}
	}
	if n, ok := q.Capability.Get(counted); ok {
		terms.Capability = quota.Limit{Amount: resource.Vector{times(n, fine)}, Named: []bool{true}}
	}
	return terms
}

// times multiplies within the range of amounts.
func times(n, by int64) int64 {
	if n > math.MaxInt64/by {
		return math.MaxInt64
	}
	return n * by
}

// divide fills in what would have been fair in each slice.
func (f *fairness) divide(u *Usage) {
	for i := range len(u.Edges) - 1 {
		length := u.Edges[i+1] - u.Edges[i]
		for q, id := range f.ids {
			asks := int64(float64(resource.Add(u.Used[q][i], u.Wanted[q][i])) / float64(length) * fine)
			f.tree.Want(id, resource.Vector{asks - f.last[q]}, 1)
			f.last[q] = asks
		}
		f.into = f.tree.Divide(resource.Vector{u.Total * fine}, f.into)
		for q, id := range f.ids {
			fair := int64(float64(f.into[id].At(0)) / fine * float64(length))
			u.Fair[q][i] = min(fair, resource.Add(u.Used[q][i], u.Wanted[q][i]))
		}
	}
}

// jain is Jain's index of shares: 1 when all are equal, 1/n when one has everything.
//
// Source: Jain, Chiu and Hawe, A Quantitative Measure of Fairness and Discrimination for
// Resource Allocation in Shared Computer Systems, DEC-TR-301 (1984).
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum += s
		squares += s * s
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}
