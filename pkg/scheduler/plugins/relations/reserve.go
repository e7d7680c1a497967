package relations

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
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

// stands reports whether the task is still where it was reserved for, if it only left
// in a what-if.
func (r *reservation) stands() bool {
	return r.task.On == r.node && (r.task.Placed() || r.task.Bucket == model.Evicted)
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
		case r.task.Bucket == model.Assumed, r.task.Bucket == model.Evicted: // of one that is bound, what was written shows in the objects
			stand = append(stand, r)
		}
	}
	p.reserved = stand
	claims := p.kube.devices.claims
	for _, r := range gone {
		if p.kube.volumes != nil {
			p.kube.volumes.Unreserve(p.kube.ctx, r.state, r.pod, r.node.Name)
		}
		for _, uid := range r.claims {
			if !slices.ContainsFunc(stand, func(o *reservation) bool { return slices.Contains(o.claims, uid) }) {
				claims.forget(uid)
			}
		}
	}
	//muster:anyorder each for itself
	for pod, uid := range claims.special {
		if claims.pending[uid] == nil || p.world.TaskOf(string(pod)) == nil {
			claims.forgetSpecial(pod)
		}
	}
}

// reserve sets aside what a task needs on a node that passed the filters.
func (p *plugin) reserve(state fwk.CycleState, t *model.Task, n *model.Node) {
	claims := p.kube.devices.claims
	r := &reservation{task: t, node: n, pod: t.Pod, state: state}
	p.reserved = append(p.reserved, r)
	claims.signalled = nil
	for _, pt := range p.parts {
		if pt.reserve != nil {
			pt.reserve.Reserve(p.kube.ctx, state, t.Pod, n.Name)
		}
	}
	for _, claim := range claims.of(t.Pod) {
		if claims.pending[claim.UID] != nil {
			r.claims = append(r.claims, claim.UID)
		}
	}
	for _, uid := range claims.signalled {
		if !slices.Contains(r.claims, uid) {
			r.claims = append(r.claims, uid)
			claims.special[t.Pod.UID] = uid
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
	pad, state := p.kube.pad, p.reserved[i].state
	pad.begin(t.Pod)
	if p.kube.volumes != nil {
		// After what it writes it waits for what controllers do next. That is the
		// edge's to do: the time it is given for it is none.
		p.kube.volumes.PreBind(p.kube.ctx, state, t.Pod, n.Name)
	}
	if p.on.Devices {
		fresh := t.Pod.DeepCopy()
		fresh.Status.ExtendedResourceClaimStatus = nil // that of an earlier try
		if s := p.kube.binding.PreBind(p.kube.ctx, state, fresh, n.Name); !s.IsSuccess() {
			panic(s.Message()) // it was reserved a moment ago
		}
	}
	return p.claimed(t, pad.take())
}

// claimed makes the writes of claims say what is meant: of one that has its devices
// already only for whom it is reserved; and one is named that has to get ready for the
// task, though nothing needs to be written.
func (p *plugin) claimed(t *model.Task, writes []framework.Write) []framework.Write {
	named := map[types.UID]bool{}
	for i := range writes {
		claim, ok := writes[i].Object.(*resourcev1.ResourceClaim)
		if !ok {
			continue
		}
		named[claim.UID] = true
		if claim.UID != "" && p.kube.devices.claims.pending[claim.UID] == nil {
			claim = claim.DeepCopy()
			claim.Status.Allocation = nil
			writes[i].Object = claim
		}
	}
	for _, claim := range p.kube.devices.claims.of(t.Pod) {
		if !named[claim.UID] && conditional(claim) {
			claim = claim.DeepCopy()
			claim.Status.Allocation = nil
			writes = append(writes, framework.Write{Object: claim, Status: true})
		}
	}
	return writes
}

// conditional reports whether any device of a claim has to get ready before a pod may be bound.
func conditional(c *resourcev1.ResourceClaim) bool {
	return c.Status.Allocation != nil && slices.ContainsFunc(c.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
		return len(r.BindingConditions) > 0
	})
}

// Undo tells what claims are to be given up for tasks that wait, as kube-scheduler does
// when no node would do: their devices are elsewhere, or did not get ready.
func (p *plugin) Undo() []framework.Undo {
	var undo []framework.Undo
	settled := map[*model.Task]bool{}
	for _, j := range p.judges {
		settled[j.task] = settled[j.task] || j.fitted
	}
	for _, j := range p.judges {
		if !j.denied || settled[j.task] || j.task.Bucket != model.Waiting || p.world.TaskOf(j.task.UID) != j.task {
			continue
		}
		settled[j.task] = true
		if writes := p.giveUp(j); len(writes) > 0 {
			undo = append(undo, framework.Undo{Task: j.task, Writes: writes})
		}
	}
	p.judges = nil
	return undo
}

// giveUp asks kube-scheduler's plugins what to give up for a task that no node would do for.
func (p *plugin) giveUp(j *judge) []framework.Write {
	p.kube.pad.begin(j.task.Pod)
	for _, pt := range j.active {
		if post, ok := pt.PreFilterPlugin.(fwk.PostFilterPlugin); ok {
			post.PostFilter(p.kube.ctx, j.state, j.task.Pod, nil)
		}
	}
	return slices.DeleteFunc(p.kube.pad.take(), func(w framework.Write) bool {
		claim, ok := w.Object.(*resourcev1.ResourceClaim)
		return !ok || p.kube.devices.claims.pending[claim.UID] != nil // somebody is about to use it
	})
}
