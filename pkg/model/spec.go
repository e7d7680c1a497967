// Package model holds what the scheduler knows: nodes, queues, gangs, tasks and
// classes of equal tasks, a ledger that charges every task once, and a journal
// that takes placements back. It decides nothing, reads no clock and calls no API.
package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// Object is the node itself, for plugins that look further; nil in scripts. It is shared: nobody may change it.
	Object *corev1.Node
}

// QueueSpec is what is told of a queue. Name is its key.
type QueueSpec struct {
	Name        string
	Parent      string        // empty: at the top
	Weight      int32         // its part among its siblings, where plugins divide by weight; 0: 1
	Priority    int32         // queues of higher priority are served first
	Guarantee   resource.List // kept for it, whether it uses it or not
	Deserved    resource.List // its part, where plugins divide by what queues say
	Capability  resource.List // its ceiling; what it does not name is unlimited
	Strict      bool          // fifo: none of its gangs overtakes one that waits
	Reclaimable bool          // others may take back what it borrowed
	Groups      NodeGroups
	Annotations map[string]string // scheduling hints, volcano.sh/…
	Unread      []string          // what of its hints counts as not given, whatever plugins there are, and why
	Closed      string            // the state, when it is one that admits nothing new; empty when open
	Problem     *reason.Reason
}

// NodeGroups says in which groups of nodes a queue's tasks run, by name.
type NodeGroups struct {
	Required, Preferred         []string
	AntiRequired, AntiPreferred []string
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
	SubGroups    []SubGroup
	Near         *Near // nil: its tasks may run anywhere
	MinResources resource.List
	Annotations  map[string]string // scheduling hints, volcano.sh/…
	Unread       []string          // what of them counts as not given, whatever plugins there are, and why
	Phase        Phase             // as last written; where the gang goes on from
	Created      time.Time
	Problem      *reason.Reason // why it can't be placed whatever happens, until it is changed
}

// RoleMin is how many tasks of one role a gang needs at least.
type RoleMin struct {
	Role string
	Min  int32
}

// SubGroup divides those tasks of a gang that the selector matches by the values
// of labels; each part of Size tasks is placed whole, and at least Least of them.
type SubGroup struct {
	Name     string
	Selector *metav1.LabelSelector // nil: all tasks
	By       []string              // label keys
	Size     int32
	Least    int32
	Near     *Near // how near one another the tasks of one part must or should be; nil: as their gang says
}

// Near is how near one another tasks must or should run, by tiers of the areas into which
// the network is divided: the lower the tier, the nearer are the nodes of an area.
type Near struct {
	Field    string // that says so
	Hard     bool   // rather than further apart they wait
	Tier     *int   // the highest that they may span; nil: any, or TierName's
	TierName string // that tier's name; empty: it is given by number, if at all
}

// TaskSpec is what is told of a pod. UID is its key.
type TaskSpec struct {
	UID      string
	Name     string // namespace/name
	Gang     string // key of its gang; empty: none
	Role     string
	Priority int32
	Node     string // empty: waiting
	// Nominated is the node on which somebody makes room for it; empty: nobody does. It is
	// tried there first.
	Nominated string
	Shape     Shape
	Gated     bool // scheduling gates are set
	// QueueGated says that the only gate is the one that is opened when the queue has room.
	QueueGated bool
	Ours       bool    // it asks for our scheduler
	Claims     *Claims // for devices; nil: none
	Running    bool    // all its containers have started
	// Started is when its node took it up; zero while that is not known. Who gives
	// way loses the work since then.
	Started  time.Time
	Deleting bool
	Ended    Ended
	Finished time.Time `json:",omitzero"` // when it ended; zero while it has not, or that is not known
	// Pod is the pod itself, for plugins that look further; nil in scripts. It is shared: nobody may change it.
	Pod *corev1.Pod
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
	Affinity     *corev1.NodeAffinity // required and preferred
	Tolerations  []corev1.Toleration
	Images       []string          // of its containers
	Hints        map[string]string // pod annotations that plugins filter or rate nodes by
	// Related says that where it may run depends on other pods, volumes, ports or devices.
	Related bool
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
