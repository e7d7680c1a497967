package engine

import "github.com/muster-sh/muster/pkg/model"

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

// Apply takes in facts, in the order in which they became known. What follows
// from them is decided by the next Run.
func (e *Engine) Apply(events ...Event) {
	for _, ev := range events {
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
		case BindRefused:
			e.World.Stick(ev.UID, ev.Node, ev.Why)
		case BindFailed:
			e.World.Unassume(ev.UID, ev.Node)
		}
	}
}
