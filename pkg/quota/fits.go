package quota

import "github.com/muster-sh/muster/pkg/resource"

// Over is one ceiling that a request would break: of a queue, or, when Queue is
// None, of what the cluster has.
type Over struct {
	Queue ID
	Dim   int
	// Need is asked for; Used is taken, Aside of that is not in use but set aside for, or
	// promised to, others, Kept is guaranteed to others and not used, Limit is the ceiling. Leaving is
	// going of what is in use: room to come, which those that Aside is for may wait for.
	Need, Used, Aside, Leaving, Kept, Limit int64
	// Keepers are the queues that Kept is guaranteed to, in order of ID.
	Keepers []Keeper
}

// Keeper is a queue that does not use all of its guarantee.
type Keeper struct {
	Queue ID
	Kept  int64 // the part of it that is kept from others
}

// Exceeded lists the ceilings that v more in queue id would break: those of the
// lowest queue that has any, in order of dimension. total is what the cluster has
// for all queues. With promised, room that is promised to others counts as used.
//
// What is guaranteed to a queue is no room for others, used or not. Within its
// guarantee a queue takes nothing more of those above it. Whether the cluster has
// room is not asked here, except for what guarantees keep of it.
func (t *Tree) Exceeded(id ID, v, total resource.Vector, promised bool) []Over {
	return t.ExceededFrom(id, id, v, total, promised)
}

// ExceededFrom is Exceeded for the ceilings of at, which is id or above it, and up.
func (t *Tree) ExceededFrom(at, id ID, v, total resource.Vector, promised bool) []Over {
	for ; ; at = t.accounts[at].parent {
		var over []Over
		for d, need := range v {
			o, broken := t.check(ask{id, d, need, total.At(d), promised}, at)
			if !broken {
				continue
			}
			if o.Kept > 0 {
				o.Keepers = t.keepers(id, o)
			}
			over = append(over, o)
		}
		if over != nil || at == None {
			return over
		}
	}
}

// keepers finds out for whom o.Kept is kept from queue id. For a moment id has what it
// asks for, so that what that draws of guarantees counts for nobody.
func (t *Tree) keepers(id ID, o Over) []Keeper {
	var need resource.Vector
	need.Set(o.Dim, o.Need)
	t.Charge(id, need, 1)
	defer t.Charge(id, need, -1)
	var found []Keeper
	children := t.children()
	var look func(at ID)
	look = func(at ID) {
		for _, c := range children[at+1] {
			a := &t.accounts[c]
			switch kept := a.claim(o.Dim) - a.taken(o.Dim); {
			case kept <= 0:
			case a.terms.Guarantee.At(o.Dim) > a.claimed(o.Dim):
				found = append(found, Keeper{c, kept})
			default:
				look(c) // for queues below it
			}
		}
	}
	look(o.Queue)
	return found
}

// Fits reports whether v more in queue id breaks no ceiling. It allocates nothing.
func (t *Tree) Fits(id ID, v, total resource.Vector) bool {
	for at := id; ; at = t.accounts[at].parent {
		for d, need := range v {
			if _, broken := t.check(ask{id, d, need, total.At(d), false}, at); broken {
				return false
			}
		}
		if at == None {
			return true
		}
	}
}

// ask is a request for one resource in one queue.
type ask struct {
	queue       ID
	dim         int
	need, total int64 // total: what the cluster has
	promised    bool  // what is promised to others counts as used
}

// check asks whether a request breaks the ceiling of at, which is its queue or above it.
func (t *Tree) check(q ask, at ID) (Over, bool) {
	dim, need := q.dim, q.need
	if need <= 0 {
		return Over{}, false
	}
	a := t.at(at)
	limit := a.terms.Capability.At(dim)
	if at == None {
		limit = q.total
	}
	grown := need // by how much the claims right below at grow
	for below := q.queue; below != at; below = t.accounts[below].parent {
		b := &t.accounts[below]
		grown = max(b.terms.Guarantee.At(dim), resource.Add(b.claimed(dim), grown)) - b.claim(dim)
	}
	aside := a.reserved.At(dim)
	if q.promised {
		aside = resource.Add(aside, a.held.At(dim))
	}
	used := resource.Add(a.used.At(dim), aside)
	// Of what is claimed here, the part that nobody uses is kept for guarantees;
	// need itself may draw on some of it.
	kept := max(0, a.claimed(dim)-a.taken(dim)-(need-grown))
	if grown <= 0 {
		kept = 0 // drawn from its own guarantee, which others' guarantees can't narrow
	}
	if at == None && kept == 0 {
		return Over{}, false // whether there is room is for the nodes to say
	}
	if resource.Add(resource.Add(used, kept), need) <= limit {
		return Over{}, false
	}
	return Over{
		Queue: at, Dim: dim, Need: need, Used: used, Aside: aside, Leaving: a.leaving.At(dim), Kept: kept, Limit: limit,
	}, true
}

// Real is the most of a resource that each queue can come to, by ID, in a cluster that has
// total of it: its ceiling, and what the one above it can come to less what is guaranteed to
// those beside it.
func (t *Tree) Real(dim int, total int64) []int64 {
	reach := make([]int64, len(t.accounts))
	kept := make([]int64, len(t.accounts)+1) // by parent
	for i := range t.accounts {
		up := t.accounts[i].parent + 1
		kept[up] = resource.Add(kept[up], t.accounts[i].terms.Guarantee.At(dim))
	}
	children := t.children()
	var descend func(of ID, most int64)
	descend = func(of ID, most int64) {
		for _, id := range children[of+1] {
			terms := t.accounts[id].terms
			others := kept[of+1] - terms.Guarantee.At(dim)
			reach[id] = min(max(most-others, 0), terms.Capability.At(dim))
			descend(id, reach[id])
		}
	}
	descend(None, total)
	return reach
}
