package model

import (
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// Change is a set of kinds of things that can happen. A gang that was refused
// sleeps until one of the kinds happens that its refusal named.
type Change uint16

// Kinds of change.
const (
	NodeRoom      Change = 1 << iota // room was freed on a node, or a node came
	NodeChanged                      // labels, taints or the like of a node changed
	QueueRoom                        // something in a queue was given back
	QueueChanged                     // a queue came, went, opened, closed, or has another ceiling
	GangChanged                      // the gang itself or one of its tasks changed; wakes only that gang
	TaskPlaced                       // a task got a node, or one of them ended: who it is near to has changed
	QueueMoved                       // a gang of a strict queue no longer waits
	ObjectChanged                    // an object that only plugins know of came, changed or went
)

// World is all that is known. Only one goroutine may touch it. Invariants,
// checked by [World.Check]:
//   - every task is in one bucket and charged to at most one node, and to its
//     gang's queue exactly when it is charged to a node;
//   - a node's Free is its Allocatable less its charged tasks;
//   - a gang's and its roles' counts, and what a gang uses, are those of its tasks;
//   - of what a queue uses, what its tasks that are releasing use is leaving;
//   - a queue wants what the waiting tasks of its gangs ask for, and its gangs await;
//   - what is promised and owed to all gangs is what is to each;
//   - a claim for devices is charged, or wanted, once, however many tasks share it.
type World struct {
	Resources resource.Table
	Quota     quota.Tree
	// Total is what all known nodes and devices have together, Foreign what tasks
	// without a queue take of it.
	Total, Foreign resource.Vector
	// Debt is by how much tasks exceed the nodes they are on, all nodes together:
	// what is used of what is not there, as on a node that shrank or is gone.
	Debt resource.Vector
	// PromisedAll is what is promised to all gangs together.
	PromisedAll resource.Vector
	// Owed is what is owed to all gangs together.
	Owed resource.Vector
	// Happened gathers the kinds of change since the engine last cleared it.
	Happened Change
	// NewClasses lists classes that no node has been filtered for yet, until the engine clears it.
	NewClasses []*Class
	// Log lists the nodes that changed.
	Log Log
	// Epoch names the present state of all nodes: equal epochs, equal room and traits.
	Epoch uint64

	nodes        []*Node
	nodesByName  map[string]*Node
	queues       []*Queue
	queuesByName map[string]*Queue
	classes      []*Class
	classesByKey map[string]*Class
	freeClasses  []ClassID
	freeNodes    []*Node
	freeQueues   []*Queue
	gangs        map[string]*Gang
	arrived      []*Gang // in order of arrival; nil where one is gone
	tasks        map[string]*Task
	seq          uint64
	lastEpoch    uint64
	lastSize     resource.Vector // of the node that was last told of
	journal      []entry
	touched      []*Gang
	keepers      []*Gang // for which room is set aside
	loose        []*Task
	deviceClaims map[string]*deviceClaim    // those that tasks name, by key
	byClaim      map[string]resource.Vector // what claims take, as told
	byTemplate   map[string]resource.Vector // what the claims of templates take, as told
	stock        resource.Vector            // what there is of all devices
	provided     map[string]resource.Vector // what stands behind resources on nodes, by their names; of no name: on each
	own          map[*Node]resource.Vector  // what nodes have themselves, of those on which something is provided
	since        map[*Task]uint64           // those that are charged for claims, numbered in the order in which that began
	holds        uint64                     // numbers given in since
}

// New returns an empty World.
func New() *World {
	return &World{
		nodesByName:  map[string]*Node{},
		queuesByName: map[string]*Queue{},
		classesByKey: map[string]*Class{},
		gangs:        map[string]*Gang{},
		tasks:        map[string]*Task{},
		deviceClaims: map[string]*deviceClaim{},
		byClaim:      map[string]resource.Vector{},
		byTemplate:   map[string]resource.Vector{},
		since:        map[*Task]uint64{},
		provided:     map[string]resource.Vector{},
		own:          map[*Node]resource.Vector{},
	}
}

// ForQueues is what the cluster has for queues: all but what tasks without a queue
// take of what is there. It is written into the given vector.
func (w *World) ForQueues(into resource.Vector) resource.Vector {
	into = append(into[:0], w.Total...)
	for d := range w.Foreign {
		into.Set(d, resource.Add(into.At(d), -max(0, resource.Add(w.Foreign.At(d), -w.Debt.At(d)))))
	}
	return into
}

func (w *World) touch(g *Gang) {
	if g != nil && !g.touched {
		g.touched = true
		w.touched = append(w.touched, g)
	}
}

// TakeTouched returns the gangs that changed since the last call, in the order of their first change.
func (w *World) TakeTouched() []*Gang {
	touched := w.touched
	w.touched = nil
	for _, g := range touched {
		g.touched = false
	}
	return touched
}

// TakeLoose returns the tasks that came without a gang, though they ask for our
// scheduler, since the last call.
func (w *World) TakeLoose() []*Task {
	loose := w.loose
	w.loose = nil
	return loose
}
