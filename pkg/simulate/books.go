package simulate

import (
	"maps"
	"slices"

	"github.com/muster-sh/muster/pkg/resource"
)

// books hold how much of the counted resource each queue uses and waits for over time.
type books struct {
	queues []string
	index  map[string]int
	now    int64
	used   []int64 // by queue, now
	wanted []int64
	dirty  []bool
	steps  []step
	total  int64 // what there is
}

// step says what a queue uses and waits for from an instant on.
type step struct {
	at           int64
	queue        int
	used, wanted int64
}

// mostCounted bounds what the cluster has of the counted resource, so that its sum over
// weeks, in milliseconds, is exact.
const mostCounted = 1 << 32

// open begins the books of the queues that jobs name.
func open(t *Trace, counted string) books {
	b := books{index: map[string]int{}}
	names := map[string]bool{}
	for i := range t.Jobs {
		names[t.Jobs[i].Queue] = true
	}
	b.queues = slices.Sorted(maps.Keys(names))
	for i, name := range b.queues {
		b.index[name] = i
	}
	b.used, b.wanted, b.dirty = make([]int64, len(b.queues)), make([]int64, len(b.queues)), make([]bool, len(b.queues))
	for _, n := range t.Nodes {
		have, _ := n.Allocatable.Get(counted)
		b.total = min(b.total+min(have, resource.Most), resource.Most)
	}
	return b
}

func (b *books) use(queue int, n int64) {
	b.used[queue] += n
	b.dirty[queue] = true
}

func (b *books) want(queue int, n int64) {
	b.wanted[queue] += n
	b.dirty[queue] = true
}

// advance writes down how things stood until a later instant.
func (b *books) advance(to int64) {
	if to == b.now {
		return
	}
	b.close(b.now)
	b.now = to
}

// close writes down how things stand at an instant.
func (b *books) close(at int64) {
	for q, dirty := range b.dirty {
		if dirty {
			b.steps = append(b.steps, step{at, q, b.used[q], b.wanted[q]})
			b.dirty[q] = false
		}
	}
}

// Usage is what queues used and waited for, in slices of time. Amounts are the counted
// resource times milliseconds, and exact: all slices together are all that was used.
type Usage struct {
	Queues []string
	Total  int64     // what the cluster has of the resource
	Edges  []int64   // milliseconds since the start: a slice is from one to the next
	Used   [][]int64 // by queue and slice
	Wanted [][]int64
	Fair   [][]int64 // what would have been the queue's fair part
}

// slicesMost is into how many slices time is cut at most.
const slicesMost = 400

// usage cuts the time from one instant to another into slices of equal length, but for a millisecond.
func (b *books) usage(from, to int64, f *fairness) Usage {
	n := min(slicesMost, max(to-from, 1))
	u := Usage{Queues: b.queues, Total: b.total, Edges: make([]int64, n+1)}
	for i := range u.Edges {
		u.Edges[i] = from + (max(to-from, 1)*int64(i))/n
	}
	for range b.queues {
		u.Used, u.Wanted = append(u.Used, make([]int64, n)), append(u.Wanted, make([]int64, n))
		u.Fair = append(u.Fair, make([]int64, n))
	}
	last := make([]step, len(b.queues))
	at := make([]int, len(b.queues)) // the slice that last is in
	for i := range last {
		last[i].at, last[i].queue = from, i
	}
	for _, s := range b.steps {
		u.spread(last[s.queue], min(s.at, to), &at[s.queue])
		last[s.queue] = s
	}
	for q := range last {
		u.spread(last[q], to, &at[q])
	}
	f.divide(&u)
	return u
}

// spread adds what held from a step until an instant to the slices.
func (u *Usage) spread(s step, until int64, slice *int) {
	for at := s.at; at < until; {
		for u.Edges[*slice+1] <= at {
			*slice++
		}
		to := min(until, u.Edges[*slice+1])
		used, wanted := &u.Used[s.queue][*slice], &u.Wanted[s.queue][*slice]
		*used = resource.Add(*used, times(s.used, to-at))
		*wanted = resource.Add(*wanted, times(s.wanted, to-at))
		at = to
	}
}
