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
	framework.Parts
	deserved []resource.Vector // memory used again
	parts    []quota.Limit     // memory used again
	total    resource.Vector   // memory used again
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.OrdersQueues = &plugin{}
	_ framework.Divides      = &plugin{}

	_ framework.VotesOnReclaiming = &plugin{}
)

// New makes the plugin. It has no arguments.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	return &plugin{}, args.Read().Err()
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
	p.Give(w, p.total, p.parts)
}
