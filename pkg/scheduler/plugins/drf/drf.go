// Package drf shares the cluster by dominant resource fairness: of two gangs the
// one goes first whose greatest share of any resource is smaller. With
// enableHierarchy queues are ordered likewise, along the tree that their
// annotations or their parents span. It refuses nothing.
package drf

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "drf"

type plugin struct {
	pods  int // the dimension that does not count
	world *model.World
	tree  *tree // nil without hierarchy
}

var (
	_ framework.Begins          = &plugin{}
	_ framework.OrdersGangs     = &plugin{}
	_ framework.OrdersQueues    = &plugin{}
	_ framework.NoticesOnQueues = &plugin{}

	_ framework.VotesOnPreempting = &plugin{}
)

// New makes the plugin. Arguments: enableHierarchy, also drf.enableHierarchy
// (false), and drf.weight (1), a number of 0 or more. An order has no use for a
// weight: half of every share is in the same order. It is taken so that
// configurations that give one go on working.
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	r := args.Read()
	r.Float("drf.weight", 1, 0)
	r.Idle(env, "drf.weight", "an order has no use for a weight, half of every share is in the same order")
	p := &plugin{pods: env.Dim(resource.Pods)}
	if r.Bool("enableHierarchy", false) || r.Bool("drf.enableHierarchy", false) {
		p.tree = &tree{pods: p.pods}
	}
	r.Has("drf.enableHierarchy") // known, also when the other one decided
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

func (p *plugin) Begin(w *model.World, _ time.Time) {
	p.world = w
	if p.tree != nil {
		p.tree.build(w)
	}
}

// CompareGangs puts the gang with the smaller dominant share first.
func (p *plugin) CompareGangs(a, b *model.Gang) int {
	return p.share(a).Compare(p.share(b))
}

// VoteOnPreempting lets a gang take from another of its priority whose share, once it
// has given, is still the greater: what was taken can't be taken back likewise.
func (p *plugin) VoteOnPreempting(t framework.Taking) framework.Vote {
	if t.By.Priority != t.From.Priority {
		return framework.Abstain
	}
	gains, left := slices.Clone(t.By.Used), slices.Clone(t.From.Used)
	gains.Add(t.Need, 1)
	left.Add(t.Takes, -1)
	if gains.Dominant(p.world.Total, p.pods).Compare(left.Dominant(p.world.Total, p.pods)) < 0 {
		return framework.Permit
	}
	return framework.Refuse
}

// share is the greatest part that a gang has of any resource of the cluster. How
// many pods a node takes is no resource that anybody competes for.
func (p *plugin) share(g *model.Gang) resource.Share {
	return g.Used.Dominant(p.world.Total, p.pods)
}

// CompareQueues puts the queue first to which the tree owes more.
func (p *plugin) CompareQueues(a, b *model.Queue) int {
	if p.tree == nil {
		return 0
	}
	p.tree.follow(p.world)
	return p.tree.compare(a, b)
}

// NoticesOnQueue says what is wrong with a queue's place in the hierarchy.
func (p *plugin) NoticesOnQueue(q *model.Queue) []string {
	if p.tree == nil {
		return nil
	}
	if _, err := annotated(q); err != nil {
		return []string{err.Error()}
	}
	return nil
}
