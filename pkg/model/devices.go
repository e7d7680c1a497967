package model

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/pkg/resource"
)

// ClaimRef is a claim for devices that a task uses. Tasks that use one claim share its devices.
type ClaimRef struct {
	Key      string // namespace/name; of one that is yet to be made, something that no other has
	Template string // namespace/name of the template that it is made by; empty: none
}

// Claims are what a task claims of devices: Refs names each claim once. A pointer to them
// is all that they cost a task that has none.
type Claims struct{ Refs []ClaimRef }

// All lists the claims; none of nil.
func (c *Claims) All() []ClaimRef {
	if c == nil {
		return nil
	}
	return c.Refs
}

// Devices is what one claim, or each claim that is made by one template, takes.
type Devices struct {
	Claim, Template string // namespace/name; one of them is set
	Takes           resource.List
	Gone            bool
}

// Provision is what stands behind resources on a node besides what it has itself; on each
// node, if it is not named.
type Provision struct {
	Node string
	Has  resource.List
}

// deviceClaim is a claim that tasks use. It is charged once, to the queue of the task
// that was charged for it first and still is. While none is, it is wanted once, in the
// queue of the first that waits.
type deviceClaim struct {
	ClaimRef
	refs    int     // tasks that name it
	holders []*Task // charged, by how long
	waiters []*Task // waiting, by arrival
	booked  deviceEntry
}

// deviceEntry is where a claim stands in the ledger.
type deviceEntry struct {
	queue *Queue // nil: none
	takes resource.Vector
	held  bool // charged; else wanted
}

// SetDevices notes what a claim or the claims of a template take. What is told of a
// claim itself goes before what is told of its template.
func (w *World) SetDevices(d Devices) {
	takes := w.Resources.Vector(d.Takes)
	if d.Template != "" {
		note(w.byTemplate, d.Template, takes, d.Gone)
		//muster:anyorder sums
		for _, c := range w.deviceClaims {
			if c.Template == d.Template {
				w.settle(c)
				c.tell(w)
			}
		}
	} else {
		note(w.byClaim, d.Claim, takes, d.Gone)
		if c := w.deviceClaims[d.Claim]; c != nil {
			w.settle(c)
			c.tell(w)
		}
	}
	w.Happened |= QueueRoom
}

func note(m map[string]resource.Vector, key string, takes resource.Vector, gone bool) {
	if gone {
		delete(m, key)
	} else {
		m[key] = takes
	}
}

// SetStock notes how much there is of all devices together.
func (w *World) SetStock(l resource.List) {
	stock := w.Resources.Stock(l)
	if equal(stock, w.stock) {
		return
	}
	w.Total.Add(w.stock, -1)
	w.Total.Add(stock, 1)
	w.stock = stock
	w.Happened |= QueueRoom
}

// ForgetDevices forgets what claims take, what devices there are, and where.
func (w *World) ForgetDevices() {
	clear(w.provided)
	for _, n := range w.nodes {
		w.provideAnew(n)
	}
	clear(w.byClaim)
	clear(w.byTemplate)
	//muster:anyorder sums
	for _, c := range w.deviceClaims {
		w.settle(c)
	}
	w.SetStock(nil)
	w.Happened |= QueueRoom
}

// takes is what a claim takes, as far as that was told.
func (w *World) takes(c ClaimRef) resource.Vector {
	if v, ok := w.byClaim[c.Key]; ok {
		return v
	}
	return w.byTemplate[c.Template]
}

// use makes a task a user of its claims, or no longer.
func (w *World) use(t *Task, times int64) {
	if times > 0 && t.charged() && w.since[t] == 0 {
		w.holds++
		w.since[t] = w.holds
	} else if times > 0 && !t.charged() && t.Bucket != Evicted {
		delete(w.since, t)
	}
	for _, ref := range t.Claims.Refs {
		c := w.deviceClaims[ref.Key]
		if c == nil {
			c = &deviceClaim{ClaimRef: ref}
			w.deviceClaims[ref.Key] = c
		}
		c.Template = cmp.Or(c.Template, ref.Template)
		c.refs += int(times)
		if t.charged() {
			c.holders = among(c.holders, t, times, func(t *Task) uint64 { return w.since[t] })
		} else if t.Bucket == Waiting {
			c.waiters = among(c.waiters, t, times, func(t *Task) uint64 { return t.Seq })
		}
		w.settle(c)
		if c.refs == 0 {
			delete(w.deviceClaims, ref.Key)
		}
	}
}

// among puts a task in its place in an order, or takes it out.
func among(tasks []*Task, t *Task, times int64, order func(*Task) uint64) []*Task {
	i, _ := slices.BinarySearchFunc(tasks, t, func(a, b *Task) int { return cmp.Compare(order(a), order(b)) })
	if times > 0 {
		return slices.Insert(tasks, i, t)
	}
	return slices.Delete(tasks, i, i+1)
}

// settle brings the ledger up to date with the users of a claim and what it takes.
func (w *World) settle(c *deviceClaim) {
	next := deviceEntry{takes: w.takes(c.ClaimRef), held: len(c.holders) > 0}
	switch {
	case next.held:
		next.queue = c.holders[0].queue
	case len(c.waiters) > 0:
		next.queue = c.waiters[0].queue
	}
	w.enterDevices(c.booked, -1)
	w.enterDevices(next, 1)
	c.booked = next
}

func (w *World) enterDevices(e deviceEntry, times int64) {
	switch {
	case e.held && e.queue != nil:
		w.Quota.Charge(e.queue.ID, e.takes, times)
	case e.held:
		w.Foreign.Add(e.takes, times)
	case e.queue != nil:
		w.Quota.Want(e.queue.ID, e.takes, times)
	}
}

// shared tells the gangs that wait with a claim of a task that this task shares it: what
// they would be charged is no longer theirs alone to say.
func (w *World) shared(t *Task) {
	for _, ref := range t.Claims.All() {
		w.deviceClaims[ref.Key].tell(w)
	}
}

// tell touches the gangs that wait with a claim.
func (c *deviceClaim) tell(w *World) {
	for _, t := range c.waiters {
		w.touch(t.Gang)
	}
}

// Bill adds up what tasks would be charged: what each asks for, and what each of their
// claims takes that is not charged yet.
type Bill struct {
	Sum     resource.Vector
	Devices resource.Vector // the part of it that claims take
	claims  map[string]int  // by key: how many of the tasks share it
}

// Add adds tasks of one class.
func (b *Bill) Add(w *World, c *Class, tasks []*Task) {
	b.Sum.Add(c.Req, int64(len(tasks)))
	if len(w.deviceClaims) == 0 {
		return
	}
	for _, t := range tasks {
		for _, ref := range t.Claims.All() {
			if b.claims == nil {
				b.claims = map[string]int{}
			}
			b.claims[ref.Key]++
			if claim := w.deviceClaims[ref.Key]; len(claim.holders) == 0 && b.claims[ref.Key] == 1 {
				b.Sum.Add(claim.booked.takes, 1)
				b.Devices.Add(claim.booked.takes, 1)
			}
		}
	}
}

// Moves reports whether the sum may be another without a change of the tasks: others share
// their claims.
func (b *Bill) Moves(w *World) bool {
	//muster:anyorder one is enough
	for key, n := range b.claims {
		if w.deviceClaims[key].refs > n {
			return true
		}
	}
	return false
}

// Bill is what one task would be charged. Its sum must not be written to.
func (w *World) Bill(t *Task) Bill {
	if t.Claims == nil {
		return Bill{Sum: t.Class.Req}
	}
	var b Bill
	b.Add(w, t.Class, []*Task{t})
	return b
}

// Gives is what tasks of one queue take there at most: what each asks for, and once what
// each claim takes that any of them uses and that is charged there. Others may use it too:
// then it is given only when they leave as well. The sum must not be written to.
func (w *World) Gives(tasks []*Task) resource.Vector {
	return w.sumOf(tasks, func(t *Task, c *deviceClaim) bool { return c.booked.held && c.booked.queue == t.queue })
}

// Gave is what tasks that have just left gave: what each asked for, and what each claim took
// of which one of them was the last user. The sum must not be written to.
func (w *World) Gave(tasks []*Task) resource.Vector {
	return w.sumOf(tasks, func(_ *Task, c *deviceClaim) bool { return !c.booked.held })
}

// sumOf adds up what tasks ask for, and once each of their claims that counts.
func (w *World) sumOf(tasks []*Task, counts func(*Task, *deviceClaim) bool) resource.Vector {
	if len(tasks) == 1 && tasks[0].Claims == nil {
		return tasks[0].Class.Req
	}
	var sum resource.Vector
	var seen map[string]bool
	for _, t := range tasks {
		sum.Add(t.Class.Req, 1)
		for _, ref := range t.Claims.All() {
			if c := w.deviceClaims[ref.Key]; !seen[ref.Key] && counts(t, c) {
				if seen == nil {
					seen = map[string]bool{}
				}
				seen[ref.Key] = true
				sum.Add(c.booked.takes, 1)
			}
		}
	}
	return sum
}
