package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// tally is what keeps a class off the nodes, for people to read. It holds while the
// world's epoch is the same, so that a thousand equal gangs in front of a full
// cluster cost one pass.
type tally struct {
	class *model.Class
	epoch uint64
	empty int64 // tasks that would fit on empty nodes
	total int   // nodes looked at
	nodes []reason.Tally
}

// explain says what keeps a class off the nodes.
func (e *Engine) explain(c *model.Class) *tally {
	for len(e.tallies) <= int(c.ID) {
		e.tallies = append(e.tallies, tally{})
	}
	s := &e.tallies[c.ID]
	if s.class == c && s.epoch == e.World.Epoch {
		return s
	}
	*s = tally{class: c, epoch: e.World.Epoch}
	filtered := make([]int, len(e.causes.words))
	short, reserved := make([]int, len(c.Req)), make([]int, len(c.Req))
	for _, n := range e.World.Nodes() {
		if !n.Known {
			continue
		}
		s.total++
		if !fits(c, n) {
			filtered[c.Causes[n.ID]]++
			continue
		}
		s.empty = saturate(s.empty, n.Allocatable.Times(c.Req))
		for d, want := range c.Req {
			switch free := n.Free.At(d); {
			case want <= free:
			case want <= resource.Add(free, n.Claimed.At(d)):
				reserved[d]++
			default:
				short[d]++
			}
		}
	}
	add := func(cause string, nodes int) {
		if nodes > 0 {
			s.nodes = append(s.nodes, reason.Tally{Cause: cause, Nodes: nodes})
		}
	}
	for i, nodes := range filtered {
		add(e.causes.words[i], nodes)
	}
	for d := range c.Req {
		add("insufficient "+e.World.Resources.Name(d), short[d])
		add(e.World.Resources.Name(d)+" reserved for gangs that waited longer", reserved[d])
	}
	sortTally(s.nodes)
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
	room := e.view(gr.class).room
	why := reason.Reason{
		Code: reason.NotEnoughNodes, Role: gr.role, Need: need, Room: room,
		Empty: s.empty, Total: s.total, Nodes: s.nodes,
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
