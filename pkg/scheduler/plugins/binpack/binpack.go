// Package binpack prefers the node that a task leaves fullest, so that whole
// nodes stay free for large gangs.
//
// Score (as Volcano's plugin of that name): the sum over requested resources r
// of weight_r * (used_r + request_r) / allocatable_r, divided by the sum of
// those weights, times 100 times binpack.weight.
package binpack

import (
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "binpack"

// scale keeps four decimal places of a share in whole numbers.
const scale = 10_000

type plugin struct {
	weight  int64
	named   map[int]int64 // weight by dimension
	unnamed int64         // weight of any other resource
}

var _ framework.ScoresNodes = &plugin{}

// New makes the plugin. Arguments, all whole numbers of 0 or more: binpack.weight
// (1), binpack.<resource> (cpu 1, memory 1, extended resources 1), or
// binpack.resources, a comma list of the only extended resources that count, each
// with binpack.resources.<resource> (1).
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{weight: r.Int("binpack.weight", 1, 0), unnamed: 1, named: map[int]int64{env.Dim(resource.Pods): 0}}
	if r.Has("binpack.resources") {
		p.unnamed = 0
		p.named[env.Dim(resource.CPU)], p.named[env.Dim(resource.Memory)] = 1, 1
		for _, name := range r.Resources("binpack.resources") {
			p.named[env.Dim(name)] = r.Int("binpack.resources."+name, 1, 0)
		}
	}
	for _, name := range r.ResourcesAfter("binpack.") {
		if !strings.HasPrefix(name, "resources.") {
			p.named[env.Dim(name)] = r.Int("binpack."+name, 1, 0)
		}
	}
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

func (p *plugin) ScoreNode(c *model.Class, n *model.Node) int64 {
	var sum, weights int64
	for d, req := range c.Req {
		if req <= 0 {
			continue
		}
		w, ok := p.named[d]
		if !ok {
			w = p.unnamed
		}
		all := n.Allocatable.At(d)
		if w == 0 || all <= 0 {
			continue
		}
		used := min(all-n.Free.At(d)+req, all)
		sum += w * resource.Share{Part: used, Whole: all}.Of(scale)
		weights += w
	}
	if weights == 0 {
		return 0
	}
	return sum * framework.MaxScore / weights * p.weight
}
