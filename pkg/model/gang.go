package model

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Gang is a PodGroup with its tasks. Known is false while only tasks speak of it.
type Gang struct {
	GangSpec
	Seq    uint64 // order of arrival; unique
	Known  bool
	Queue  *Queue
	Tasks  []*Task // in order of arrival
	Roles  []Role  // in order of first mention
	Counts Counts
	// Used is what its tasks are charged.
	Used resource.Vector
	// Promised is what is held in the queue for tasks that do not exist yet.
	Promised resource.Vector
	// Owed is what it was told to go ahead for and does not use yet, while that may still come.
	Owed resource.Vector
	// Awaited is what its tasks will ask for once it is told to go ahead; nil when it was, or when they exist.
	Awaited resource.Vector
	// Claims is room set aside for it.
	Claims    []Claim
	selectors []labels.Selector // by SubGroups
	settled   resource.Vector   // what it used and was owed when that was last said
	touched   bool
	place     int // in World.arrived
}

// Role is a part of a gang whose tasks are alike.
type Role struct {
	Name string
	Min  int32
	Counts
}

// Counts says how many tasks there are of each kind.
type Counts struct {
	Waiting   int32 // no node yet, and free of gates
	Gated     int32
	Placed    int32 // assumed or bound, not ended, not releasing
	Bound     int32 // of Placed: confirmed by the API server
	Running   int32 // of Placed: all containers started
	Releasing int32
	Succeeded int32
	Failed    int32
}

// Held is how many tasks count towards a minimum: those that have a node or did their work.
func (c Counts) Held() int32 { return c.Placed + c.Succeeded }

// Confirmed is how many the API server knows to have a node, or that did their work.
func (c Counts) Confirmed() int32 { return c.Bound + c.Succeeded }

// Alive is how many tasks could still count towards a minimum.
func (c Counts) Alive() int32 { return c.Held() + c.Waiting + c.Gated }

// Idle reports whether no task runs, waits or goes away: whatever exists has ended.
func (c Counts) Idle() bool { return c.Waiting+c.Gated+c.Placed+c.Releasing == 0 }

// All is how many tasks exist.
func (c Counts) All() int32 { return c.Alive() + c.Releasing + c.Failed }

// Exist reports whether at least so many tasks could still count, behind gates or
// not; if not, how many the role, empty for all of the gang, lacks.
func (c Counts) Exist(least int32, role string) (reason.Reason, bool) {
	if n := c.Alive(); n < least {
		return reason.Reason{Code: reason.NotEnoughTasks, Role: role, Need: int64(least), Have: int64(n)}, false
	}
	return reason.Reason{}, true
}

// Whole reports whether a gang has its minimum, in all and of every role.
func (g *Gang) Whole() bool {
	return g.meets(Counts.Held, func(p Part) int32 { return p.Held })
}

// Confirmed reports whether the API server knows of a gang's minimum, in all, of
// every role and in sub-groups, as bound or done; of one without a minimum, of any task.
func (g *Gang) Confirmed() bool {
	return g.Counts.Confirmed() > 0 && g.meets(Counts.Confirmed, func(p Part) int32 { return p.Confirmed })
}

// meets reports whether a gang has its minimum by a way to count tasks.
func (g *Gang) meets(count func(Counts) int32, parts func(Part) int32) bool {
	if count(g.Counts) < g.Min {
		return false
	}
	for i := range g.Roles {
		if r := &g.Roles[i]; count(r.Counts) < r.Min {
			return false
		}
	}
	return g.parted(parts)
}

// Stuck returns the first task whose binding was refused, nil when there is none, and how many there are.
func (g *Gang) Stuck() (first *Task, n int32) {
	if g.Counts.Placed == g.Counts.Bound {
		return nil, 0 // no binding is under way
	}
	for _, t := range g.Tasks {
		if t.Stuck == "" {
			continue
		}
		if n++; first == nil {
			first = t
		}
	}
	return first, n
}

// Broken reports whether a gang has some of its minimum but not all of it.
func (g *Gang) Broken() bool { return g.Counts.Placed > 0 && !g.Whole() }

// The annotations of a PodGroup with its disruption budget, and that protects its pods.
const (
	preemptable    = "volcano.sh/preemptable"
	minAvailable   = "volcano.sh/jdb-min-available"
	maxUnavailable = "volcano.sh/jdb-max-unavailable"
)

// MustStay is how many tasks of a gang must stay by its disruption budget, 0 when any
// may go; said reports whether it has one. Those that are going count as unavailable.
func (g *Gang) MustStay() (keep int32, said bool) {
	if len(g.Annotations) == 0 {
		return 0, false
	}
	all := g.Counts.Alive() + g.Counts.Releasing
	if n, ok := amountOf(g.Annotations[minAvailable], all); ok {
		keep, said = n, true
	}
	if n, ok := amountOf(g.Annotations[maxUnavailable], all); ok {
		keep, said = max(keep, all-n), true
	}
	return keep, said
}

// MisreadHint says what would be right in place of a value that can't be read of one of
// the annotations that count whatever plugins there are; empty for all others.
func MisreadHint(key, value string) string {
	switch key {
	case minAvailable, maxUnavailable:
		if _, ok := amountOf(value, 0); !ok {
			return "give a whole number of pods such as 2, or a percentage such as 50%"
		}
	case preemptable:
		if _, err := strconv.ParseBool(value); err != nil {
			return "give true or false"
		}
	}
	return ""
}

// amountOf reads a number, or a percentage of all, rounded up.
func amountOf(text string, all int32) (int32, bool) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return 0, false
	}
	if percent {
		n = min((n*int64(all)+99)/100, math.MaxInt32)
	}
	return int32(n), true
}

// SetGang adds or changes a gang. The phase counts only for a new one: from then
// on it is ours to say.
func (w *World) SetGang(s GangSpec) {
	g := w.gang(s.Key)
	if g.Known && g.UID != s.UID {
		w.DropGang(s.Key, g.UID)
		g = w.gang(s.Key)
	}
	if g.Known {
		if s.Phase = g.Phase; reflect.DeepEqual(s, g.GangSpec) {
			return
		}
	}
	if !g.Known || g.Queue == nil || g.Queue.Name != s.Queue {
		w.join(g, s.Queue)
	}
	before := g.Annotations
	g.GangSpec, g.Known = s, true
	w.reclass(g, before)
	g.selectors = selectorsOf(s.SubGroups)
	for i := range g.Roles {
		g.Roles[i].Min = 0
	}
	for _, r := range s.RoleMin {
		g.role(r.Role).Min = r.Min
	}
	w.touch(g)
}

// DropGang forgets a gang; its tasks stay and wait for it to come back. A UID
// that is not the gang's is ignored, so a late word of an old gang hurts nobody.
func (w *World) DropGang(key, uid string) {
	g := w.gangs[key]
	if g == nil || !g.Known || g.UID != uid {
		return
	}
	w.Promise(g, nil)
	w.Owe(g, nil)
	w.Await(g, nil)
	w.recharge(g, nil)
	before := g.Annotations
	g.GangSpec, g.Known, g.selectors = GangSpec{Key: key}, false, nil
	w.reclass(g, before)
	for i := range g.Roles {
		g.Roles[i].Min = 0
	}
	w.touch(g)
	w.forgetIfEmpty(g)
}

// GangOf returns the gang with that key, nil when none was heard of.
func (w *World) GangOf(key string) *Gang { return w.gangs[key] }

// Promise holds v in the gang's queue for tasks that do not exist yet, in place
// of what was held before. Nil gives it back.
func (w *World) Promise(g *Gang, v resource.Vector) {
	if g.Promised != nil {
		w.Quota.Hold(g.Queue.ID, g.Promised, -1)
		w.PromisedAll.Add(g.Promised, -1)
		w.Happened |= QueueRoom | NodeRoom
	}
	if g.Promised = v; v != nil {
		w.Quota.Hold(g.Queue.ID, v, 1)
		w.PromisedAll.Add(v, 1)
	}
}

// Owe notes what a gang was told to go ahead for and does not use yet, in place of
// what was noted before. Nil: it has all of that, or will not get it.
func (w *World) Owe(g *Gang, v resource.Vector) {
	if g.Owed == nil && v == nil {
		return
	}
	now := slices.Clone(g.Used)
	now.Add(v, 1)
	for d, n := range g.settled {
		if now.At(d) < n {
			w.Happened |= NodeRoom
		}
	}
	w.Owed.Add(g.Owed, -1)
	w.Owed.Add(v, 1)
	g.Owed, g.settled = v, now
	if v == nil {
		g.settled = nil
	}
}

// Await notes that the tasks of a gang will ask for v once it is told to go
// ahead, in place of what was noted before. Nil: it does not wait for that.
func (w *World) Await(g *Gang, v resource.Vector) {
	if g.Queue != nil {
		w.Quota.Want(g.Queue.ID, g.Awaited, -1)
		w.Quota.Want(g.Queue.ID, v, 1)
		g.Awaited = v
	}
}

func (w *World) gang(key string) *Gang {
	if g := w.gangs[key]; g != nil {
		return g
	}
	w.seq++
	g := &Gang{GangSpec: GangSpec{Key: key}, Seq: w.seq}
	w.gangs[key] = g
	g.place = len(w.arrived)
	w.arrived = append(w.arrived, g)
	return g
}

// join moves a gang, with all that is charged for it, to the queue of that name.
func (w *World) join(g *Gang, name string) {
	w.Promise(g, nil)
	w.Await(g, nil)
	q := w.queuesByName[name]
	if q == nil {
		q = w.queue(name)
		for w.attachStrays() { // some may have named it as their parent
		}
	}
	w.recharge(g, q)
}

// recharge moves what a gang's tasks use and want to queue q, nil for none. What
// was set aside for it is given back.
func (w *World) recharge(g *Gang, q *Queue) {
	if g.Claims != nil {
		w.SetAside(g, nil)
		w.Happened |= NodeRoom
	}
	for _, t := range g.Tasks {
		w.book(t, -1)
		t.queue = q
		w.book(t, 1)
	}
	was := g.Queue
	g.Queue = q
	if q != nil {
		q.gangs++
	}
	if was != nil {
		w.Happened |= QueueRoom
		was.gangs--
		w.leaveQueue(was)
	}
}

func (w *World) forgetIfEmpty(g *Gang) {
	if g != nil && !g.Known && len(g.Tasks) == 0 {
		delete(w.gangs, g.Key)
		w.arrived[g.place] = nil
		if len(w.arrived) > 2*len(w.gangs)+64 {
			w.arrived = slices.DeleteFunc(w.arrived, func(g *Gang) bool { return g == nil })
			for i, g := range w.arrived {
				g.place = i
			}
		}
	}
}

func (g *Gang) role(name string) *Role {
	for i := range g.Roles {
		if g.Roles[i].Name == name {
			return &g.Roles[i]
		}
	}
	g.Roles = append(g.Roles, Role{Name: name})
	return &g.Roles[len(g.Roles)-1]
}
