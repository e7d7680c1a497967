// Package model holds what the scheduler knows: nodes, queues, gangs, tasks and
// classes of equal tasks, a ledger that charges every task once, and a journal
// that takes placements back. It decides nothing, reads no clock and calls no API.
package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// NodeSpec is what is told of a node. Name is its key.
type NodeSpec struct {
	Name          string
	Labels        map[string]string
	Taints        []corev1.Taint
	Unschedulable bool
	Allocatable   resource.List
}

// QueueSpec is what is told of a queue. Name is its key.
type QueueSpec struct {
	Name       string
	Parent     string        // empty: at the top
	Capability resource.List // what it does not name is unlimited
	Closed     string        // the state, when it is one that admits nothing new; empty when open
	Problem    *reason.Reason
}

// GangSpec is what is told of a gang. Key, "namespace/name", is its key; a new
// UID under the same key is a new gang that takes over the tasks of the old.
type GangSpec struct {
	Key          string
	UID          string
	Queue        string
	Priority     int32
	Min          int32 // tasks that must run together; 0: each for itself
	RoleMin      []RoleMin
	MinResources resource.List
	Phase        Phase // as last written; where the gang goes on from
	Created      time.Time
	Problem      *reason.Reason // why it can't be placed whatever happens, until it is changed
}

// RoleMin is how many tasks of one role a gang needs at least.
type RoleMin struct {
	Role string
	Min  int32
}

// TaskSpec is what is told of a pod. UID is its key.
type TaskSpec struct {
	UID      string
	Name     string // namespace/name
	Gang     string // key of its gang; empty: none
	Role     string
	Priority int32
	Node     string // empty: waiting
	Shape    Shape
	Gated    bool // scheduling gates are set
	Ours     bool // it asks for our scheduler
	Running  bool // all its containers have started
	Deleting bool
	Ended    Ended
}

// Ended says how a task ended.
type Ended uint8

// How a task ended.
const (
	NotEnded Ended = iota
	Succeeded
	Failed
)

// Shape is all of a pod that decides where it may run. Tasks whose shapes have
// equal keys share a class.
type Shape struct {
	Key          string // equal exactly for equal shapes
	Requests     resource.List
	NodeSelector map[string]string
	Affinity     *corev1.NodeAffinity
	Tolerations  []corev1.Toleration
	Problem      *reason.Reason // something in it that can't be checked
}

// Phase is how far a gang has come, in the words of PodGroup.status.phase.
type Phase string

// Phases.
const (
	Pending   Phase = "Pending"
	Inqueue   Phase = "Inqueue"
	Running   Phase = "Running"
	Unknown   Phase = "Unknown"
	Completed Phase = "Completed"
	GangLost  Phase = "Failed"
)
