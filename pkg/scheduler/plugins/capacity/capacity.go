// Package capacity gives every queue the part that it names itself: deserved, at
// least its guarantee, through a tree of queues. Queues below their part are served
// first; above it they borrow, up to their capability and that of all above them.
// What a queue names no part of is borrowed whole.
package capacity

import (
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "capacity"

type plugin struct {
	standing quota.Standing
	parts    []quota.Limit // by queue, in this cycle
	queues   []*model.Queue
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.OrdersQueues = &plugin{}
	_ framework.Divides      = &plugin{}
)

// New makes the plugin. Argument: enableHierarchy (true); false is taken for what
// it means where queues have no parents but root. ancestorReclaimLevel (0) is for
// victims.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	r.Bool("enableHierarchy", true)
	r.Int("ancestorReclaimLevel", 0, 0)
	p := &plugin{}
	p.standing = quota.Standing{
		Part:  func(id quota.ID) quota.Limit { return p.parts[id] },
		First: func(id quota.ID) int32 { return p.queues[id].Priority },
		Asks:  func(id quota.ID) resource.Vector { return p.queues[id].Asks },
	}
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

// Begin reads the parts that queues name.
func (p *plugin) Begin(w *model.World, _ time.Time) {
	p.parts, p.queues = w.Quota.Parts(), w.Queues()
	p.standing.Tree, p.standing.Total = &w.Quota, w.ForQueues(p.standing.Total)
}

func (p *plugin) CompareQueues(a, b *model.Queue) int { return p.standing.Compare(a.ID, b.ID) }

// Deserved is the part that the queue names.
func (p *plugin) Deserved(q *model.Queue) resource.Vector {
	if int(q.ID) >= len(p.parts) {
		return nil // it came after the cycle began
	}
	return p.parts[q.ID].Amount
}
