// Package binpack prefers the node that a task leaves fullest, so that whole
// nodes stay free for large gangs.
//
// Score (as Volcano's plugin of that name): the sum over requested resources r
// of weight_r * (used_r + request_r) / allocatable_r, divided by the sum of
// those weights, times 100 times binpack.weight.
package binpack

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
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
	p := &plugin{weight: 1, unnamed: 1, named: map[int]int64{}}
	p.named[env.Dim(resource.Pods)] = 0
	var errs []error
	number := func(key string, fallback int64) int64 {
		text, ok := args[key]
		if !ok {
			return fallback
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("argument %s is %q: give a whole number of 0 or more", key, text))
		}
		return n
	}
	if list, ok := args["binpack.resources"]; ok {
		p.unnamed = 0
		p.named[env.Dim(resource.CPU)], p.named[env.Dim(resource.Memory)] = 1, 1
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				p.named[env.Dim(name)] = number("binpack.resources."+name, 1)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		name, ok := strings.CutPrefix(key, "binpack.")
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("argument %s is unknown: arguments begin with %q", key, "binpack."))
		case name == "weight":
			p.weight = number(key, 1)
		case name != "resources" && !strings.HasPrefix(name, "resources."):
			p.named[env.Dim(name)] = number(key, 1)
		}
	}
	return p, errors.Join(errs...)
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
		sum += w * share(all-n.Free.At(d)+req, all)
		weights += w
	}
	if weights == 0 {
		return 0
	}
	return sum * framework.MaxScore / weights * p.weight
}

// share returns part/all in units of 1/scale, between 0 and scale.
func share(part, all int64) int64 {
	if part <= 0 {
		return 0
	}
	if part >= all {
		return scale
	}
	hi, lo := bits.Mul64(uint64(part), scale)
	q, _ := bits.Div64(hi, lo, uint64(all))
	return int64(q)
}
