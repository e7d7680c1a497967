// Package gang refuses gangs that lack tasks, and lets those that lack their
// minimum go before those that only want more than it.
package gang

import (
	"fmt"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "gang"

// repairTimeout on a PodGroup is how long it may be without a part of its minimum before
// the rest of it has to go; 0: for ever.
const repairTimeout = "volcano.sh/gang-repair-timeout"

type plugin struct {
	repair time.Duration // for gangs that say nothing; 0: for ever
}

var (
	_ framework.OrdersGangs = plugin{}
	_ framework.AdmitsGangs = plugin{}
	_ framework.Repairs     = plugin{}
	_ framework.Notices     = plugin{}
)

// New makes the plugin. Argument: gang-repair-timeout (0s: for ever), a duration.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	return plugin{repair: r.Duration("gang-repair-timeout", 0)}, r.Err()
}

// RepairWithin is what the gang says of itself, else the argument.
func (p plugin) RepairWithin(g *model.Gang) (time.Duration, bool) {
	d := p.repair
	if text, ok := g.Annotations[repairTimeout]; ok {
		if own, err := time.ParseDuration(text); err == nil && own >= 0 {
			d = own
		}
	}
	return d, d > 0
}

// Notices names a timeout that can't be read.
func (plugin) Notices(g *model.Gang) []string {
	text, ok := g.Annotations[repairTimeout]
	if !ok {
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s is %q and does not count: give a duration such as 10m", repairTimeout, text)}
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
