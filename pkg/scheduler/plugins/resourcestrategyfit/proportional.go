package resourcestrategyfit

import (
	"fmt"
	"math"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// keeper keeps cpu and memory on each node for accelerators that are idle there, so
// that tasks without accelerators don't make them useless.
type keeper struct {
	accelerators []accelerator // none: nothing is kept
	cpu, memory  int
}

// accelerator is a resource for which something is kept, per idle piece.
type accelerator struct {
	dim             int
	cpu, memory     int64 // thousandths of a core, bytes
	noCPU, noMemory string
}

// mostKept is how many cores or GB may be kept for one piece: more than any node has.
const mostKept = 1 << 20

func readKeeper(r *framework.Reader, env framework.Env) keeper {
	block := r.Map("proportional")
	in := block.Read()
	enabled, names := in.Bool("enable", false), in.Resources("resources")
	k := keeper{cpu: env.Dim(resource.CPU), memory: env.Dim(resource.Memory)}
	proportion := in.Map("resourceProportion").Read()
	for _, name := range names {
		a := accelerator{
			dim:      env.Dim(name),
			cpu:      int64(rate(proportion, name+".cpu") * 1000),
			memory:   int64(rate(proportion, name+".memory") * 1_000_000_000),
			noCPU:    "cpu kept for idle " + name,
			noMemory: "memory kept for idle " + name,
		}
		if enabled {
			k.accelerators = append(k.accelerators, a)
		}
	}
	if enabled && len(names) == 0 {
		in.Wrong("resources", "name the accelerators to keep something for, for example nvidia.com/gpu")
	}
	in.Inside("resourceProportion", proportion.Err())
	r.Inside("proportional", in.Err())
	return k
}

// rate reads how much is kept for one piece.
func rate(r *framework.Reader, key string) float64 {
	f := r.Float(key, 1, 0)
	if f > mostKept {
		r.Wrong(key, fmt.Sprintf("give a number of at most %d", mostKept))
		return 1
	}
	return f
}

// WakesOn is what could lift a refusal: room, or an accelerator that is no longer idle.
func (*plugin) WakesOn() model.Change {
	return model.NodeRoom | model.NodeChanged | model.TaskPlaced
}

// Kind is the same for all tasks that ask for cpu or memory and for no accelerator.
func (p *plugin) Kind(t *model.Task) string {
	k := &p.kept
	if len(k.accelerators) == 0 || t.Class.Req.At(k.cpu) <= 0 && t.Class.Req.At(k.memory) <= 0 {
		return ""
	}
	for _, a := range k.accelerators {
		if t.Class.Req.At(a.dim) > 0 {
			return ""
		}
	}
	return Name
}

func (p *plugin) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	return &judge{keeper: &p.kept, cpu: t.Class.Req.At(p.kept.cpu), memory: t.Class.Req.At(p.kept.memory)}, reason.Reason{}, true
}

// judge looks at what a node has free at the time: the ledger knows what was placed.
type judge struct {
	*keeper
	cpu, memory int64 // what one task asks for
}

// Domain is the node: what is free differs from node to node.
func (*judge) Domain(n *model.Node) string { return n.Name }

func (j *judge) Fits(n *model.Node) (string, bool) {
	cpu, memory := n.Free.At(j.keeper.cpu), n.Free.At(j.keeper.memory)
	for _, a := range j.accelerators {
		idle := n.Free.At(a.dim)
		if idle <= 0 {
			continue
		}
		cpu, memory = resource.Add(cpu, -times(idle, a.cpu)), resource.Add(memory, -times(idle, a.memory))
		switch {
		case j.cpu > 0 && cpu < j.cpu && a.cpu > 0:
			return a.noCPU, false
		case j.memory > 0 && memory < j.memory && a.memory > 0:
			return a.noMemory, false
		}
	}
	return "", true
}

// times is n*each, held at the top of the range; neither is below 0.
func times(n, each int64) int64 {
	if each > 0 && n > math.MaxInt64/each {
		return math.MaxInt64
	}
	return n * each
}

func (*judge) Score(*model.Node) int64 { return 0 }

func (*judge) Placed(*model.Task, *model.Node) {}
