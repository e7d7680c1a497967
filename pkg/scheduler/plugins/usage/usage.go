// Package usage looks at how busy nodes are, as a source of metrics says, not at what pods
// asked for: nodes above a threshold get nothing new, and idle ones are preferred.
//
// What was read more than five minutes ago counts no more: then, and of nodes of which
// the source says nothing, the plugin has no opinion.
package usage

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "usage"

type plugin struct {
	weight, cpuWeight, memoryWeight int64
	mostCPU, mostMemory             float64 // percent
	cpuCause, memoryCause, both     string

	heard   *framework.Usage
	news    bool
	counts  map[string]framework.NodeUsage // what counts now, by node
	expires time.Time                      // until then; zero: nothing counts
}

var (
	_ framework.Learns       = &plugin{}
	_ framework.Turns        = &plugin{}
	_ framework.FiltersNodes = &plugin{}
	_ framework.ScoresNodes  = &plugin{}
)

// New makes the plugin. Arguments: thresholds, a block of cpu (80) and mem (80): nodes
// that use more percent than that get nothing new; usage.weight (5), cpu.weight (1) and
// memory.weight (1).
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{
		weight: r.Weight("usage.weight", 5), cpuWeight: r.Weight("cpu.weight", 1), memoryWeight: r.Weight("memory.weight", 1),
	}
	most := r.Map("thresholds").Read()
	p.mostCPU, p.mostMemory = most.Float("cpu", 80, 0), most.Float("mem", 80, 0)
	r.Inside("thresholds", most.Err())
	p.cpuCause = fmt.Sprintf("uses more than %v%% of its CPU", p.mostCPU)
	p.memoryCause = fmt.Sprintf("uses more than %v%% of its memory", p.mostMemory)
	p.both = fmt.Sprintf("uses more than %v%% of its CPU and %v%% of its memory", p.mostCPU, p.mostMemory)
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

// Learn keeps what was read last.
func (p *plugin) Learn(o runtime.Object, gone bool) {
	if u, ok := o.(*framework.Usage); ok {
		if p.heard, p.news = u, true; gone {
			p.heard = nil
		}
	}
}

// Turned lists the nodes that are busier or idler than before, or of which nothing is known any more.
func (p *plugin) Turned(w *model.World, now time.Time) []framework.Turn {
	if !p.news && (p.expires.IsZero() || now.Before(p.expires)) {
		return nil
	}
	before := p.counts
	p.news, p.counts, p.expires = false, nil, time.Time{}
	if p.heard != nil {
		if until := p.heard.At.Add(framework.UsageFor); now.Before(until) {
			p.expires = until
			p.counts = make(map[string]framework.NodeUsage, len(p.heard.Nodes))
			for _, u := range p.heard.Nodes {
				p.counts[u.Name] = u
			}
		}
	}
	var turned []framework.Turn
	for _, n := range w.Nodes() {
		if was, is := before[n.Name], p.counts[n.Name]; n.Known && was != is {
			turned = append(turned, framework.Turn{Node: n, Traits: p.cause(was) != p.cause(is)})
		}
	}
	return turned
}

// TurnsAt is when what was read is too old.
func (p *plugin) TurnsAt() (time.Time, bool) { return p.expires, !p.expires.IsZero() }

// WakesOn is a node that is below its threshold again, which is told as a change of it.
func (*plugin) WakesOn() model.Change { return model.NodeChanged }

// FilterNodes keeps everybody off busy nodes.
func (p *plugin) FilterNodes(*model.Class) framework.NodeFilter {
	return func(n *model.Node) (string, bool) {
		cause := p.cause(p.counts[n.Name])
		return cause, cause == ""
	}
}

// cause says why a node gets nothing new; empty when it may.
func (p *plugin) cause(u framework.NodeUsage) string {
	cpu, memory := float64(u.CPU) > p.mostCPU, float64(u.Memory) > p.mostMemory
	switch {
	case cpu && memory:
		return p.both
	case cpu:
		return p.cpuCause
	case memory:
		return p.memoryCause
	}
	return ""
}

// ScoreNode prefers what is idle.
func (p *plugin) ScoreNode(_ *model.Class, n *model.Node) int64 {
	u, ok := p.counts[n.Name]
	all := p.cpuWeight + p.memoryWeight
	if !ok || all == 0 {
		return 0
	}
	idle := int64(100-u.CPU)*p.cpuWeight + int64(100-u.Memory)*p.memoryWeight
	return framework.Share(idle, 100*all) * p.weight
}
