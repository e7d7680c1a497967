// Package nodeorder rates nodes as kube-scheduler's own plugins do: by how much of
// them is asked for, how evenly, by preferred node affinity, taints that only ask,
// and images that are there already. Each part gives 0 to 100 points times its
// weight, and the whole is multiplied by plugin.weight.
//
// Where kube-scheduler compares a node with all others, the parts here look at the
// node alone, so that a rating holds until that node changes; rate.go says how.
package nodeorder

import (
	"math"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "nodeorder"

// gpu is the extended resource that counts for balance, where it is asked for.
const gpu = "nvidia.com/gpu"

type plugin struct {
	whole                         int64
	least, most, balanced, fewest int64
	affinity, taints, images      int64
	pack                          int64
	packNamed                     []int64 // weight by dimension
	packUnnamed                   int64
	cpu, memory, gpu              int
}

var (
	_ framework.ScoresNodes = &plugin{}
	_ framework.RatesNodes  = &plugin{}
)

// New makes the plugin. Arguments, all weights of 0 or more:
//
//   - leastrequested.weight (1), mostrequested.weight (0): the mean of the shares of
//     cpu and memory that stay free, or are taken, with the task there;
//   - balancedresource.weight (1): whether the task makes the use of cpu, memory and,
//     if it asks for some, nvidia.com/gpu more even;
//   - nodeaffinity.weight (2), tainttoleration.weight (3), imagelocality.weight (1);
//   - podaffinity.weight (2), podtopologyspread.weight (2), which belong to the
//     plugin that looks at other pods and change nothing here;
//   - plugin.least-task.weight (0): the fewer tasks on a node, the better;
//   - plugin.binpack.weight (0) with plugin.binpack.<resource> (cpu 1, memory 1,
//     extended resources 1): the fuller in what the task asks for, the better;
//   - plugin.weight (1): a factor on all of it.
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{
		whole:       r.Weight("plugin.weight", 1),
		least:       r.Weight("leastrequested.weight", 1),
		most:        r.Weight("mostrequested.weight", 0),
		balanced:    r.Weight("balancedresource.weight", 1),
		fewest:      r.Weight("plugin.least-task.weight", 0),
		affinity:    r.Weight("nodeaffinity.weight", 2),
		taints:      r.Weight("tainttoleration.weight", 3),
		images:      r.Weight("imagelocality.weight", 1),
		pack:        r.Weight("plugin.binpack.weight", 0),
		packUnnamed: 1,
		cpu:         env.Dim(resource.CPU),
		memory:      env.Dim(resource.Memory),
		gpu:         env.Dim(gpu),
	}
	r.Weight("podaffinity.weight", 2)
	r.Weight("podtopologyspread.weight", 2)
	p.setPack(env.Dim(resource.Pods), 0)
	for _, name := range r.ResourcesAfter("plugin.binpack.") {
		p.setPack(env.Dim(name), r.Weight("plugin.binpack."+name, 1))
	}
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

func (p *plugin) setPack(dim int, weight int64) {
	for len(p.packNamed) <= dim {
		p.packNamed = append(p.packNamed, p.packUnnamed)
	}
	p.packNamed[dim] = weight
}

func (p *plugin) ScoreNode(c *model.Class, n *model.Node) int64 {
	sum := p.byRequests(c, n)
	if p.fewest > 0 {
		sum += p.fewest * (framework.FullScore / int64(1+len(n.Tasks)))
	}
	if p.pack > 0 {
		sum += p.pack * p.fullness(c, n)
	}
	return p.whole * sum
}

// byRequests adds up what looks at the shares of a node that are taken.
func (p *plugin) byRequests(c *model.Class, n *model.Node) int64 {
	if p.least|p.most|p.balanced == 0 {
		return 0
	}
	var before, after use
	for _, d := range [...]int{p.cpu, p.memory, p.gpu} {
		all, req := n.Allocatable.At(d), max(c.Req.At(d), 0)
		if all <= 0 || (d == p.gpu && req == 0) {
			continue
		}
		taken := all - max(n.Free.At(d), 0)
		now, then := framework.Share(taken, all), framework.Share(resource.Add(taken, req), all)
		before.add(now, d != p.gpu)
		after.add(then, d != p.gpu)
	}
	sum := p.balanced * (framework.FullScore/2 + (framework.FullScore/2+before.unevenness()-after.unevenness())/2)
	if after.base > 0 {
		mean := after.sumBase / after.base
		sum += p.most*mean + p.least*(framework.FullScore-mean)
	}
	return sum
}

// use gathers shares of a node's resources, in units of a full score.
type use struct {
	n, sum, squares int64
	base, sumBase   int64 // of cpu and memory alone
}

func (u *use) add(share int64, base bool) {
	u.n++
	u.sum += share
	u.squares += share * share
	if base {
		u.base++
		u.sumBase += share
	}
}

// unevenness is the standard deviation of the shares: 0 when all are alike, half a
// full score at most. It is reckoned in whole numbers, so that it is the same
// on every machine.
func (u *use) unevenness() int64 {
	if u.n < 2 {
		return 0
	}
	return root(u.n*u.squares-u.sum*u.sum) / u.n
}

// root is the largest whole number whose square is not above x.
func root(x int64) int64 {
	r := int64(math.Sqrt(float64(x)))
	for r*r > x {
		r--
	}
	for (r+1)*(r+1) <= x {
		r++
	}
	return r
}

// fullness is the weighted mean of the taken shares of what the class asks for.
func (p *plugin) fullness(c *model.Class, n *model.Node) int64 {
	var sum, weights int64
	for d, req := range c.Req {
		w := p.packUnnamed
		if d < len(p.packNamed) {
			w = p.packNamed[d]
		}
		all := n.Allocatable.At(d)
		if req <= 0 || all <= 0 || w == 0 {
			continue
		}
		sum += w * framework.Share(resource.Add(all-max(n.Free.At(d), 0), req), all)
		weights += w
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}
