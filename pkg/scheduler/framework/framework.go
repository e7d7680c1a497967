// Package framework is the contract of scheduler plugins: small interfaces, one
// per ability, and the registry that names them. A plugin is a value made anew
// for every configuration; it decides from what it is handed, keeps nothing
// between calls but its arguments, and calls no API.
package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
)

// Plugin is anything with a name. What it can do shows in the interfaces it implements.
type Plugin interface {
	Name() string
}

// OrdersGangs compares two waiting gangs: negative when a goes first, 0 when it has no opinion.
type OrdersGangs interface {
	CompareGangs(a, b *model.Gang) int
}

// OrdersTasks compares two waiting tasks of one gang: negative when a goes first, 0 when it has no opinion.
type OrdersTasks interface {
	CompareTasks(a, b *model.Task) int
}

// Refuses is part of every ability that can refuse: it names the changes that
// could make the plugin think otherwise. A refused gang sleeps until one happens.
type Refuses interface {
	WakesOn() model.Change
}

// AdmitsGangs says whether a gang may be tried at all, and if not, why.
type AdmitsGangs interface {
	Refuses
	AdmitGang(g *model.Gang) (reason.Reason, bool)
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

// Args are a plugin's arguments as configured.
type Args map[string]string

// Env is what a plugin may know of the world that it is made for.
type Env struct {
	// Dim numbers a resource name.
	Dim func(name string) int
}

// New makes a plugin, or says which argument is wrong and what would be right.
type New func(args Args, env Env) (Plugin, error)

// Registry names the plugins that a configuration may use.
type Registry map[string]New

// Build makes the plugin called name.
func (r Registry) Build(name string, args Args, env Env) (Plugin, error) {
	make, ok := r[name]
	if !ok {
		return nil, fmt.Errorf("plugin %q is unknown; there are %s", name, strings.Join(slices.Sorted(maps.Keys(r)), ", "))
	}
	p, err := make(args, env)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", name, err)
	}
	return p, nil
}
