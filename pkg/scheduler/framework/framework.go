// Package framework is the contract of scheduler plugins: small interfaces, one
// per ability, and the registry that names them. A plugin is a value made anew
// for every configuration; it decides from what it is handed, keeps nothing
// between cycles but its arguments and what it learned, and calls no API.
package framework

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Plugin is anything with a name. What it can do shows in the interfaces it implements.
type Plugin interface {
	Name() string
}

// Begins is for plugins that work something out once per cycle, before they are
// asked anything: shares, for example. Begin must not change the world, and its
// cost must not follow the number of nodes or of tasks.
type Begins interface {
	Begin(w *model.World, now time.Time)
}

// Learns is for plugins that must know of objects that the model does not hold:
// claims, volumes, quotas. The plugin keeps what it needs; an object it does not
// care for it ignores. A new configuration's plugins are told everything again.
type Learns interface {
	Learn(o runtime.Object, gone bool)
}

// Continues is for plugins that hold what was chosen until the API server shows it:
// what is being written when the configuration changes must not be chosen again. The
// plugin there is goes on with the settings of one that was made for the new
// configuration, which is thrown away. On an error nothing changes.
type Continues interface {
	Plugin
	Continue(as Plugin) error
}

// OrdersQueues compares two queues in which gangs wait: negative when a is served first, 0 when it has no opinion.
type OrdersQueues interface {
	CompareQueues(a, b *model.Queue) int
}

// OrdersGangs compares two waiting gangs of one queue: negative when a goes first, 0 when it has no opinion.
type OrdersGangs interface {
	CompareGangs(a, b *model.Gang) int
}

// OrdersTasks compares two waiting tasks of one gang: negative when a goes first, 0 when it has no opinion.
type OrdersTasks interface {
	CompareTasks(a, b *model.Task) int
}

// Divides says what part of the cluster is a queue's: above it, it borrows. A
// queue that has its part is served after those that lack theirs.
type Divides interface {
	Deserved(q *model.Queue) resource.Vector
}

// Refuses is part of every ability that can refuse: it names the changes that
// could make the plugin think otherwise. A refused gang sleeps until one happens.
type Refuses interface {
	WakesOn() model.Change
}

// AdmitsGangs says whether a gang may be placed at all, and if not, why.
type AdmitsGangs interface {
	Refuses
	AdmitGang(g *model.Gang) (reason.Reason, bool)
}

// Vote is an opinion about whether a gang whose tasks do not exist yet is told to go ahead.
type Vote int8

// Votes. Within a tier any Refuse decides, then any Permit; who abstains leaves it to later tiers.
const (
	Refuse  Vote = -1
	Abstain Vote = 0
	Permit  Vote = 1
)

// VotesOnGangs votes on gangs that wait to be told to go ahead; need is their minResources.
type VotesOnGangs interface {
	Refuses
	VoteOnGang(g *model.Gang, need resource.Vector) (Vote, reason.Reason)
}

// Reserves says from when on room is set aside for a gang that can't be placed;
// false: never.
type Reserves interface {
	ReserveFrom(g *model.Gang) (time.Time, bool)
}

// NodeFilter says whether a node's fixed traits let a class run there; if not,
// cause is a few words for a histogram, the same for all nodes that fail alike.
type NodeFilter func(n *model.Node) (cause string, fits bool)

// FiltersNodes prepares the filter of one class. The filter is asked again only
// when the node changes, so it must look at nothing but the class and the node's
// labels, taints and name: never at room or at other tasks.
type FiltersNodes interface {
	Refuses
	FilterNodes(c *model.Class) NodeFilter
}

// MaxScore is the best score a plugin gives a node before its own weight.
const MaxScore = 100

// ScoresNodes rates a node that has room for one more task of the class. It is
// called for every candidate and after every placement: it must not allocate.
type ScoresNodes interface {
	ScoreNode(c *model.Class, n *model.Node) int64
}

// RatesNodes prepares the rating of one class by fixed traits of nodes, such as
// labels and images. Like a NodeFilter it is asked again only when the node changes.
type RatesNodes interface {
	RateNodes(c *model.Class) func(n *model.Node) int64
}

// JudgesTasks is for plugins whose view of a node depends on the task at hand,
// on other tasks, on its queue, on volumes or devices.
type JudgesTasks interface {
	Refuses
	// Kind names what the plugin can't tell apart among tasks of one gang, role
	// and class; empty when it has nothing to say about the task.
	Kind(t *model.Task) string
	// Judge prepares to place tasks like t, one after the other; false, with the
	// reason, when no node would do.
	Judge(t *model.Task) (Judge, reason.Reason, bool)
}

// Judge rates nodes for tasks of one kind, as placements go on. It is thrown away
// after the attempt, whether that was committed or rolled back.
type Judge interface {
	// Domain names the part of the cluster a node belongs to, as far as the judge
	// cares: nodes of one domain get the same verdict and the same score.
	Domain(n *model.Node) string
	// Fits says whether the next task may go to n; if not, cause is a few words
	// for a histogram. It holds until a task is placed.
	Fits(n *model.Node) (cause string, fits bool)
	// Score rates n for the next task; it is added to the other scores.
	Score(n *model.Node) int64
	// Placed tells that a task of the kind was placed on n.
	Placed(t *model.Task, n *model.Node)
}

// OnlyFilters marks judges whose scores are all 0, so that nobody need ask.
type OnlyFilters interface{ OnlyFilters() }

// Area is a part of the network whose nodes are near one another. No two of its nodes are
// the same, and they stand in order of their IDs.
type Area struct {
	Name  string
	Nodes []*model.Node
}

// Holds reports whether a node is within the area.
func (a Area) Holds(n *model.Node) bool {
	_, ok := slices.BinarySearchFunc(a.Nodes, n.ID, func(of *model.Node, id model.NodeID) int { return cmp.Compare(of.ID, id) })
	return ok
}

// KnowsAreas is for plugins that know which nodes are near one another. Areas lists those
// within which tasks may run that must or should be near, all that are placed already
// among them, nearest and then best first; near says how near, need is what they ask for
// together, at is where some are. False, with the reason, when tasks that must be near
// have nowhere to go, however much room there is.
type KnowsAreas interface {
	Refuses
	Areas(near *model.Near, need resource.Vector, at []*model.Node) ([]Area, reason.Reason, bool)
}

// Notices is for plugins that leave out a part of what a gang wishes for, because
// it can't be read or means nothing. A wish keeps no gang waiting, but its owner is
// told: each notice is a sentence that names the annotation, its value and the
// remedy, in a fixed order. It must not depend on a cycle.
type Notices interface {
	Notices(g *model.Gang) []string
}

// NoticesOnQueues is Notices for hints that stand on queues.
type NoticesOnQueues interface {
	NoticesOnQueue(q *model.Queue) []string
}
