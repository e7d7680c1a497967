// Package tasktopology places tasks of some roles of a gang on the same nodes, and
// keeps those of others apart, as annotations of its PodGroup wish:
//
//	volcano.sh/task-topology-affinity: "ps,worker;ps,evaluator"
//	volcano.sh/task-topology-anti-affinity: "ps;worker,chief"
//	volcano.sh/task-topology-task-order: "ps,worker,chief,evaluator"
//
// Groups stand between semicolons: the roles of a group are wished together, or
// apart, in pairs; a role alone in its group is meant with itself. These are wishes:
// they rate nodes and order tasks, and never keep a gang waiting. What of them can't
// be understood is left out, and told by Notices.
package tasktopology

import (
	"cmp"
	"strconv"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "task-topology"

type plugin struct {
	weight int64
	// What was last read, since many questions about one gang come in a row.
	gang  *model.Gang
	texts [3]string
	roles int
	wish  *wishes
}

var (
	_ framework.Begins      = &plugin{}
	_ framework.OrdersTasks = &plugin{}
	_ framework.JudgesTasks = &plugin{}
	_ framework.Notices     = &plugin{}
)

// New makes the plugin. Argument: task-topology.weight (1), a weight of 0 or more.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	return &plugin{weight: r.Weight("task-topology.weight", 1)}, r.Err()
}

func (*plugin) Name() string { return Name }

// Begin forgets what was read of a gang that may be gone by now.
func (p *plugin) Begin(*model.World, time.Time) { p.gang, p.wish = nil, nil }

// wishes reads a gang's annotations; nil when it has none.
func (p *plugin) wishes(g *model.Gang) *wishes {
	if g == nil || len(g.Annotations) == 0 {
		return nil
	}
	texts := [3]string{g.Annotations[affinity], g.Annotations[antiAffinity], g.Annotations[taskOrder]}
	if texts == [3]string{} {
		return nil
	}
	if g != p.gang || texts != p.texts || len(g.Roles) != p.roles {
		p.gang, p.texts, p.roles, p.wish = g, texts, len(g.Roles), read(texts, g.Roles)
	}
	return p.wish
}

// CompareTasks goes by task-order; roles that it does not name come after, those
// first that are hardest to place.
func (p *plugin) CompareTasks(a, b *model.Task) int {
	if a.Gang != b.Gang || a.Role == b.Role {
		return 0
	}
	w := p.wishes(a.Gang)
	if w == nil {
		return 0
	}
	return cmp.Compare(w.rank(a.Role), w.rank(b.Role))
}

// Notices says what of a gang's annotations is left out.
func (p *plugin) Notices(g *model.Gang) []string {
	if w := p.wishes(g); w != nil {
		return w.said()
	}
	return nil
}

// WakesOn is nothing, since it refuses nobody.
func (*plugin) WakesOn() model.Change { return 0 }

// Kind is the same for all tasks whose role has wishes.
func (p *plugin) Kind(t *model.Task) string {
	if w := p.wishes(t.Gang); p.weight == 0 || w == nil || len(w.pullsOf(t.Role)) == 0 {
		return ""
	}
	return Name
}

func (p *plugin) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	pulls := p.wishes(t.Gang).pullsOf(t.Role)
	j := &judge{weight: p.weight, self: pulls[t.Role], net: map[model.NodeID]int64{}}
	for _, other := range t.Gang.Tasks {
		if other.Placed() {
			if pull := pulls[other.Role]; pull != 0 {
				j.add(other.On.ID, pull)
			}
		}
	}
	return j, reason.Reason{}, true
}

// judge counts by node the tasks that those of one role are wished together with,
// less those that they are wished apart from.
type judge struct {
	weight int64
	self   int64 // what one more of the role counts for the next
	net    map[model.NodeID]int64
	most   int64 // the largest net, whichever its sign
}

func (j *judge) add(n model.NodeID, pull int64) {
	j.net[n] += pull
	j.most = max(j.most, j.net[n], -j.net[n])
}

// Domain is the node when placements change what is counted there, and else the
// count itself: then nodes of one count stay alike.
func (j *judge) Domain(n *model.Node) string {
	if j.self != 0 {
		return n.Name
	}
	return strconv.FormatInt(j.net[n.ID], 10)
}

// Fits is always so.
func (*judge) Fits(*model.Node) (string, bool) { return "", true }

// Score is full, or minus full, where most is counted, and in proportion elsewhere.
func (j *judge) Score(n *model.Node) int64 {
	if j.most == 0 {
		return 0
	}
	return j.weight * framework.FullScore * j.net[n.ID] / j.most
}

func (j *judge) Placed(_ *model.Task, n *model.Node) {
	if j.self != 0 {
		j.add(n.ID, j.self)
	}
}
