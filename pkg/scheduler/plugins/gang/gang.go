// Package gang refuses gangs that lack tasks, and lets those that lack their
// minimum go before those that only want more than it.
package gang

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "gang"

type plugin struct{}

var (
	_ framework.OrdersGangs = plugin{}
	_ framework.AdmitsGangs = plugin{}
)

// New makes the plugin. It has no arguments.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	return plugin{}, args.Read().Err()
}

func (plugin) Name() string { return Name }

func (plugin) CompareGangs(a, b *model.Gang) int {
	switch {
	case a.Whole() == b.Whole():
		return 0
	case b.Whole():
		return -1
	default:
		return 1
	}
}

func (plugin) WakesOn() model.Change { return model.GangChanged }

// AdmitGang wants enough tasks to exist, in all and of every role. Tasks behind
// scheduling gates do not count.
func (plugin) AdmitGang(g *model.Gang) (reason.Reason, bool) {
	for _, r := range g.Roles {
		if why, ok := enough(r.Counts, r.Min, r.Name); !ok {
			return why, false
		}
	}
	if why, ok := enoughParts(g); !ok {
		return why, false
	}
	return enough(g.Counts, g.Min, "")
}

func enough(n model.Counts, least int32, role string) (reason.Reason, bool) {
	if why, ok := n.Exist(least, role); !ok {
		return why, false
	}
	if have := n.Alive() - n.Gated; have < least {
		return reason.Reason{Code: reason.Gated, Role: role, Need: int64(least), Have: int64(have)}, false
	}
	return reason.Reason{}, true
}

// enoughParts wants enough tasks for as many sub-groups as the gang needs.
func enoughParts(g *model.Gang) (reason.Reason, bool) {
	whole := make([]int64, len(g.SubGroups))
	for _, p := range g.Parts() {
		if p.Alive >= g.SubGroups[p.Policy].Size {
			whole[p.Policy]++
		}
	}
	for i, s := range g.SubGroups {
		if whole[i] < int64(s.Least) {
			return reason.Reason{Code: reason.NotEnoughParts, Role: s.Name, Need: int64(s.Least), Have: whole[i]}, false
		}
	}
	return reason.Reason{}, true
}
