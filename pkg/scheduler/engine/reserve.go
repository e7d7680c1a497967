package engine

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// reserve sets room aside for a gang that was refused for want of it: for one that lost a
// part of its minimum at once, for others once they have waited as long as plugins
// allow. Until then it notes when that will be.
func (c *Cycle) reserve(en *entry, no refusal, claims []model.Claim) {
	e, g := c.engine, en.gang
	if g.Whole() || !g.Broken() && !c.remind(en) {
		return
	}
	switch no.why.Code {
	case reason.NotEnoughNodes, reason.QueueCapability, reason.QueueGuarantee:
	default:
		return // room alone would not help
	}
	if !stands(claims, no.groups) {
		others := e.claims(g, no.groups)
		if claims != nil && !slices.EqualFunc(claims, others, alike) {
			c.World.Happened |= model.NodeRoom | model.QueueRoom // what it does not claim any more
		}
		claims = others
	}
	e.setAside(g, claims)
}

// remind reports whether a gang has waited as long as plugins allow; if it has
// not yet, it will be tried again when it has.
func (c *Cycle) remind(en *entry) bool {
	from, ok := c.engine.tiers.ReserveFrom(en.gang)
	if ok && c.Now.Before(from) {
		c.engine.alarm(en, from)
		return false
	}
	return ok
}

// alike reports whether two claims set the same aside.
func alike(a, b model.Claim) bool {
	return a.Node == b.Node && a.N == b.N && slices.Equal(a.Req, b.Req)
}

// stands reports whether claims are still good for what a gang needs.
func stands(claims []model.Claim, groups []group) bool {
	var need, have int64
	for _, gr := range groups {
		need += int64(len(gr.tasks))
	}
	for _, claim := range claims {
		if !slices.ContainsFunc(groups, func(gr group) bool { return gr.class.Req.Is(claim.Req) && gr.class.Fits(claim.Node) }) {
			return false
		}
		have += claim.N
	}
	return len(claims) > 0 && have == need
}

// claims chooses nodes for groups of tasks by what would fit if those nodes ran
// nothing but what the gang has there and others have claimed: nodes that have most room
// now first, since they will have enough soonest. Nil when even that is not enough.
func (e *Engine) claims(g *model.Gang, groups []group) []model.Claim {
	taken := map[model.NodeID]resource.Vector{}
	for _, t := range g.Tasks {
		if t.Bucket == model.Assumed || t.Bucket == model.Bound {
			used := taken[t.On.ID]
			used.Add(t.Class.Req, 1)
			taken[t.On.ID] = used
		}
	}
	var claims []model.Claim
	for _, gr := range groups {
		req, left := gr.class.Req, int64(len(gr.tasks))
		for _, n := range e.soonest(gr.class) {
			room := append(resource.Vector{}, n.Allocatable...)
			room.Add(n.Claimed, -1)
			room.Add(taken[n.ID], -1)
			fit := min(left, room.Times(req))
			if fit <= 0 {
				continue
			}
			claims = append(claims, model.Claim{Node: n, Req: req, N: fit})
			used := taken[n.ID]
			used.Add(req, fit)
			taken[n.ID] = used
			if left -= fit; left == 0 {
				break
			}
		}
		if left > 0 {
			return nil
		}
	}
	return claims
}

// soonest lists the nodes that a class may run on, those with most room now first.
func (e *Engine) soonest(c *model.Class) []*model.Node {
	var nodes []*model.Node
	for _, n := range e.World.Nodes() {
		if c.Fits(n) {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, b *model.Node) int {
		return cmp.Or(cmp.Compare(b.Free.Times(c.Req), a.Free.Times(c.Req)), cmp.Compare(a.ID, b.ID))
	})
	return nodes
}

// setAside changes what is set aside for a gang.
func (e *Engine) setAside(g *model.Gang, claims []model.Claim) {
	if g.Claims != nil || claims != nil {
		e.World.SetAside(g, claims)
		if claims == nil {
			delete(e.claimed, g)
		} else {
			e.claimed[g] = true
		}
	}
}
