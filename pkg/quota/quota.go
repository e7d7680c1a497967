// Package quota is the arithmetic of a tree of queues: what is kept for each,
// what its part is, what it may use at most, what it uses, and whether more still
// fits, all the way up to the cluster. It knows no gang and no node.
package quota

import (
	"math"

	"github.com/muster-sh/muster/pkg/resource"
)

// ID numbers a queue of a Tree.
type ID int32

// None is the parent of a queue at the top, and stands for the cluster itself.
const None ID = -1

// Limit is an amount of some resources. Others are not in it: what that means,
// unlimited or nothing, is for the user of the Limit to say.
type Limit struct {
	Amount resource.Vector
	Named  []bool
}

// LimitOf makes a limit of exactly the resources that l names.
func LimitOf(t *resource.Table, l resource.List) Limit {
	var limit Limit
	for _, a := range l {
		limit.set(t.Dim(a.Name), a.Value)
	}
	return limit
}

// set puts amount n into dim and names it.
func (l *Limit) set(dim int, n int64) {
	l.Amount.Set(dim, n)
	for len(l.Named) <= dim {
		l.Named = append(l.Named, false)
	}
	l.Named[dim] = true
}

// Has reports whether the limit names dim.
func (l Limit) Has(dim int) bool { return dim < len(l.Named) && l.Named[dim] }

// At returns the limit in dim, math.MaxInt64 when there is none.
func (l Limit) At(dim int) int64 {
	if !l.Has(dim) {
		return math.MaxInt64
	}
	return l.Amount.At(dim)
}

// Terms is what a queue is entitled to.
type Terms struct {
	Weight     int64           // beside its siblings' weights; 0: 1
	Guarantee  resource.Vector // kept for it, whether it uses it or not
	Deserved   Limit           // its part; what it does not name it has no part of
	Capability Limit           // its ceiling; what it does not name is unlimited
}

// account is one queue's sums. Those of queues below it are included, but for
// own. Invariant: inner is the sum of the children's claims.
type account struct {
	parent   ID
	terms    Terms
	used     resource.Vector // by tasks that have a node
	wanted   resource.Vector // by tasks that wait
	held     resource.Vector // promised to gangs whose tasks do not exist yet
	leaving  resource.Vector // of used: by tasks that are going
	reserved resource.Vector // set aside for gangs that waited too long, or for which others go
	own      resource.Vector // used and reserved in the queue itself
	inner    resource.Vector // claimed by the queues right below
	above    bool            // queues are, or were, below it
}

// claim is what the queue takes of its parent in dim: what it uses or has set
// aside, and what is kept for it and for those below it.
func (a *account) claim(dim int) int64 {
	return max(a.terms.Guarantee.At(dim), a.claimed(dim))
}

// claimed is the claim without the queue's own guarantee.
func (a *account) claimed(dim int) int64 {
	return resource.Add(a.own.At(dim), a.inner.At(dim))
}

// taken is what can't be given to others: used and set aside.
func (a *account) taken(dim int) int64 {
	return resource.Add(a.used.At(dim), a.reserved.At(dim))
}

// Tree holds the accounts of all queues, and that of the cluster above them. The
// zero value is empty. What is charged to a queue is charged to every queue above
// it as well. Invariant: no queue is above itself; [Tree.Set] refuses that.
type Tree struct {
	accounts []account
	cluster  account
}

// Add makes a new queue at the top, entitled to nothing and without a ceiling.
func (t *Tree) Add() ID {
	t.accounts = append(t.accounts, account{parent: None})
	return ID(len(t.accounts) - 1)
}

// Reset makes id a queue as [Tree.Add] does. Nothing may be charged to it, and no queue be below it.
func (t *Tree) Reset(id ID) {
	t.Set(id, None, Terms{})
	t.accounts[id] = account{parent: None}
}

// at returns the account of id, the cluster's for None.
func (t *Tree) at(id ID) *account {
	if id == None {
		return &t.cluster
	}
	return &t.accounts[id]
}

// Set gives queue id its parent and terms. What is charged to id moves with it.
// It reports false, and changes only the terms, when parent is id itself or below it.
func (t *Tree) Set(id, parent ID, terms Terms) bool {
	a := t.at(id)
	t.reclaim(a, func() { a.terms = terms })
	if parent == a.parent {
		return true
	}
	if t.Within(parent, id) {
		return false
	}
	t.move(a, -1)
	a.parent = parent
	t.at(parent).above = true
	t.move(a, 1)
	return true
}

// move adds all of a queue's sums to the queues above it, or takes them away.
func (t *Tree) move(a *account, times int64) {
	p := t.at(a.parent)
	t.reclaim(p, func() {
		for d := range max(len(a.terms.Guarantee), len(a.own), len(a.inner)) {
			p.inner.Set(d, p.inner.At(d)+times*a.claim(d))
		}
	})
	t.climb(a.parent, func(p *account) {
		p.used.Add(a.used, times)
		p.leaving.Add(a.leaving, times)
		p.wanted.Add(a.wanted, times)
		p.held.Add(a.held, times)
		p.reserved.Add(a.reserved, times)
	})
}

// reclaim makes a change that may change a's claim, and tells the accounts above.
func (t *Tree) reclaim(a *account, change func()) {
	before := t.claims(a)
	change()
	after := t.claims(a)
	for d := range max(len(before), len(after)) {
		t.pass(a, d, after.At(d)-before.At(d))
	}
}

func (t *Tree) claims(a *account) resource.Vector {
	var v resource.Vector
	for d := range max(len(a.terms.Guarantee), len(a.own), len(a.inner)) {
		v.Set(d, a.claim(d))
	}
	return v
}

// pass tells the accounts above a that its claim in dim grew by delta.
func (t *Tree) pass(a *account, dim int, delta int64) {
	for delta != 0 && a != &t.cluster {
		p := t.at(a.parent)
		before := p.claim(dim)
		p.inner.Set(dim, p.inner.At(dim)+delta)
		delta = p.claim(dim) - before
		a = p
	}
}

// take changes what queue id itself uses or has set aside.
func (t *Tree) take(id ID, v resource.Vector, times int64) {
	a := t.at(id)
	for d, n := range v {
		if n == 0 {
			continue
		}
		before := a.claim(d)
		a.own.Set(d, a.own.At(d)+n*times)
		t.pass(a, d, a.claim(d)-before)
	}
}

// Charge adds times copies of v to what id and the queues above it use. A negative times gives back.
func (t *Tree) Charge(id ID, v resource.Vector, times int64) {
	t.take(id, v, times)
	t.climb(id, func(a *account) { a.used.Add(v, times) })
}

// Leave notes that times copies of v, of what id and the queues above it use, are going. A
// negative times takes that back: they are gone, or stay.
func (t *Tree) Leave(id ID, v resource.Vector, times int64) {
	t.climb(id, func(a *account) { a.leaving.Add(v, times) })
}

// Want adds times copies of v to what tasks wait for in id and the queues above it.
func (t *Tree) Want(id ID, v resource.Vector, times int64) {
	t.climb(id, func(a *account) { a.wanted.Add(v, times) })
}

// Hold promises times copies of v within id. A negative times gives back.
func (t *Tree) Hold(id ID, v resource.Vector, times int64) {
	t.climb(id, func(a *account) { a.held.Add(v, times) })
}

// Reserve sets v aside within id, for nobody else to use. A negative times gives back.
func (t *Tree) Reserve(id ID, v resource.Vector, times int64) {
	t.take(id, v, times)
	t.climb(id, func(a *account) { a.reserved.Add(v, times) })
}

// climb visits id and every account above it, the cluster's last.
func (t *Tree) climb(id ID, visit func(*account)) {
	for ; id != None; id = t.accounts[id].parent {
		visit(&t.accounts[id])
	}
	visit(&t.cluster)
}

// children lists the queues right below each, by its ID plus one: those at the top first.
func (t *Tree) children() [][]ID {
	below := make([][]ID, len(t.accounts)+1)
	for i := range t.accounts {
		up := t.accounts[i].parent + 1
		below[up] = append(below[up], ID(i))
	}
	return below
}

// Within reports whether queue id is top or below it.
func (t *Tree) Within(id, top ID) bool {
	for id != None && id != top {
		id = t.Parent(id)
	}
	return id == top
}

// Len is how many queues there are.
func (t *Tree) Len() int { return len(t.accounts) }

// Parent returns the queue above id, None at the top.
func (t *Tree) Parent(id ID) ID { return t.at(id).parent }

// Terms returns what id itself is entitled to. The caller must not change it.
func (t *Tree) Terms(id ID) Terms { return t.at(id).terms }

// Used returns what id and the queues below it use; of None, all of them. The caller must not change it.
func (t *Tree) Used(id ID) resource.Vector { return t.at(id).used }

// Leaving returns what is going of what id and the queues below it use. The caller must not change it.
func (t *Tree) Leaving(id ID) resource.Vector { return t.at(id).leaving }

// Wanted returns what tasks of id and of the queues below it wait for. The caller must not change it.
func (t *Tree) Wanted(id ID) resource.Vector { return t.at(id).wanted }

// Held returns what is promised within id. The caller must not change it.
func (t *Tree) Held(id ID) resource.Vector { return t.at(id).held }

// Reserved returns what is set aside in id and the queues below it. The caller must not change it.
func (t *Tree) Reserved(id ID) resource.Vector { return t.at(id).reserved }
