package tdm

import (
	"fmt"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Wishes lists who is on nodes of closed zones and allowed the zone, once per period.
func (p *plugin) Wishes(w *model.World, now time.Time) []framework.Wish {
	if !p.anyClosed() {
		p.pending = false
		return nil
	}
	if now.Before(p.evictAt) {
		return nil
	}
	p.pending, p.evictAt = false, now.Add(p.period)
	var wishes []framework.Wish
	for _, n := range w.Nodes() {
		name := n.Labels[zoneKey]
		if name == "" || len(n.Tasks) == 0 {
			continue
		}
		z := p.zone(name)
		if z == nil || z.open {
			continue
		}
		for _, t := range n.Tasks {
			if (t.Bucket != model.Bound && t.Bucket != model.Assumed) || !grantOf(t.Class.Shape.Hints).in(name) {
				continue
			}
			p.pending = true
			if t.Bucket == model.Bound && t.Gang != nil {
				wishes = append(wishes, framework.Wish{
					Task: t, Why: fmt.Sprintf("revocable zone %s is open %s", z.name, z.hours), Most: atOnce(t.Gang), Whole: true,
				})
			}
		}
	}
	return wishes
}

// WishesAt is when those who did not go yet are to go.
func (p *plugin) WishesAt() (time.Time, bool) { return p.evictAt, p.pending }

func (p *plugin) anyClosed() bool {
	for i := range p.zones {
		if !p.zones[i].open {
			return true
		}
	}
	return false
}

// atOnce is how many tasks of a gang may go in one round: as its budget says, else one.
func atOnce(g *model.Gang) int32 {
	if _, said := g.MustStay(); said {
		return 0
	}
	return 1
}
