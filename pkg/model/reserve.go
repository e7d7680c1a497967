package model

import "github.com/muster-sh/muster/pkg/resource"

// Claim is room that is set aside on a node for a gang that waited too long: for
// N tasks that ask for Req each.
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
	for _, c := range before {
		w.leaveNode(c.Node)
	}
}

func (w *World) claim(g *Gang, times int64) {
	for _, c := range g.Claims {
		c.Node.Claimed.Add(c.Req, c.N*times)
		c.Node.Free.Add(c.Req, -c.N*times)
		w.tick(c.Node)
		if g.Queue != nil {
			w.Quota.Reserve(g.Queue.ID, c.Req, c.N*times)
		}
	}
}
