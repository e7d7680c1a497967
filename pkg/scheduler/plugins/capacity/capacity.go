// Package capacity gives every queue the part that it names itself: deserved, at
// least its guarantee, through a tree of queues. Queues below their part are served
// first; above it they borrow, up to their capability and that of all above them.
// What a queue names no part of is borrowed whole.
package capacity

import (
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "capacity"

type plugin struct {
	framework.Parts
	total resource.Vector // memory used again
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
	return &plugin{}, r.Err()
}

func (*plugin) Name() string { return Name }

// Begin reads the parts that queues name.
func (p *plugin) Begin(w *model.World, _ time.Time) {
	p.total = w.ForQueues(p.total)
	p.Give(w, p.total, w.Quota.Parts())
}
