// Package reason says why something waits: one structure with its numbers, and
// the one wording of it that conditions, events, the command line and metrics
// share. It decides nothing and never looks at a cluster.
package reason

import "slices"

// Code names the kind of a reason. It is stable: users match on it, and it is
// the reason of conditions and events.
type Code string

// The codes. Each has its words in words.go.
const (
	GangMissing      Code = "PodGroupMissing"    // a pod names a PodGroup that does not exist
	NoGang           Code = "NoPodGroup"         // a pod names no PodGroup at all
	GangFound        Code = "PodGroupFound"      // it exists after all, and now decides
	Invalid          Code = "Invalid"            // a field has a value that can't be right
	QueueMissing     Code = "QueueMissing"       // the queue does not exist
	QueueClosed      Code = "QueueClosed"        // the queue takes nothing new
	QueueCapability  Code = "QueueCapability"    // the queue, or one above it, would exceed its ceiling
	QueueGuarantee   Code = "QueueGuarantee"     // what others are guaranteed leaves no room
	BehindHead       Code = "BehindHead"         // a gang before it in a fifo queue waits
	NotEnoughParts   Code = "NotEnoughSubGroups" // fewer sub-groups are complete than the gang needs
	NotEnoughTasks   Code = "NotEnoughTasks"     // fewer pods exist than the gang needs
	Gated            Code = "SchedulingGated"    // pods carry scheduling gates
	NotEnoughNodes   Code = "NotEnoughResources" // nodes lack room, or are filtered out
	NeverFits        Code = "NeverFits"          // not even an empty cluster could hold it
	NotEnoughCluster Code = "ClusterFull"        // minResources exceed what is free in the whole cluster
	NamespaceQuota   Code = "NamespaceQuota"     // minResources exceed what a ResourceQuota leaves
	ExtenderFailed   Code = "ExtenderFailed"     // the scheduler extender could not be asked
	ExtenderRefused  Code = "ExtenderRefused"    // the scheduler extender says no
	Unplaceable      Code = "Unplaceable"        // what a pod needs from others, a claim for instance, is not there
	Unsupported      Code = "Unsupported"        // the pod asks for something that can't be checked
	Fault            Code = "Fault"              // something broke while it was tried
	MakingRoom       Code = "MakingRoom"         // others were told to go, to make room for it
	Preempted        Code = "Preempted"          // it has to go for a gang of its queue that comes before it
	Swapped          Code = "Swapped"            // it has to go for a task of its own gang that comes before it
	Reclaimed        Code = "Reclaimed"          // it has to go for a gang of another queue that deserves the room
	MoreUrgent       Code = "MoreUrgent"         // it has to go for a gang whose deadline is near
	Unrepaired       Code = "Unrepaired"         // it has to go because its gang lost a part of its minimum for too long
	DeadlineTooSoon  Code = "DeadlineTooSoon"    // what remains to be done takes longer than there is time
	DeadlineMissed   Code = "DeadlineMissed"     // the deadline has passed, and it is not done
	Shuffled         Code = "Shuffled"           // it has to leave its node, though nobody needs its room
	BindRefused      Code = "BindRefused"        // the API server did not take a binding
)

// Reason is why something waits. Only the fields its Code speaks of are set.
type Reason struct {
	Code Code `json:"code"`

	// Kind and Object name what the reason is about when that is not the gang itself, for example a Queue.
	Kind   string `json:"kind,omitempty"`
	Object string `json:"object,omitempty"`
	// Field, Value and Remedy belong to Invalid and Unsupported; Shuffled names its plugin as Field,
	// and Reclaimed the queue above that of the gang which is entitled to the room, if it is not that.
	Field  string `json:"field,omitempty"`
	Value  string `json:"value,omitempty"`
	Remedy string `json:"remedy,omitempty"`

	// Role is the part of the gang that lacks tasks; empty for the gang as a whole.
	Role string `json:"role,omitempty"`
	// Need tasks are needed, there is Room for that many, Have of them already run or are placed.
	Need int64 `json:"need,omitempty"`
	Room int64 `json:"room,omitempty"`
	Have int64 `json:"have,omitempty"`
	// Each is what one task asks for.
	Each string `json:"each,omitempty"`
	// Empty is how many would fit if no node ran anything; Barred, how many more on
	// nodes that something else than room keeps it off, Shut, how many of those now.
	Empty  int64 `json:"empty,omitempty"`
	Barred int64 `json:"barred,omitempty"`
	Shut   int64 `json:"shut,omitempty"`

	// Short is the arithmetic per resource, in order of name.
	Short []Shortage `json:"short,omitempty"`
	// Keepers are the queues for which most is kept, at most three per resource.
	Keepers []Keeper `json:"keepers,omitempty"`
	// Nodes says how many of Total nodes fail for which cause, most frequent first.
	Nodes []Tally `json:"nodes,omitempty"`
	Total int     `json:"total,omitempty"`

	// Also are further causes that must be lifted as well. Only explanations name
	// them: what is told of a gang is the first cause.
	Also []Reason `json:"also,omitempty"`
}

// NodesHelp reports whether more nodes, or larger ones, could lift the first cause. Where
// that is not known, they could.
func (r Reason) NodesHelp() bool {
	switch r.Code {
	case GangMissing, NoGang, Invalid, Unsupported, Fault, BindRefused,
		QueueMissing, QueueClosed, QueueCapability, BehindHead, NamespaceQuota,
		NotEnoughParts, NotEnoughTasks, Gated, MakingRoom:
		return false
	case QueueGuarantee:
		return r.Object == "" // of the cluster too little is left, not of a queue
	default:
		return true
	}
}

// MakesRoom reports whether who has to go for this reason makes room for a task that waits.
func (c Code) MakesRoom() bool {
	return c == Preempted || c == Swapped || c == Reclaimed || c == MoreUrgent
}

// Equal reports whether two reasons say the same. It allocates nothing.
func (r Reason) Equal(o Reason) bool {
	return r.Code == o.Code && r.Kind == o.Kind && r.Object == o.Object &&
		r.Field == o.Field && r.Value == o.Value && r.Remedy == o.Remedy && r.Role == o.Role && r.Each == o.Each &&
		r.counts() == o.counts() && slices.Equal(r.Short, o.Short) && slices.Equal(r.Keepers, o.Keepers) &&
		slices.Equal(r.Nodes, o.Nodes) && slices.EqualFunc(r.Also, o.Also, Reason.Equal)
}

// Hopeless reports whether it would not help if all others ended.
func (r Reason) Hopeless() bool {
	return r.Code == NeverFits || r.Code == Fault || slices.ContainsFunc(r.Short, func(s Shortage) bool { return s.Never })
}

func (r Reason) counts() [7]int64 {
	return [...]int64{r.Need, r.Room, r.Have, r.Empty, r.Barred, r.Shut, int64(r.Total)}
}

// Shortage is one resource's sum. Amounts are written as Kubernetes quantities; those that
// may be empty are when there is nothing of the kind.
type Shortage struct {
	Resource string `json:"resource"`
	Need     string `json:"need"`              // asked for now
	Used     string `json:"used"`              // already charged, and to stay so
	Leaving  string `json:"leaving,omitempty"` // charged to those who are going
	Aside    string `json:"aside,omitempty"`   // set aside or promised to others, who may wait for those to go
	Kept     string `json:"kept,omitempty"`    // guaranteed to others, who do not use it
	Limit    string `json:"limit"`             // the ceiling
	// Short is Used + Aside + Kept + Need - Limit; or, where that is nothing, with Leaving
	// besides: Passing says so.
	Short   string `json:"short"`
	Passing bool   `json:"passing,omitempty"`
	Never   bool   `json:"never,omitempty"` // Need alone is above Limit
}

// Keeper is a queue whose guarantee is kept from others. Amounts are written as
// Kubernetes quantities.
type Keeper struct {
	Queue     string `json:"queue"`
	Resource  string `json:"resource"`
	Kept      string `json:"kept"`      // of its guarantee, because it is not used
	Guarantee string `json:"guarantee"` // all of it
}

// Tally counts the nodes that fail for one cause, which names all that a node fails for.
type Tally struct {
	Cause string `json:"cause"`
	Nodes int    `json:"nodes"`
}
