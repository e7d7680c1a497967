package engine

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// tellStatus reports each changed gang whose status is not what was last told.
func (c *Cycle) tellStatus() {
	for _, en := range c.changed {
		g := en.gang
		if !g.Known || c.engine.entries[g] != en {
			continue
		}
		en.phase = phaseOf(g, en.phase)
		_, stuck := g.Stuck()
		status := Status{
			Gang: g.Key, UID: g.UID, Phase: en.phase,
			Running: g.Counts.Running, Succeeded: g.Counts.Succeeded, Failed: g.Counts.Failed,
			Held: g.Counts.Held() - stuck, Min: g.Min,
			Waiting: g.Counts.Waiting + g.Counts.Gated,
			Whole:   g.Whole() && g.Counts.Held() > 0 && stuck == 0,
			Waits:   en.why != nil,
		}
		if status != en.last {
			en.last = status
			c.emit(status)
		}
	}
}

// phaseOf says how far a gang has come. A gang runs once the API server has
// confirmed its minimum, never earlier.
func phaseOf(g *model.Gang, was model.Phase) model.Phase {
	n := g.Counts
	over := n.Idle() && n.All() > 0
	switch {
	case n.Idle() && ended(was): // its pods may be swept away one by one; what it came to stays
		return was
	case over && n.Succeeded > 0 && n.Succeeded >= g.Min:
		return model.Completed
	case over:
		return model.GangLost
	case confirmed(g):
		return model.Running
	case was == model.Running || was == model.Unknown:
		return model.Unknown
	case n.Placed > 0 || was == model.Inqueue:
		return model.Inqueue
	default:
		return model.Pending
	}
}

// ended reports whether a phase is one that a gang only leaves when new tasks come.
func ended(p model.Phase) bool { return p == model.Completed || p == model.GangLost }

// confirmed reports whether the API server knows of a gang's minimum as bound or done.
func confirmed(g *model.Gang) bool {
	for i := range g.Roles {
		if r := &g.Roles[i]; r.Bound+r.Succeeded < r.Min {
			return false
		}
	}
	done := g.Counts.Bound + g.Counts.Succeeded
	return done > 0 && done >= g.Min
}

// overCapability words the ceilings that a queue would break.
func (e *Engine) overCapability(over []quota.Over) reason.Reason {
	why := reason.Reason{Code: reason.QueueCapability, Kind: "Queue", Object: e.World.Queues()[over[0].Queue].Name}
	for _, o := range over {
		why.Short = append(why.Short, shortage(e.World.Resources.Name(o.Dim), o.Need, o.Used, o.Limit))
	}
	slices.SortFunc(why.Short, func(a, b reason.Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	return why
}

// overCluster says whether need, besides all that is promised, exceeds what is
// free on all nodes together.
func (e *Engine) overCluster(need resource.Vector) (reason.Reason, bool) {
	var free, all resource.Vector
	for _, n := range e.World.Nodes() {
		if n.Known && !n.Unschedulable {
			all.Add(n.Allocatable, 1)
			for d, room := range n.Free {
				free.Set(d, resource.Add(free.At(d), max(room, 0))) // one node's debt is not another's
			}
		}
	}
	free.Add(e.World.PromisedAll, -1)
	why := reason.Reason{Code: reason.NotEnoughCluster}
	for d, want := range need {
		if want > 0 && want > free.At(d) {
			why.Short = append(why.Short, shortage(e.World.Resources.Name(d), want, all.At(d)-free.At(d), all.At(d)))
		}
	}
	slices.SortFunc(why.Short, func(a, b reason.Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	return why, why.Short == nil
}

func shortage(name string, need, used, limit int64) reason.Shortage {
	return reason.Shortage{
		Resource: name,
		Need:     resource.Format(name, need),
		Used:     resource.Format(name, used),
		Limit:    resource.Format(name, limit),
		Short:    resource.Format(name, resource.Add(resource.Add(used, need), -limit)),
	}
}
