// Package capacity gives every queue the part that it names itself: deserved, at
// least its guarantee, through a tree of queues. Queues below their part are served
// first; above it they borrow, up to their capability and that of all above them.
// What a queue names no part of is borrowed whole.
//
// It has queues charged for devices, too: deviceclass/<class> counts the devices of a
// class that the claims of their tasks take, and <dimension>.deviceclass/<class> what
// those have, memory for instance. A claim counts once, however many tasks share it.
package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "capacity"

type plugin struct {
	framework.Parts
	total   resource.Vector // memory used again
	counter *counter        // nil when devices are not counted
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.OrdersQueues = &plugin{}
	_ framework.Divides      = &plugin{}

	_ framework.VotesOnReclaiming = &plugin{}

	_ framework.Learns        = &plugin{}
	_ framework.CountsDevices = &plugin{}
)

// New makes the plugin without knowledge of which devices belong to a class, see [Selecting].
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	return Selecting(nil)(args, env)
}

// Selecting makes the plugin where it can be said which devices belong to a class.
// Where it can't, there are no totals of devices, and their dimensions count as far as
// claims name them.
//
// Arguments: enableHierarchy (true); false is taken for what it means where queues
// have no parents but root. capacity.DynamicResourceAllocationEnable (true): queues are
// charged for devices. capacity.DRAConsumableCapacityEnable (true): for devices that
// may be shared by the part that is taken, else for all of them. Both are as in
// Kubernetes of this version. ancestorReclaimLevel (0) is how many levels of queues, the
// lowest first, need not be within their own part when a gang reclaims.
func Selecting(selects Selects) framework.New {
	return func(args framework.Args, env framework.Env) (framework.Plugin, error) {
		r := args.Read()
		if !r.Bool("enableHierarchy", true) {
			r.Idle(env, "enableHierarchy", "queues without parents but root are no hierarchy, and those with parents are within theirs")
		}
		p := &plugin{}
		p.Waived = int(r.Int("ancestorReclaimLevel", 0, 0))
		consumable := r.Bool("capacity.DRAConsumableCapacityEnable", true)
		if r.Bool("capacity.DynamicResourceAllocationEnable", true) {
			p.counter = newCounter(selects, consumable)
		}
		return p, r.Err()
	}
}

func (*plugin) Name() string { return Name }

// Begin reads the parts that queues name.
func (p *plugin) Begin(w *model.World, _ time.Time) {
	p.total = w.ForQueues(p.total)
	p.Give(w, p.total, w.Quota.Parts())
}

// Learn keeps what is known of claims and devices.
func (p *plugin) Learn(o runtime.Object, gone bool) {
	if p.counter != nil {
		p.counter.learn(o, gone)
	}
}

// Recount tells what claims take.
func (p *plugin) Recount() (changed []model.Devices, stock resource.List, news bool) {
	if p.counter == nil {
		return nil, nil, false
	}
	return p.counter.recount()
}
