package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
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
			if want > n.Free.At(d) {
				count["insufficient "+e.World.Resources.Name(d)]++
			}
		}
	}
	for cause, nodes := range count {
		s.tally = append(s.tally, reason.Tally{Cause: cause, Nodes: nodes})
	}
	slices.SortFunc(s.tally, func(a, b reason.Tally) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Cause, b.Cause))
	})
	return s
}

// noRoom says why need tasks of class c, as role, have no room.
func (e *Engine) noRoom(c *model.Class, role string, need int64) reason.Reason {
	s := e.explain(c)
	why := reason.Reason{
		Code: reason.NotEnoughNodes, Role: role, Need: need, Room: s.room,
		Empty: s.empty, Total: s.total, Nodes: s.tally,
	}
	if s.empty < need && s.total > 0 {
		why.Code = reason.NeverFits
	}
	return why
}

func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
