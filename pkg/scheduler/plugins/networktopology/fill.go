package networktopology

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// scale keeps four decimal places of a share in whole numbers.
const scale = 10_000

// fill rates sets of nodes by how full they would be.
type fill struct {
	named   map[int]int64 // weight by dimension
	unnamed int64         // weight of any other resource
}

func fillOf(r *framework.Reader, env framework.Env) fill {
	f := fill{unnamed: 1, named: map[int]int64{env.Dim(resource.Pods): 0}}
	f.named[env.Dim(resource.CPU)] = r.Weight("hypernode.binpack.cpu", 1)
	f.named[env.Dim(resource.Memory)] = r.Weight("hypernode.binpack.memory", 1)
	if r.Has("hypernode.binpack.resources") {
		f.unnamed = 0
		for _, name := range r.Resources("hypernode.binpack.resources") {
			f.named[env.Dim(name)] = r.Weight("hypernode.binpack.resources."+name, 1)
		}
	}
	return f
}

// of is the share of nodes that is used with need besides, weighed over the resources of
// need, in units of 1/scale; 0 when it does not fit.
//
// Score (as Volcano's plugin of that name): the sum over resources r of
// weight_r * (used_r + need_r) / allocatable_r, divided by the sum of the weights.
func (f fill) of(nodes []*model.Node, need resource.Vector) int64 {
	var sum, weights int64
	for d, req := range need {
		w, ok := f.named[d]
		if !ok {
			w = f.unnamed
		}
		if req <= 0 || w == 0 {
			continue
		}
		var all, free int64
		for _, n := range nodes {
			all, free = resource.Add(all, n.Allocatable.At(d)), resource.Add(free, n.Free.At(d))
		}
		if free < req || all <= 0 {
			return 0
		}
		sum += w * resource.Share{Part: min(all-free+req, all), Whole: all}.Of(scale)
		weights += w
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}
