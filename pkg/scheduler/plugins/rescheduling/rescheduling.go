// Package rescheduling evens out how busy nodes are: from nodes that are busier than they
// should be, as a source of metrics says, tasks go as long as there are idle ones with
// room for them. It only wishes; the action shuffle carries that out, and no gang is
// broken for it: what gangs can do without goes, and gangs that have all their tasks
// among those that go.
//
// Nodes are idle that use no more than the thresholds of anything, and too busy that use more
// than the target thresholds of something; what is left of a node counts by what tasks ask
// for, since what each of them uses is not known. How many pods a node has counts as well.
package rescheduling

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "rescheduling"

// lowNodeUtilization is the one strategy there is.
const lowNodeUtilization = "lowNodeUtilization"

// What is looked at.
const (
	cpu = iota
	memory
	pods
	kinds
)

func names() [kinds]string { return [kinds]string{resource.CPU, resource.Memory, resource.Pods} }

// levels are percent of what a node has.
type levels [kinds]float64

type plugin struct {
	interval  time.Duration
	on        bool   // the strategy is named
	few       int    // so many idle nodes are not worth a round
	low, high levels // idle is below, too busy is above
	below     int64  // only tasks of less priority go
	dims      [kinds]int

	heard *framework.Usage
	next  time.Time // when the next round may be
	due   bool      // there is to be one
}

var (
	_ framework.Learns    = &plugin{}
	_ framework.Dismisses = &plugin{}
	_ framework.Continues = &plugin{}
)

// New makes the plugin. Arguments: interval (5m), the least time between two rounds;
// strategies, a list of blocks with name, lowNodeUtilization, and params: thresholds and
// targetThresholds, blocks of cpu, memory and pods in percent, all 100 unless given, and
// thresholdPriority: only tasks of less priority go; numberOfNodes (0): no more idle nodes
// are not worth a round. metricsPeriod and nodeFit are known and change nothing: usage is
// averaged over ten minutes, and nobody goes for whom no idle node has room.
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{
		interval: r.Duration("interval", 5*time.Minute), below: systemPriority,
		low: levels{100, 100, 100}, high: levels{100, 100, 100},
	}
	if p.interval < time.Second {
		r.Wrong("interval", "give a duration of 1s or more")
	}
	r.Idle(env, "metricsPeriod", "usage is averaged over ten minutes")
	for i, name := range names() {
		p.dims[i] = env.Dim(name)
	}
	const remedy = "give a list of blocks with name: " + lowNodeUtilization + " and params"
	if r.Has("strategies") {
		list, ok := args["strategies"].([]any)
		if !ok {
			r.Wrong("strategies", remedy)
		}
		for _, item := range list {
			block, ok := item.(map[string]any)
			if !ok || p.on {
				r.Wrong("strategies", remedy+", once")
				continue
			}
			r.Inside("strategies", p.strategy(framework.Args(block), env))
		}
	}
	return p, r.Err()
}

// strategy reads one strategy.
func (p *plugin) strategy(args framework.Args, env framework.Env) error {
	r := args.Read()
	if r.Text("name", "") != lowNodeUtilization {
		r.Wrong("name", "give "+lowNodeUtilization)
	}
	params := r.Map("params").Read()
	read := func(key string, into *levels) {
		block := params.Map(key).Read()
		for i, name := range names() {
			into[i] = block.Float(name, 100, 0)
		}
		params.Inside(key, block.Err())
	}
	read("thresholds", &p.low)
	read("targetThresholds", &p.high)
	for i, name := range names() {
		if p.low[i] > p.high[i] {
			params.Wrong("thresholds", fmt.Sprintf("give no more %s than in targetThresholds", name))
		}
	}
	if !params.Bool("nodeFit", true) {
		params.Idle(env, "nodeFit", "nobody goes for whom no idle node has room")
	}
	p.few = int(params.Int("numberOfNodes", 0, 0))
	p.below = min(params.Int("thresholdPriority", systemPriority, -1<<31), systemPriority)
	switch class := params.Text("thresholdPriorityClassName", ""); class {
	case "", "system-cluster-critical", "system-node-critical": // who is as high as these stays anyway
	default:
		params.Wrong("thresholdPriorityClassName", "classes are not known here: give its value as thresholdPriority")
	}
	r.Inside("params", params.Err())
	p.on = true
	return r.Err()
}

// systemPriority is the least priority of Kubernetes' own classes.
const systemPriority = 2_000_000_000

func (*plugin) Name() string { return Name }

// Continue takes over another configuration; the pace stays.
func (p *plugin) Continue(as framework.Plugin) error {
	if o, ok := as.(*plugin); ok {
		o.heard, o.next, o.due = p.heard, p.next, p.due
		*p = *o
	}
	return nil
}

// Learn keeps what was read last.
func (p *plugin) Learn(o runtime.Object, gone bool) {
	if u, ok := o.(*framework.Usage); ok {
		if p.heard, p.due = u, p.on; gone {
			p.heard, p.due = nil, false
		}
	}
}

// WishesAt is when the next round is to be: not before something was read that no round has seen.
func (p *plugin) WishesAt() (time.Time, bool) { return p.next, p.due && !p.next.IsZero() }

// Wishes is one round.
func (p *plugin) Wishes(w *model.World, now time.Time) []framework.Wish {
	if !p.due || now.Before(p.next) {
		return nil
	}
	p.due = false
	if p.heard == nil || !now.Before(p.heard.At.Add(framework.UsageFor)) {
		return nil
	}
	p.next = now.Add(p.interval)
	return p.look(w)
}
