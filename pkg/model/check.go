package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// Check recounts everything and names each invariant that does not hold. It is
// for tests; it takes time in proportion to the whole world.
func (w *World) Check() error {
	errs := w.checkGangs()
	free := make([]resource.Vector, len(w.nodes))
	var total, foreign resource.Vector
	total.Add(w.stock, 1)
	for i, n := range w.nodes {
		free[i].Add(n.Allocatable, 1)
		total.Add(n.Allocatable, 1)
	}
	var own quota.Tree
	for range w.queues {
		own.Add()
	}
	for _, q := range w.queues {
		own.Set(q.ID, w.Quota.Parent(q.ID), quota.Terms{})
	}
	errs = append(errs, w.checkTasks(free, &own, &foreign)...)
	w.checkClaims(free, &own)
	errs = append(errs, w.checkPromises(&own)...)
	errs = append(errs, w.checkDevices(&own, &foreign)...)
	if !equal(total, w.Total) || !equal(foreign, w.Foreign) {
		errs = append(errs, fmt.Errorf("total %v and foreign %v, nodes and tasks give %v and %v", w.Total, w.Foreign, total, foreign))
	}
	var debt resource.Vector
	for i, n := range w.nodes {
		for d := range free[i] {
			debt.Set(d, debt.At(d)+max(0, -free[i].At(d)-n.Claimed.At(d)))
		}
		if (n.Name == "") != (w.nodesByName[n.Name] == nil) || n.Name == "" && n.Known {
			errs = append(errs, fmt.Errorf("node %q is not the one of that name", n.Name))
		}
		if !equal(free[i], n.Free) {
			errs = append(errs, fmt.Errorf("node %s: free %v, its tasks leave %v", n.Name, n.Free, free[i]))
		}
	}
	if !equal(debt, w.Debt) {
		errs = append(errs, fmt.Errorf("debt %v, nodes and tasks give %v", w.Debt, debt))
	}
	return errors.Join(append(errs, w.checkQueues(&own)...)...)
}

// checkTasks takes what tasks use off free and notes it in own, or in foreign.
func (w *World) checkTasks(free []resource.Vector, own *quota.Tree, foreign *resource.Vector) []error {
	var errs []error
	for _, uid := range slices.Sorted(maps.Keys(w.tasks)) {
		t := w.tasks[uid]
		if t.Bucket == Waiting && t.Gang != nil && t.Gang.Queue != nil {
			own.Want(t.Gang.Queue.ID, t.Class.Req, 1)
		}
		if !t.charged() {
			continue
		}
		free[t.On.ID].Add(t.Class.Req, -1)
		if int(t.slot) >= len(t.On.Tasks) || t.On.Tasks[t.slot] != t {
			errs = append(errs, fmt.Errorf("task %s is not among those of node %s", t.Name, t.On.Name))
		}
		if t.Gang != nil && t.Gang.Queue != nil {
			own.Charge(t.Gang.Queue.ID, t.Class.Req, 1)
			if t.Bucket == Releasing {
				own.Leave(t.Gang.Queue.ID, t.Class.Req, 1)
			}
		} else {
			foreign.Add(t.Class.Req, 1)
		}
	}
	return errs
}

// checkClaims takes what is set aside off free and notes it in own.
func (w *World) checkClaims(free []resource.Vector, own *quota.Tree) {
	for _, key := range slices.Sorted(maps.Keys(w.gangs)) {
		for _, c := range w.gangs[key].Claims {
			if c.Node != nil {
				free[c.Node.ID].Add(c.Req, -c.N)
			}
			own.Reserve(w.gangs[key].Queue.ID, c.Req, c.N)
		}
	}
}

// checkPromises adds up what is promised and owed, and notes in own what is promised and awaited.
func (w *World) checkPromises(own *quota.Tree) []error {
	var promised, owed resource.Vector
	for _, key := range slices.Sorted(maps.Keys(w.gangs)) {
		g := w.gangs[key]
		promised.Add(g.Promised, 1)
		owed.Add(g.Owed, 1)
		if g.Queue != nil {
			own.Want(g.Queue.ID, g.Awaited, 1)
			own.Hold(g.Queue.ID, g.Promised, 1)
		}
	}
	if equal(promised, w.PromisedAll) && equal(owed, w.Owed) {
		return nil
	}
	return []error{fmt.Errorf("promised %v and owed %v, gangs give %v and %v", w.PromisedAll, w.Owed, promised, owed)}
}

// checkDevices notes in own, or in foreign, what claims take: each once, for the task
// that is charged longest, else for the first that waits.
func (w *World) checkDevices(own *quota.Tree, foreign *resource.Vector) []error {
	var errs []error
	users := w.deviceUsers()
	for _, key := range slices.Sorted(maps.Keys(users)) {
		t, c := users[key], w.deviceClaims[key]
		if c == nil {
			errs = append(errs, fmt.Errorf("claim %s: task %s uses it, and it is not kept", key, t.Name))
			continue
		}
		var queue *Queue
		if t.Gang != nil {
			queue = t.Gang.Queue
		}
		switch takes := w.takes(c.ClaimRef); {
		case t.charged() && queue == nil:
			foreign.Add(takes, 1)
		case t.charged():
			own.Charge(queue.ID, takes, 1)
		case queue != nil:
			own.Want(queue.ID, takes, 1)
		}
	}
	return errs
}

// deviceUsers finds the task that each claim in use stands for.
func (w *World) deviceUsers() map[string]*Task {
	users := map[string]*Task{}
	for _, uid := range slices.Sorted(maps.Keys(w.tasks)) {
		t := w.tasks[uid]
		if !t.charged() && t.Bucket != Waiting {
			continue
		}
		for _, ref := range t.Claims.All() {
			if u := users[ref.Key]; u == nil || w.before(t, u) {
				users[ref.Key] = t
			}
		}
	}
	return users
}

// before reports whether a claim that both tasks use stands for t rather than for o.
func (w *World) before(t, o *Task) bool {
	if t.charged() != o.charged() {
		return t.charged()
	}
	if t.charged() {
		return w.since[t] < w.since[o]
	}
	return t.Seq < o.Seq
}

// checkQueues compares what queues use with own, which was added up anew.
func (w *World) checkQueues(own *quota.Tree) []error {
	var errs []error
	gangs := map[*Queue]int{}
	//muster:anyorder counted
	for _, g := range w.gangs {
		gangs[g.Queue]++
	}
	for _, q := range w.queues {
		if q.gangs != gangs[q] || (q.Name == "") != (w.queuesByName[q.Name] == nil) {
			errs = append(errs, fmt.Errorf("queue %q: %d gangs, %d name it", q.Name, q.gangs, gangs[q]))
		}
		if parent := w.parentOf(q); w.Quota.Parent(q.ID) != parent && !w.Quota.Within(parent, q.ID) {
			errs = append(errs, fmt.Errorf("queue %s: it is not below %q, though that closes no circle", q.Name, q.Parent))
		}
		if used, want := w.Quota.Used(q.ID), own.Used(q.ID); !equal(used, want) {
			errs = append(errs, fmt.Errorf("queue %s: used %v, its tasks use %v", q.Name, used, want))
		}
		if leaving, want := w.Quota.Leaving(q.ID), own.Leaving(q.ID); !equal(leaving, want) {
			errs = append(errs, fmt.Errorf("queue %s: %v are leaving, of its tasks %v", q.Name, leaving, want))
		}
		if wanted, want := w.Quota.Wanted(q.ID), own.Wanted(q.ID); !equal(wanted, want) {
			errs = append(errs, fmt.Errorf("queue %s: wanted %v, its tasks want %v", q.Name, wanted, want))
		}
		if held, want := w.Quota.Held(q.ID), own.Held(q.ID); !equal(held, want) {
			errs = append(errs, fmt.Errorf("queue %s: promised %v, to its gangs %v", q.Name, held, want))
		}
		if reserved, want := w.Quota.Reserved(q.ID), own.Reserved(q.ID); !equal(reserved, want) {
			errs = append(errs, fmt.Errorf("queue %s: reserved %v, its gangs claim %v", q.Name, reserved, want))
		}
	}
	if used, want := w.Quota.Used(quota.None), own.Used(quota.None); !equal(used, want) {
		errs = append(errs, fmt.Errorf("all queues: used %v, their tasks use %v", used, want))
	}
	return errs
}

func (w *World) checkGangs() []error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(w.gangs)) {
		g := w.gangs[key]
		var all Counts
		var used resource.Vector
		roles := map[string]*Counts{}
		for _, t := range g.Tasks {
			if w.tasks[t.UID] != t || t.Gang != g {
				errs = append(errs, fmt.Errorf("gang %s: task %s is not its own", key, t.Name))
			}
			if roles[t.Role] == nil {
				roles[t.Role] = &Counts{}
			}
			all.add(t, 1)
			if t.charged() {
				used.Add(t.Class.Req, 1)
			}
			roles[t.Role].add(t, 1)
		}
		if all != g.Counts || !equal(used, g.Used) {
			errs = append(errs, fmt.Errorf("gang %s: counts %+v and used %v, its tasks give %+v and %v", key, g.Counts, g.Used, all, used))
		}
		for _, r := range g.Roles {
			var want Counts
			if c := roles[r.Name]; c != nil {
				want = *c
			}
			if r.Counts != want {
				errs = append(errs, fmt.Errorf("gang %s role %q: counts %+v, its tasks give %+v", key, r.Name, r.Counts, want))
			}
		}
	}
	return errs
}

func equal(a, b resource.Vector) bool {
	for d := range max(len(a), len(b)) {
		if a.At(d) != b.At(d) {
			return false
		}
	}
	return true
}
