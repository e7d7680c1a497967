package model

import (
	"slices"

	"github.com/muster-sh/muster/pkg/resource"
)

// Claim is room that is set aside on a node for a gang that waited too long: for
// N tasks that ask for Req each. What their claims for devices take is set aside in its
// queue alone: Node is nil then.
type Claim struct {
	Node *Node
	Req  resource.Vector
	N    int64
}

// SetAside sets room aside for a gang, on nodes and in its queue, in place of what
// was set aside before; nil gives it back. A claim may exceed what is free: then
// what others give back goes to it, and nobody else is placed there meanwhile.
// It tells nobody: who gives a claim up for good sets Happened.
func (w *World) SetAside(g *Gang, claims []Claim) {
	before := g.Claims
	w.claim(g, -1)
	g.Claims = claims
	w.claim(g, 1)
	w.keepers = slices.DeleteFunc(w.keepers, func(k *Gang) bool { return k == g })
	if claims != nil {
		w.keepers = append(w.keepers, g)
	}
	for _, c := range before {
		w.leaveNode(c.Node)
	}
}

// Keepers are the gangs for which room is set aside.
func (w *World) Keepers() []*Gang { return w.keepers }

func (w *World) claim(g *Gang, times int64) {
	for _, c := range g.Claims {
		if c.Node != nil {
			c.Node.Claimed.Add(c.Req, c.N*times)
			c.Node.Free.Add(c.Req, -c.N*times)
			w.tick(c.Node)
		}
		if g.Queue != nil {
			w.Quota.Reserve(g.Queue.ID, c.Req, c.N*times)
		}
	}
}

// ClaimsOf claims places for tasks, on the nodes that are said.
func ClaimsOf(tasks []*Task, on func(*Task) *Node) []Claim {
	type room struct {
		node  *Node
		class *Class
	}
	var claims []Claim
	at := map[room]int{}
	for _, t := range tasks {
		key := room{on(t), t.Class}
		i, ok := at[key]
		if !ok {
			i = len(claims)
			at[key] = i
			claims = append(claims, Claim{Node: key.node, Req: t.Class.Req})
		}
		claims[i].N++
	}
	return claims
}

// Pieces is how many tasks claims are for.
func Pieces(claims []Claim) (n int64) {
	for _, c := range claims {
		if c.Node != nil {
			n += c.N
		}
	}
	return n
}

// Unfilled is what is left of claims when tasks were placed: each fills one where it is, or
// any, and takes its devices of those that are claimed.
func (w *World) Unfilled(claims []Claim, placed []*Task) []Claim {
	left := slices.Clone(claims)
	var devices resource.Vector
	devices.Add(w.Gives(placed), 1)
	for _, t := range placed {
		devices.Add(t.Class.Req, -1)
		asks := func(c Claim) bool { return c.Node != nil && c.N > 0 && c.Req.Is(t.Class.Req) }
		i := slices.IndexFunc(left, func(c Claim) bool { return c.Node == t.On && asks(c) })
		if i < 0 {
			i = slices.IndexFunc(left, asks)
		}
		if i >= 0 {
			left[i].N--
		}
	}
	for i, c := range left {
		if c.Node == nil {
			left[i].Req = without(c.Req, devices)
		}
	}
	return slices.DeleteFunc(left, func(c Claim) bool { return c.N == 0 || c.Node == nil && len(c.Req.Dims()) == 0 })
}

// without is what is left of v; what is taken of it is taken off taken, too.
func without(v, taken resource.Vector) resource.Vector {
	v = slices.Clone(v)
	for d, n := range v {
		some := min(n, max(taken.At(d), 0))
		v[d] -= some
		if some > 0 {
			taken[d] -= some
		}
	}
	return v
}
