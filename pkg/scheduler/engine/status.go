package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// tellStatus reports each changed gang whose status is not what was last told.
func (c *Cycle) tellStatus() {
	fault.Each(c.changed, c.tellStatusOf, func(en *entry, broke fault.Fault) { c.engine.accuse(en.gang, broke) })
	c.suspectAll()
}

func (c *Cycle) tellStatusOf(en *entry) {
	g := en.gang
	if c.engine.entries[g] != en {
		return
	}
	if !g.Known {
		c.engine.tally(en, false)
		return
	}
	en.phase = phaseOf(g, en.phase)
	c.engine.tally(en, true)
	_, stuck := g.Stuck()
	status := Status{
		Gang: g.Key, UID: g.UID, Phase: en.phase,
		Running: g.Counts.Running, Succeeded: g.Counts.Succeeded, Failed: g.Counts.Failed,
		Held: g.Counts.Held() - stuck, Min: g.Min,
		Waiting: g.Counts.Waiting + g.Counts.Gated,
		Whole:   g.Whole() && g.Counts.Held() > 0 && stuck == 0,
		Waits:   en.why != nil,
	}
	if status != en.last {
		en.last = status
		c.emit(status)
	}
}

// follow wakes the gangs that plugins think otherwise of as time goes by, and tells
// what they won't get of what they were promised, or may after all.
func (c *Cycle) follow() {
	e := c.engine
	for _, g := range e.tiers.Changed() {
		if en := e.entries[g]; en != nil && g.Known {
			en.wakes |= model.GangChanged
			c.tellUnmet(en)
		}
	}
	if !e.retold {
		return
	}
	e.retold = false
	for g := range e.World.Gangs() {
		if en := e.entries[g]; en != nil && en.unmet != nil {
			c.tellUnmet(en)
		}
	}
}

// tellUnmet tells whether a gang gets what it was promised, if that is news: other
// numbers are not.
func (c *Cycle) tellUnmet(en *entry) {
	why, unmet := c.engine.tiers.Unmet(en.gang)
	switch old := en.unmet; {
	case !unmet && old == nil, unmet && old != nil && old.Code == why.Code && old.Value == why.Value:
		return
	case unmet:
		en.unmet = &why
	default:
		en.unmet = nil
	}
	c.emit(Unmet{Gang: en.gang.Key, UID: en.gang.UID, Why: en.unmet})
}

// Objective is how a gang stands to one thing that it was promised.
type Objective struct {
	Gang, Queue, Kind string
	Urgency           float64 // what is needed of what there is; at 1 it can just be kept
}

// Objectives tells what gangs were promised, and how often that was missed.
func (e *Engine) Objectives() ([]Objective, int64) {
	list, missed := e.tiers.Objectives()
	objectives := make([]Objective, len(list))
	for i, o := range list {
		objectives[i] = Objective{Gang: o.Gang.Key, Kind: o.Kind, Urgency: float64(o.Urgency) / 1000}
		if o.Gang.Queue != nil {
			objectives[i].Queue = o.Gang.Queue.Name
		}
	}
	return objectives, missed
}

// phaseOf says how far a gang has come. A gang runs once the API server has
// confirmed its minimum, never earlier.
func phaseOf(g *model.Gang, was model.Phase) model.Phase {
	n := g.Counts
	over := n.Idle() && n.All() > 0
	switch {
	case n.Idle() && ended(was): // its pods may be swept away one by one; what it came to stays
		return was
	case over && n.Succeeded > 0 && n.Succeeded >= g.Min:
		return model.Completed
	case over:
		return model.GangLost
	case g.Confirmed():
		return model.Running
	case was == model.Running || was == model.Unknown:
		return model.Unknown
	case n.Placed > 0 || was == model.Inqueue:
		return model.Inqueue
	default:
		return model.Pending
	}
}

// ended reports whether a phase is one that a gang only leaves when new tasks come.
func ended(p model.Phase) bool { return p == model.Completed || p == model.GangLost }

// overLimit words the ceilings that a bill would break.
func (e *Engine) overLimit(over []quota.Over, bill model.Bill) refusal {
	why := reason.Reason{Code: reason.QueueCapability, Kind: "Queue"}
	wakes := model.QueueRoom | model.QueueChanged
	if over[0].Queue != quota.None {
		why.Object = e.World.Queues()[over[0].Queue].Name
	} else {
		wakes |= roomWakes // it is the cluster that is too small for what is guaranteed
	}
	for _, o := range over {
		name := e.World.Resources.Name(o.Dim)
		if o.Kept > 0 {
			why.Code = reason.QueueGuarantee
			why.Keepers = append(why.Keepers, e.keepers(o, name)...)
			if resource.Add(o.Used-o.Leaving, o.Kept) > o.Limit {
				why.Remedy = "that is more than there is, lower a guarantee or add nodes"
			}
		}
		why.Short = append(why.Short, framework.ShortageOf(name, o))
	}
	slices.SortFunc(why.Short, func(a, b reason.Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	if bill.Moves(e.World) {
		return refusal{why: why, wakes: wakes | model.TaskPlaced} // whoever shares a claim may be charged for it by then
	}
	return refusal{why: why, wakes: wakes, short: shortfall{queue: bill.Sum}}
}

// keepers words the queues for which most of a resource is kept.
func (e *Engine) keepers(o quota.Over, name string) []reason.Keeper {
	const most = 3
	slices.SortStableFunc(o.Keepers, func(a, b quota.Keeper) int { return cmp.Compare(b.Kept, a.Kept) })
	var keepers []reason.Keeper
	for _, k := range o.Keepers[:min(len(o.Keepers), most)] {
		keepers = append(keepers, reason.Keeper{
			Queue: e.World.Queues()[k.Queue].Name, Resource: name,
			Kept: resource.Format(name, k.Kept), Guarantee: resource.Format(name, e.World.Quota.Terms(k.Queue).Guarantee.At(o.Dim)),
		})
	}
	return keepers
}

// QueueUse is what a queue uses and is entitled to. It is made from the ledger on demand.
type QueueUse struct {
	Name     string
	Known    bool
	Weight   int64
	Share    quota.Share // of its deserved part
	Sums     []Sum
	Phases   map[model.Phase]int // gangs by phase
	Reserved []string            // nodes on which room is set aside for its gangs, by name
}

// Sum is one resource of a queue and those below it. Capability and Deserved are -1 when there are none.
type Sum struct {
	Resource                        string
	Used, Wanted, Promised, Set     int64 // by tasks with a node, by tasks that wait, to gangs without tasks, aside
	Guarantee, Deserved, Capability int64
}

// Queues tells what every queue uses, in order of arrival.
func (e *Engine) Queues() []QueueUse {
	uses := make([]QueueUse, len(e.World.Queues()))
	for i, q := range e.World.Queues() {
		uses[i] = e.use(q)
	}
	e.reserved(uses)
	return slices.DeleteFunc(uses, func(u QueueUse) bool { return u.Name == "" })
}

func (e *Engine) use(q *model.Queue) QueueUse {
	tree := &e.World.Quota
	terms, deserved := tree.Terms(q.ID), e.tiers.Deserved(q)
	use := QueueUse{Name: q.Name, Known: q.Known, Weight: max(terms.Weight, 1), Phases: maps.Clone(e.phases[q])}
	used := tree.Used(q.ID)
	if e.tiers.Divides() {
		use.Share = quota.ShareOf(used, deserved, func(int) bool { return true })
	}
	for d := range e.World.Resources.Len() {
		s := Sum{
			Resource: e.World.Resources.Name(d), Used: used.At(d), Wanted: tree.Wanted(q.ID).At(d),
			Promised: tree.Held(q.ID).At(d), Set: tree.Reserved(q.ID).At(d),
			Guarantee: terms.Guarantee.At(d), Deserved: -1, Capability: -1,
		}
		if limit := terms.Capability.At(d); limit != math.MaxInt64 {
			s.Capability = limit
		}
		if e.tiers.Divides() {
			s.Deserved = deserved.At(d)
		}
		if s != (Sum{Resource: s.Resource, Deserved: s.Deserved, Capability: -1}) || s.Deserved > 0 {
			use.Sums = append(use.Sums, s)
		}
	}
	return use
}

// tally counts a gang in its queue under its phase, or no longer.
func (e *Engine) tally(en *entry, there bool) {
	if en.counted != nil {
		if e.phases[en.counted][en.countedAs]--; e.phases[en.counted][en.countedAs] == 0 {
			delete(e.phases[en.counted], en.countedAs)
		}
		en.counted = nil
	}
	if !there || en.gang.Queue == nil {
		return
	}
	en.counted, en.countedAs = en.gang.Queue, en.phase
	if e.phases[en.counted] == nil {
		e.phases[en.counted] = map[model.Phase]int{}
	}
	e.phases[en.counted][en.countedAs]++
}

// reserved lists the nodes with room set aside for the gangs of each queue.
func (e *Engine) reserved(uses []QueueUse) {
	names := make([]map[string]bool, len(uses))
	//muster:anyorder sorted below
	for g := range e.claimed {
		for _, c := range g.Claims {
			if c.Node == nil {
				continue
			}
			if names[g.Queue.ID] == nil {
				names[g.Queue.ID] = map[string]bool{}
			}
			names[g.Queue.ID][c.Node.Name] = true
		}
	}
	for i, nodes := range names {
		if nodes != nil {
			uses[i].Reserved = slices.Sorted(maps.Keys(nodes))
		}
	}
}

// nominate tells on which nodes room is being made for the tasks of a gang, as far as
// that is news.
func (c *Cycle) nominate(en *entry, places []victims.Nominee) {
	told := map[*model.Task]string{}
	for _, n := range en.nominees {
		told[n.Task] = n.Node
	}
	for _, p := range places {
		was, ok := told[p.Task]
		if !ok {
			was = p.Task.Nominated
		}
		if was != p.Node {
			c.emit(Nominate{UID: p.Task.UID, Name: p.Task.Name, Gang: en.gang.Key, Node: p.Node})
		}
		delete(told, p.Task)
	}
	en.nominees = slices.DeleteFunc(en.nominees, func(n victims.Nominee) bool {
		_, other := told[n.Task]
		return !other
	})
	c.withdraw(en)
	en.nominees = places
}

// withdraw takes back what was told of where room is being made for the tasks of a gang
// that have no place. Of one whose binding may still fail it is kept in mind.
func (c *Cycle) withdraw(en *entry) {
	en.nominees = slices.DeleteFunc(en.nominees, func(n victims.Nominee) bool {
		t := n.Task
		if c.World.TaskOf(t.UID) == t && (t.Bucket == model.Waiting || t.Bucket == model.Gated) {
			c.emit(Nominate{UID: t.UID, Name: t.Name, Gang: en.gang.Key})
		}
		return t.Bucket != model.Assumed
	})
}

// settle withdraws what was told of where room is being made for a gang, when none is any more.
func (c *Cycle) settle(en *entry) {
	if en.hold == nil {
		c.withdraw(en)
	}
}

// undo has written off what plugins gave to tasks that wait.
func (c *Cycle) undo() {
	for _, u := range c.engine.tiers.Undo() {
		gang := ""
		if u.Task.Gang != nil {
			gang = u.Task.Gang.Key
		}
		c.emit(Undo{UID: u.Task.UID, Name: u.Task.Name, Gang: gang, Writes: u.Writes})
	}
}
