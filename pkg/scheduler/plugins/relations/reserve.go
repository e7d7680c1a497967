package relations

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// reservation is what was set aside for a task on a node: volumes to be bound or
// made, and claims that were given devices.
type reservation struct {
	task   *model.Task
	node   *model.Node
	pod    *corev1.Pod
	state  fwk.CycleState
	claims []types.UID
}

// stands reports whether the task is still where it was reserved for.
func (r *reservation) stands() bool {
	return r.task.On == r.node && r.task.Placed()
}

// settle gives back what was set aside for placements that were taken back. The
// engine need not tell: whether a task is still on its node shows.
func (p *plugin) settle() {
	stand := make([]*reservation, 0, len(p.reserved))
	var gone []*reservation
	for _, r := range p.reserved {
		switch {
		case !r.stands() || p.world.TaskOf(r.task.UID) != r.task:
			gone = append(gone, r)
		case r.task.Bucket == model.Assumed: // of one that is bound, what was written shows in the objects
			stand = append(stand, r)
		}
	}
	p.reserved = stand
	for _, r := range gone {
		if p.kube.volumes != nil {
			p.kube.volumes.Unreserve(p.kube.ctx, r.state, r.pod, r.node.Name)
		}
		for _, uid := range r.claims {
			if !slices.ContainsFunc(stand, func(o *reservation) bool { return slices.Contains(o.claims, uid) }) {
				p.kube.devices.claims.forget(uid)
			}
		}
	}
}

// reserve sets aside what a task needs on a node that passed the filters.
func (p *plugin) reserve(state fwk.CycleState, t *model.Task, n *model.Node) {
	r := &reservation{task: t, node: n, pod: t.Pod, state: state}
	p.reserved = append(p.reserved, r)
	for _, pt := range p.parts {
		if pt.reserve != nil {
			pt.reserve.Reserve(p.kube.ctx, state, t.Pod, n.Name)
		}
	}
	for _, claim := range p.kube.devices.claims.of(t.Pod) {
		if p.kube.devices.claims.pending[claim.UID] != nil {
			r.claims = append(r.claims, claim.UID)
		}
	}
}

// Prepare names the volumes, claims for volumes and claims for devices to be
// written before a task is bound.
func (p *plugin) Prepare(t *model.Task, n *model.Node) []framework.Write {
	i := slices.IndexFunc(p.reserved, func(r *reservation) bool { return r.task == t && r.node == n })
	if i < 0 {
		return nil
	}
	if p.kube.volumes != nil {
		// After what it writes it waits for what controllers do next. That is the
		// edge's to do: the time it is given for it is none.
		p.kube.volumes.PreBind(p.kube.ctx, p.reserved[i].state, t.Pod, n.Name)
	}
	return append(p.kube.pad.take(), p.kube.devices.writes(t.Pod)...)
}
