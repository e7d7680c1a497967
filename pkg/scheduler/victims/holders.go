package victims

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// Holders knows which gangs have tasks on nodes, queue by queue in order of arrival, and
// which have tasks that are going, so that a search need not pass over all gangs. It is
// worked out anew when the world has another epoch; call Forget when facts came in.
type Holders struct {
	known   bool
	epoch   uint64
	of      [][]*model.Gang // by queue
	leaving []*model.Gang
	keeps   map[*model.Gang]int32 // how many must stay of those that have tasks that are going, once these were taken away
	freed   []resource.Vector     // by node; all 0 between two uses
	nodes   []*model.Node         // for which freed is not
}

// Forget has all be worked out anew.
func (h *Holders) Forget() { h.known = false }

// see brings it up to date.
func (h *Holders) see(w *model.World) {
	if h.known && h.epoch == w.Epoch {
		return
	}
	h.known, h.epoch = true, w.Epoch
	for len(h.of) < len(w.Queues()) {
		h.of = append(h.of, nil)
	}
	for i := range h.of {
		h.of[i] = h.of[i][:0]
	}
	h.leaving = h.leaving[:0]
	clear(h.keeps)
	for g := range w.Gangs() {
		if g.Counts.Releasing > 0 {
			h.leaving = append(h.leaving, g)
		}
		if g.Counts.Placed > 0 && g.Known && g.Queue != nil {
			h.of[g.Queue.ID] = append(h.of[g.Queue.ID], g)
		}
	}
}

// without takes those away that are going.
func (h *Holders) without(w *model.World) {
	if h.keeps == nil {
		h.keeps = map[*model.Gang]int32{}
	}
	for _, g := range h.leaving {
		h.keeps[g], _ = g.MustStay() // which counts those that are going
		for _, t := range g.Tasks {
			if t.Bucket == model.Releasing && t.On != nil {
				w.Evict(t)
			}
		}
	}
}

// mustStay is how many tasks of a gang must stay by its disruption budget, 0 when any may go.
func (h *Holders) mustStay(g *model.Gang) int32 {
	if keep, ok := h.keeps[g]; ok {
		return keep
	}
	keep, _ := g.MustStay()
	return keep
}

// free notes that a task would leave its node.
func (h *Holders) free(t *model.Task) {
	for len(h.freed) <= int(t.On.ID) {
		h.freed = append(h.freed, nil)
	}
	v := &h.freed[t.On.ID]
	if len(*v) == 0 {
		h.nodes = append(h.nodes, t.On)
	}
	v.Add(t.Class.Req, 1)
}

// clear takes all that back.
func (h *Holders) clear() {
	for _, n := range h.nodes {
		h.freed[n.ID] = h.freed[n.ID][:0]
	}
	h.nodes = h.nodes[:0]
}
