// Package resourcestrategyfit rates nodes by how much of each resource that a task
// asks for is taken with the task there: for some resources the more the better, to
// pack them, for others the less, to spread them. Pods may choose for themselves, by
// annotation. Two further parts look after scarce resources: sra keeps tasks off
// nodes that have them, and proportional keeps cpu and memory for those that are idle.
package resourcestrategyfit

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "resource-strategy-fit"

type plugin struct {
	weight int64
	// strategies for resources, by name and by prefix.
	strategies strategies
	scarce     []scarce
	scarceAll  int64 // their weights together
	sra        int64
	kept       keeper
	dim        func(string) int
	plans      []plan // by class
}

// scarce is a resource whose nodes are for those that ask for it.
type scarce struct {
	dim    int
	weight int64
}

// plan is what the strategies mean for one class.
type plan struct {
	class   *model.Class
	parts   []part
	weights int64 // of all parts
}

// part is one resource that a class asks for.
type part struct {
	dim    int
	weight int64
	pack   bool
}

var (
	_ framework.ScoresNodes = &plugin{}
	_ framework.JudgesTasks = &plugin{}
	_ framework.Notices     = &plugin{}
)

// New makes the plugin. Arguments:
//
//   - resourceStrategyFitWeight (10): the weight of the strategies;
//   - resources: by name, or by the beginning of names with a "*" at its end, a block
//     of type (LeastAllocated, or MostAllocated) and weight (1). A name counts before
//     a beginning, a longer beginning before a shorter. Not given, cpu and memory are
//     LeastAllocated;
//   - sra: enable (false), resources (a list), weight (10) and resourceWeight, a block
//     of weights by resource (1);
//   - proportional: enable (false), resources (a list) and resourceProportion, a block
//     of <resource>.cpu (1), in cores, and <resource>.memory (1), in GB of 1000³
//     bytes: what is kept for each idle piece;
//   - logLevel is known, since examples have it, and changes nothing.
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{weight: r.Weight("resourceStrategyFitWeight", 10), dim: env.Dim}
	p.strategies = readStrategies(r)
	p.readScarce(r)
	p.kept = readKeeper(r, env)
	r.Int("logLevel", 0, 0)
	r.Idle(env, "logLevel", "who decides logs nothing; --log-level is for the whole process")
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

func (p *plugin) ScoreNode(c *model.Class, n *model.Node) int64 {
	var score int64
	if plan := p.plan(c); plan.weights > 0 {
		var sum int64
		for _, part := range plan.parts {
			sum += part.weight * part.score(c.Req.At(part.dim), n)
		}
		score = sum / plan.weights * p.weight
	}
	if p.scarceAll > 0 {
		score += p.sra * framework.Share(p.scarceAll-p.scarceOn(n), p.scarceAll)
	}
	return score
}

// score is the share that is taken, or stays free, with the task there; 0 on a node
// that lacks the resource.
func (p part) score(req int64, n *model.Node) int64 {
	all := n.Allocatable.At(p.dim)
	if all <= 0 {
		return 0
	}
	taken := framework.Share(resource.Add(all-max(n.Free.At(p.dim), 0), req), all)
	if p.pack {
		return taken
	}
	return framework.FullScore - taken
}

// scarceOn adds up the weights of the scarce resources that a node has.
func (p *plugin) scarceOn(n *model.Node) int64 {
	var sum int64
	for _, s := range p.scarce {
		if n.Allocatable.At(s.dim) > 0 {
			sum += s.weight
		}
	}
	return sum
}

// plan works out once per class which strategy goes for which of its resources.
func (p *plugin) plan(c *model.Class) *plan {
	for int(c.ID) >= len(p.plans) {
		p.plans = append(p.plans, plan{})
	}
	at := &p.plans[c.ID]
	if at.class == c {
		return at
	}
	*at = plan{class: c}
	s, _ := p.strategies.forPod(c.Shape.Hints)
	for _, a := range c.Shape.Requests {
		if one, ok := s.find(a.Name); ok && a.Value > 0 && one.weight > 0 {
			at.parts = append(at.parts, part{dim: p.dim(a.Name), weight: one.weight, pack: one.pack})
			at.weights += one.weight
		}
	}
	return at
}

// Notices says which of the annotations of a gang's pods can't be read. Pods of one
// class have the same.
func (p *plugin) Notices(g *model.Gang) []string {
	var notices []string
	seen := map[*model.Class]bool{}
	for _, t := range g.Tasks {
		if t.Class == nil || seen[t.Class] || len(t.Class.Shape.Hints) == 0 {
			continue
		}
		seen[t.Class] = true
		_, faults := p.strategies.forPod(t.Class.Shape.Hints)
		for _, fault := range faults {
			notices = append(notices, "pod "+t.Name+": "+fault)
		}
	}
	return notices
}

func (p *plugin) readScarce(r *framework.Reader) {
	block := r.Map("sra")
	in := block.Read()
	enabled, names := in.Bool("enable", false), in.Resources("resources")
	p.sra = in.Weight("weight", 10)
	weights := in.Map("resourceWeight").Read()
	for _, name := range names {
		s := scarce{p.dim(name), weights.Weight(name, 1)}
		if enabled {
			p.scarce = append(p.scarce, s)
			p.scarceAll += s.weight
		}
	}
	if enabled && len(names) == 0 {
		in.Wrong("resources", "name the scarce resources, for example nvidia.com/gpu")
	}
	in.Inside("resourceWeight", weights.Err())
	r.Inside("sra", in.Err())
}
