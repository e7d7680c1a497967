package engine

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Event is a fact that the engine is told. The set is closed.
//
//sumtype:decl
type Event interface{ event() }

// NodeSet says that a node came or changed.
type NodeSet struct{ Node model.NodeSpec }

// NodeGone says that a node is gone. Its tasks stay until they are said to be gone.
type NodeGone struct{ Name string }

// QueueSet says that a queue came or changed.
type QueueSet struct{ Queue model.QueueSpec }

// QueueGone says that a queue is gone.
type QueueGone struct{ Name string }

// GangSet says that a gang came or changed.
type GangSet struct{ Gang model.GangSpec }

// GangGone says that a gang is gone.
type GangGone struct{ Key, UID string }

// TaskSet says that a pod came or changed; with a node, that it is bound there.
type TaskSet struct{ Task model.TaskSpec }

// TaskGone says that a pod is gone.
type TaskGone struct{ UID string }

// BindRefused says why a Bind was not carried out. The task keeps its room until BindFailed follows.
type BindRefused struct{ UID, Node, Why string }

// BindFailed says that a Bind is given up. The task waits again.
type BindFailed struct{ UID, Node string }

// EvictFailed says that an Evict was not carried out and is given up. The task stays.
type EvictFailed struct{ UID, Why string }

// ObjectSet says that an object that only plugins know of came or changed, or went.
type ObjectSet struct {
	Object runtime.Object
	Gone   bool
}

func (NodeSet) event()     {}
func (NodeGone) event()    {}
func (QueueSet) event()    {}
func (QueueGone) event()   {}
func (GangSet) event()     {}
func (GangGone) event()    {}
func (TaskSet) event()     {}
func (TaskGone) event()    {}
func (BindRefused) event() {}
func (BindFailed) event()  {}
func (EvictFailed) event() {}
func (ObjectSet) event()   {}

// Apply takes in facts, in the order in which they became known. What follows
// from them is decided by the next Run. A fact that something breaks over is told of,
// and those after it are taken in.
func (e *Engine) Apply(events ...Event) { fault.Each(events, e.apply, e.unfit) }

func (e *Engine) apply(ev Event) {
	switch ev := ev.(type) {
	case NodeSet:
		if n, traits := e.World.SetNode(ev.Node); traits {
			e.refilter(n)
		}
	case NodeGone:
		if n := e.World.DropNode(ev.Name); n != nil {
			e.refilter(n)
		}
	case QueueSet:
		e.World.SetQueue(ev.Queue)
		e.told = append(e.told, ev.Queue.Name)
	case QueueGone:
		e.World.DropQueue(ev.Name)
	case GangSet:
		e.World.SetGang(ev.Gang)
	case GangGone:
		e.World.DropGang(ev.Key, ev.UID)
	case TaskSet:
		e.World.SetTask(ev.Task)
	case TaskGone:
		e.World.DropTask(ev.UID)
	case BindRefused, BindFailed, EvictFailed:
		e.answer(ev)
	case ObjectSet:
		e.learn(ev)
	}
}

// answer takes in what came of a decision.
func (e *Engine) answer(ev Event) {
	switch ev := ev.(type) { //nolint:gochecksumtype // the others are facts
	case BindRefused:
		e.World.Stick(ev.UID, ev.Node, ev.Why)
	case BindFailed:
		e.World.Unassume(ev.UID, ev.Node)
	case EvictFailed:
		e.stay(ev.UID)
	}
}

// Decision is something the engine asks for. The set is closed. What came of it
// returns as an event.
//
//sumtype:decl
type Decision interface{ decision() }

// Bind asks for a pod to be bound to a node. All binds of a gang's minimum come
// in one report or not at all.
type Bind struct {
	UID  string // the pod's
	Name string // namespace/name
	Gang string
	Node string
	// Before is what must be written first; nil for most.
	Before *Preparation
	// Together is how many binds of the gang, one after the other in the report, make it
	// whole when what is written first takes its time: none may be done before all can be;
	// 0: each may be done alone.
	Together int
}

// Undo asks for what was given to a task, which waits, to be written off. Whether that is
// done shows in the objects.
type Undo struct {
	UID, Name, Gang string
	Writes          []framework.Write
}

// Preparation is objects that must be in the API server, in this order, and have
// had their effect, before a pod is bound.
type Preparation struct{ Writes []framework.Write }

// Evict asks for a pod to be told to go, to make room. All evictions that make room for a
// gang come in one report.
type Evict struct {
	UID  string // the pod's
	Name string // namespace/name
	Gang string // that loses it
	For  string // the gang that needs its room
	Why  reason.Reason
}

// Nominate tells on which node room is being made for a pod that waits; without a Node,
// that none is any more. It is said once per change.
type Nominate struct {
	UID  string // the pod's
	Name string // namespace/name
	Gang string
	Node string
}

// Refuse says why a gang, or a pod that has none, waits. It is said once per reason.
type Refuse struct {
	Gang string // key; with Task, the one that the pod names, if any
	UID  string // the gang's, or the pod's when Task is set
	Task string // namespace/name of a pod without a gang
	Why  reason.Reason
}

// Status says how far a gang has come. It is said once per change.
type Status struct {
	Gang, UID                  string
	Phase                      model.Phase
	Running, Succeeded, Failed int32
	Held, Waiting, Min         int32
	Whole                      bool // it has its minimum
	Waits                      bool // the last refusal stands; with Whole, it speaks of more than the minimum
}

// Ungate asks for the gate of a pod to be opened that waits for its queue to have room.
type Ungate struct{ UID, Name, Gang string }

// Notice says what is left out of a gang's or a queue's hints, because it can't be
// right. It is said once per change, and does not keep anything waiting.
type Notice struct {
	Gang, UID string // of a gang; empty when it is about a queue
	Queue     string
	Said      []string
}

// Fault says that something broke over one thing, a plugin mostly, and that the work on
// all others goes on. Faults at one place are told once a minute.
type Fault struct {
	Kind, Object string // of the thing: PodGroup, Node, Plugin …
	Doing        string // what was being done, in words that go after "to"
	Value        string // what broke
	Where        string `json:"-"` // the functions at work, the one that broke first
}

func (f Fault) String() string {
	return fmt.Sprintf("something broke over %s %s, in order to %s, and is left out: %s", f.Kind, f.Object, f.Doing, f.Value)
}

// Unmet says that a gang won't get what it was promised, or, without a Why, that it may
// after all. It is said once per change, and keeps nothing waiting.
type Unmet struct {
	Gang, UID string
	Why       *reason.Reason
}

func (Bind) decision()     {}
func (Undo) decision()     {}
func (Fault) decision()    {}
func (Evict) decision()    {}
func (Notice) decision()   {}
func (Nominate) decision() {}
func (Ungate) decision()   {}
func (Refuse) decision()   {}
func (Status) decision()   {}
func (Unmet) decision()    {}

// Report is what one Run did. It shares nothing with the engine.
type Report struct {
	Decisions []Decision
	Tried     int // gangs looked at
	Placed    int // tasks given a node
	Plans     int // gangs for which victims were looked for
	Victims   int // tasks told to go to make room; others that were told to go are not counted
	// Idle is how long room that was made for the gangs placed in this run lay idle: the
	// amount times seconds, by resource.
	Idle   map[string]float64
	Parked int // gangs asleep after the run
	Faults int // how often something broke since the last run
}

// takeBack takes back the bindings of those that have to go again in the same run: nobody
// binds a pod to delete it. They wait again, and their room is for whom it is meant, in a run
// that should follow at once: it reports whether there are any.
func (c *Cycle) takeBack() bool {
	back := map[string]bool{}
	for _, d := range c.report.Decisions {
		if d, ok := d.(Evict); ok {
			back[d.UID] = false
		}
	}
	if len(back) == 0 {
		return false
	}
	for _, d := range c.report.Decisions {
		if d, ok := d.(Bind); ok {
			if _, goes := back[d.UID]; goes {
				back[d.UID] = true
				c.World.Stay(d.UID)
				c.World.Unassume(d.UID, d.Node)
				c.report.Placed--
			}
		}
	}
	all := len(c.report.Decisions)
	c.report.Decisions = slices.DeleteFunc(c.report.Decisions, func(d Decision) bool {
		switch d := d.(type) {
		case Bind:
			return back[d.UID]
		case Evict:
			if back[d.UID] && d.Why.Code.MakesRoom() {
				c.report.Victims--
			}
			return back[d.UID]
		default:
			return false
		}
	})
	return len(c.report.Decisions) < all
}
