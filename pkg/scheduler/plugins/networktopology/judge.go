package networktopology

import (
	"strconv"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Judge implements [framework.JudgesTasks]. Whether tasks that must be near may run on a
// node is said by Areas; the judge prefers nodes that are near those with tasks of the same
// sub-group, where that is to be kept together, and else of the same gang.
func (p *plugin) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	net := p.draw()
	j := &judge{net: net, weight: p.weight, near: make([]int64, len(net.holds))}
	_, part := t.Gang.NearOf(t)
	for _, other := range t.Gang.Tasks {
		if !other.Placed() {
			continue
		}
		if _, in := t.Gang.NearOf(other); in == part {
			j.Placed(other, other.On)
		}
	}
	return j, reason.Reason{}, true
}

// judge rates nodes by how near they are, on average, to the tasks that are placed: full
// in the same HyperNode of the lowest tier, less for each tier more, and 0 where no
// HyperNode holds both.
type judge struct {
	net    *network
	weight int64
	near   []int64 // by domain: the sum over those that are placed
	placed int64
}

// Domain is the HyperNodes that a node is in.
func (j *judge) Domain(n *model.Node) string { return strconv.Itoa(j.net.domain[n.ID]) }

// Fits is always so.
func (*judge) Fits(*model.Node) (string, bool) { return "", true }

// Score implements [framework.Judge].
func (j *judge) Score(n *model.Node) int64 {
	if j.placed == 0 || j.net.tiers == 0 {
		return 0
	}
	return j.weight * framework.Share(j.near[j.net.domain[n.ID]], j.placed*int64(j.net.tiers))
}

// Placed implements [framework.Judge].
func (j *judge) Placed(_ *model.Task, n *model.Node) {
	j.placed++
	for d := range j.near {
		j.near[d] += j.net.closeness(d, j.net.domain[n.ID])
	}
}
