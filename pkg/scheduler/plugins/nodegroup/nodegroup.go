// Package nodegroup keeps groups of nodes for queues: a node's group is its label
// volcano.sh/nodegroup-name, and a queue's spec.affinity says which groups its tasks
// must, should, must not and should not run in.
//
//   - Where a queue must be, and where it must not, is hard: nothing softens it.
//   - A queue that names groups it must or should be in runs in no other group.
//   - A queue that only names groups to avoid runs in every other group.
//   - A node in no group is common ground: with strict it is for nobody; without, for
//     queues that name no groups and for those whose wishes are all soft.
//   - A queue that names no groups runs nowhere with strict, and is told so; without,
//     on nodes in no group.
package nodegroup

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "nodegroup"

// label on a node names its group.
const label = "volcano.sh/nodegroup-name"

// Points for a node in a group that is required, preferred, or better avoided.
const (
	required  = 100 * framework.Point
	preferred = 50 * framework.Point
	avoided   = -1 * framework.Point
)

type plugin struct {
	strict, ordered, inherit bool
	world                    *model.World // in this cycle
}

var (
	_ framework.Begins      = &plugin{}
	_ framework.JudgesTasks = &plugin{}
)

// New makes the plugin. Arguments: strict (true); enablePreferredOrder (false): the
// first of the preferred groups is preferred most; enableHierarchy (false): a queue
// that names no groups takes over those of the nearest queue above it that does.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{
		strict:  r.Bool("strict", true),
		ordered: r.Bool("enablePreferredOrder", false),
		inherit: r.Bool("enableHierarchy", false),
	}
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

// Begin keeps the world in which queues are looked up.
func (p *plugin) Begin(w *model.World, _ time.Time) { p.world = w }

func (*plugin) WakesOn() model.Change { return model.NodeChanged | model.QueueChanged }

// Kind is the same for all tasks that have a queue.
func (*plugin) Kind(t *model.Task) string {
	if t.Gang == nil || t.Gang.Queue == nil {
		return ""
	}
	return Name
}

func (p *plugin) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	queue := t.Gang.Queue
	source := p.source(queue)
	if p.strict && !names(source) {
		return nil, reason.Reason{
			Code: reason.Invalid, Kind: "Queue", Object: queue.Name, Field: "spec.affinity", Value: "unset",
			Remedy: "name the groups of nodes that it may use, or give the plugin nodegroup the argument strict: false",
		}, false
	}
	return &judge{plugin: p, queue: source.Name, groups: source.Groups, verdicts: map[string]verdict{}}, reason.Reason{}, true
}

// source is the queue whose affinity counts for q.
func (p *plugin) source(q *model.Queue) *model.Queue {
	if !p.inherit || p.world == nil {
		return q
	}
	at := q
	for range p.world.Queues() { // no longer, should they stand in a circle
		if names(at) {
			return at
		}
		up := p.world.QueueNamed(at.Parent)
		if at.Parent == "" || up == nil {
			break
		}
		at = up
	}
	return q
}

// names reports whether a queue names any groups itself.
func names(q *model.Queue) bool {
	g := q.Groups
	return len(g.Required)+len(g.Preferred)+len(g.AntiRequired)+len(g.AntiPreferred) > 0
}

// judge knows what a queue thinks of each group.
type judge struct {
	*plugin
	queue    string // whose affinity it is
	groups   model.NodeGroups
	verdicts map[string]verdict // by group
}

type verdict struct {
	cause string // empty: it fits
	score int64
}

func (j *judge) Domain(n *model.Node) string { return n.Labels[label] }

func (j *judge) Fits(n *model.Node) (string, bool) {
	v := j.on(n)
	return v.cause, v.cause == ""
}

func (j *judge) Score(n *model.Node) int64 { return j.on(n).score }

func (j *judge) Placed(*model.Task, *model.Node) {}

func (j *judge) on(n *model.Node) verdict {
	group := n.Labels[label]
	v, ok := j.verdicts[group]
	if !ok {
		v = verdict{j.cause(group), j.score(group)}
		j.verdicts[group] = v
	}
	return v
}

// cause says why a group is closed to the queue; empty when it is open.
func (j *judge) cause(group string) string {
	g := &j.groups
	switch {
	case group == "" && (j.strict || len(g.Required) > 0):
		return fmt.Sprintf("in no node group (queue %s needs one)", j.queue)
	case group == "":
		return ""
	case slices.Contains(g.AntiRequired, group):
		return fmt.Sprintf("in node group %s (queue %s must not use it)", group, j.queue)
	case !j.named(group):
		return fmt.Sprintf("in node group %s (queue %s does not name it)", group, j.queue)
	default:
		return ""
	}
}

// named reports whether a group is among those that the queue names, or is not among
// those to avoid where it names no others.
func (j *judge) named(group string) bool {
	g := &j.groups
	switch {
	case len(g.Required) > 0:
		return slices.Contains(g.Required, group)
	case len(g.Preferred) > 0:
		return slices.Contains(g.Preferred, group) || slices.Contains(g.AntiPreferred, group)
	default:
		return len(g.AntiRequired)+len(g.AntiPreferred) > 0
	}
}

func (j *judge) score(group string) int64 {
	g := &j.groups
	if slices.Contains(g.AntiPreferred, group) {
		return avoided
	}
	var score int64
	if slices.Contains(g.Required, group) {
		score += required
	}
	if i, n := slices.Index(g.Preferred, group), len(g.Preferred); i >= 0 {
		if !j.ordered {
			i = 0
		}
		score += preferred * int64(n-i) / int64(n)
	}
	return score
}
