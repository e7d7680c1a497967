// Package quota is the arithmetic of a tree of queues: what each may use at
// most, what it uses, and whether more still fits, all the way up to the root.
// It knows no gang and no node.
package quota

import (
	"math"

	"github.com/muster-sh/muster/pkg/resource"
)

// ID numbers a queue of a Tree.
type ID int32

// None is the parent of a queue at the top.
const None ID = -1

// Limit is a ceiling. A dimension without a name in it is unlimited.
type Limit struct {
	Amount resource.Vector
	Named  []bool
}

// LimitOf makes a ceiling of exactly the resources that l names.
func LimitOf(t *resource.Table, l resource.List) Limit {
	var limit Limit
	for _, a := range l {
		d := t.Dim(a.Name)
		limit.Amount.Set(d, a.Value)
		for len(limit.Named) <= d {
			limit.Named = append(limit.Named, false)
		}
		limit.Named[d] = true
	}
	return limit
}

// At returns the ceiling in dim, math.MaxInt64 when there is none.
func (l Limit) At(dim int) int64 {
	if dim >= len(l.Named) || !l.Named[dim] {
		return math.MaxInt64
	}
	return l.Amount.At(dim)
}

type account struct {
	parent     ID
	capability Limit
	used       resource.Vector // tasks placed in the queue or below it
	held       resource.Vector // promised to gangs whose tasks do not exist yet
}

// Tree holds the accounts of all queues. The zero value is empty. What is
// charged to a queue is charged to every queue above it as well. Invariant: no
// queue is above itself; [Tree.Set] refuses that.
type Tree struct{ accounts []account }

// Add makes a new queue at the top, without a ceiling.
func (t *Tree) Add() ID {
	t.accounts = append(t.accounts, account{parent: None})
	return ID(len(t.accounts) - 1)
}

// Set gives queue id its parent and ceiling. What is charged to id moves with
// it. It reports false, and changes only the ceiling, when parent is id itself
// or below it.
func (t *Tree) Set(id, parent ID, capability Limit) bool {
	a := &t.accounts[id]
	a.capability = capability
	if parent == a.parent {
		return true
	}
	for up := parent; up != None; up = t.accounts[up].parent {
		if up == id {
			return false
		}
	}
	used, held := a.used, a.held
	t.climb(a.parent, func(p *account) { p.used.Add(used, -1); p.held.Add(held, -1) })
	a.parent = parent
	t.climb(parent, func(p *account) { p.used.Add(used, 1); p.held.Add(held, 1) })
	return true
}

// Charge adds times copies of v to what id and the queues above it use. A negative times gives back.
func (t *Tree) Charge(id ID, v resource.Vector, times int64) {
	t.climb(id, func(a *account) { a.used.Add(v, times) })
}

// Hold promises times copies of v within id. A negative times gives back.
func (t *Tree) Hold(id ID, v resource.Vector, times int64) {
	t.climb(id, func(a *account) { a.held.Add(v, times) })
}

func (t *Tree) climb(id ID, visit func(*account)) {
	for ; id != None; id = t.accounts[id].parent {
		visit(&t.accounts[id])
	}
}

// Parent returns the queue above id, None at the top.
func (t *Tree) Parent(id ID) ID { return t.accounts[id].parent }

// Used returns what id and the queues below it use. The caller must not change it.
func (t *Tree) Used(id ID) resource.Vector { return t.accounts[id].used }

// Capability returns the ceiling of id itself.
func (t *Tree) Capability(id ID) Limit { return t.accounts[id].capability }

// Over is one ceiling that a request would break.
type Over struct {
	Queue             ID
	Dim               int
	Need, Used, Limit int64
}

// Exceeded lists the ceilings that v more in queue id would break: those of the
// lowest queue that has any, in order of dimension. With promised, room that is
// promised to others counts as used.
func (t *Tree) Exceeded(id ID, v resource.Vector, promised bool) []Over {
	for ; id != None; id = t.accounts[id].parent {
		a := &t.accounts[id]
		var over []Over
		for d, need := range v {
			used := a.used.At(d)
			if promised {
				used = resource.Add(used, a.held.At(d))
			}
			if limit := a.capability.At(d); need > 0 && resource.Add(used, need) > limit {
				over = append(over, Over{Queue: id, Dim: d, Need: need, Used: used, Limit: limit})
			}
		}
		if over != nil {
			return over
		}
	}
	return nil
}

// Fits reports whether v more in queue id breaks no ceiling. It allocates nothing.
func (t *Tree) Fits(id ID, v resource.Vector) bool {
	for ; id != None; id = t.accounts[id].parent {
		a := &t.accounts[id]
		for d, need := range v {
			if need > 0 && resource.Add(a.used.At(d), need) > a.capability.At(d) {
				return false
			}
		}
	}
	return true
}
