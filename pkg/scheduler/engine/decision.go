package engine

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
)

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

func (Bind) decision()   {}
func (Refuse) decision() {}
func (Status) decision() {}

// Report is what one Run did. It shares nothing with the engine.
type Report struct {
	Decisions []Decision
	Tried     int // gangs looked at
	Placed    int // tasks given a node
	Parked    int // gangs asleep after the run
}
