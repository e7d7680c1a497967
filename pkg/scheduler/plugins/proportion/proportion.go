// Package proportion divides the cluster among queues by weight: each resource is
// filled like water into vessels, bounded by what a queue uses and wants and by its
// ceiling, and at least its guarantee. Queues below their part are served first; a
// queue may borrow above it what those can't use.
package proportion

import (
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "proportion"

type plugin struct {
	standing quota.Standing
	deserved []resource.Vector // by queue, in this cycle
	parts    []quota.Limit     // the same, as limits
	total    resource.Vector
	queues   []*model.Queue
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.OrdersQueues = &plugin{}
	_ framework.Divides      = &plugin{}
)

// New makes the plugin. It has no arguments.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	p := &plugin{}
	p.standing = quota.Standing{
		Part:  func(id quota.ID) quota.Limit { return p.parts[id] },
		First: func(id quota.ID) int32 { return p.queues[id].Priority },
		Asks:  func(id quota.ID) resource.Vector { return p.queues[id].Asks },
	}
	return p, args.Read().Err()
}

func (*plugin) Name() string { return Name }

// Begin divides anew what there is.
func (p *plugin) Begin(w *model.World, _ time.Time) {
	p.total = w.ForQueues(p.total)
	for d := range p.total {
		p.total[d] = max(p.total[d], 0)
	}
	p.deserved = w.Quota.Divide(p.total, p.deserved)
	p.parts = p.parts[:0]
	for _, part := range p.deserved {
		p.parts = append(p.parts, quota.Everything(part))
	}
	p.queues = w.Queues()
	p.standing.Tree, p.standing.Total = &w.Quota, p.total
}

func (p *plugin) CompareQueues(a, b *model.Queue) int { return p.standing.Compare(a.ID, b.ID) }

// Deserved is the queue's part by weight.
func (p *plugin) Deserved(q *model.Queue) resource.Vector {
	if int(q.ID) >= len(p.deserved) {
		return nil // it came after the cycle began
	}
	return p.deserved[q.ID]
}
