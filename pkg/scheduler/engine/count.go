package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// classStat remembers what one pass over the nodes found for a class. It holds
// while the world's epoch is the same, so that a thousand equal gangs in front
// of a full cluster cost one pass.
type classStat struct {
	class *model.Class
	epoch uint64
	room  int64 // tasks of the class that fit now
	told  bool  // the fields below are there too
	empty int64 // tasks that would fit on empty nodes
	total int   // nodes looked at
	tally []reason.Tally
}

func (e *Engine) stat(c *model.Class) *classStat {
	for len(e.stats) <= int(c.ID) {
		e.stats = append(e.stats, classStat{})
	}
	s := &e.stats[c.ID]
	if s.class == c && s.epoch == e.World.Epoch {
		return s
	}
	*s = classStat{class: c, epoch: e.World.Epoch}
	for _, n := range e.World.Nodes() {
		if fits(c, n) {
			s.room = saturate(s.room, n.Free.Times(c.Req))
		}
	}
	return s
}

// explain adds to the stat of a class what users want to read.
func (e *Engine) explain(c *model.Class) *classStat {
	s := e.stat(c)
	if s.told {
		return s
	}
	s.told = true
	count := map[string]int{}
	for _, n := range e.World.Nodes() {
		if !n.Known {
			continue
		}
		s.total++
		if !fits(c, n) {
			count[e.causes.words[c.Causes[n.ID]]]++
			continue
		}
		s.empty = saturate(s.empty, n.Allocatable.Times(c.Req))
		for d, want := range c.Req {
			switch free := n.Free.At(d); {
			case want <= free:
			case want <= resource.Add(free, n.Claimed.At(d)):
				count[e.World.Resources.Name(d)+" reserved for gangs that waited longer"]++
			default:
				count["insufficient "+e.World.Resources.Name(d)]++
			}
		}
	}
	//muster:anyorder sorted below
	for cause, nodes := range count {
		s.tally = append(s.tally, reason.Tally{Cause: cause, Nodes: nodes})
	}
	sortTally(s.tally)
	return s
}

func sortTally(tally []reason.Tally) {
	slices.SortFunc(tally, func(a, b reason.Tally) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Cause, b.Cause))
	})
}

// noRoom says why the tasks of a group have no room.
func (e *Engine) noRoom(gr group) refusal {
	s, need := e.explain(gr.class), int64(len(gr.tasks))
	why := reason.Reason{
		Code: reason.NotEnoughNodes, Role: gr.role, Need: need, Room: s.room,
		Empty: s.empty, Total: s.total, Nodes: s.tally,
	}
	if s.empty < need && s.total > 0 {
		why.Code = reason.NeverFits
	}
	return refusal{why: why, wakes: roomWakes | e.tiers.NodeWakes(), short: shortfall{class: gr.class, need: need}}
}

func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
