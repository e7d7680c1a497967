package intake

import (
	"cmp"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
)

// Queue reads a queue. Only root stands at the top; whoever names no parent stands below it.
func Queue(q *schedulingv1beta1.Queue) model.QueueSpec {
	spec := model.QueueSpec{
		Name:        q.Name,
		Parent:      q.Spec.Parent,
		Weight:      q.Spec.Weight,
		Priority:    q.Spec.Priority,
		Guarantee:   model.Resources(q.Spec.Guarantee.All()),
		Deserved:    model.Resources(q.Spec.Deserved),
		Capability:  model.Resources(q.Spec.Capability),
		Strict:      q.Spec.DequeueStrategy == schedulingv1beta1.DequeueStrategyFIFO,
		Reclaimable: q.Spec.Reclaimable == nil || *q.Spec.Reclaimable,
		Groups:      nodeGroups(q.Spec.Affinity),
	}
	spec.Annotations, spec.Unread = hints(q.Annotations)
	if spec.Parent == "" && q.Name != schedulingv1beta1.RootQueue {
		spec.Parent = schedulingv1beta1.RootQueue
	}
	if s := q.Status.State; s == schedulingv1beta1.QueueStateClosed || s == schedulingv1beta1.QueueStateClosing {
		spec.Closed = string(s)
	}
	spec.Problem = cmp.Or(
		negative("Queue", q.Name, "spec.capability", spec.Capability),
		negative("Queue", q.Name, "spec.deserved", spec.Deserved),
		negative("Queue", q.Name, "spec.guarantee", spec.Guarantee),
	)
	return spec
}

func nodeGroups(a *schedulingv1beta1.Affinity) model.NodeGroups {
	var groups model.NodeGroups
	if a == nil {
		return groups
	}
	if to := a.NodeGroupAffinity; to != nil {
		groups.Required = to.RequiredDuringSchedulingIgnoredDuringExecution
		groups.Preferred = to.PreferredDuringSchedulingIgnoredDuringExecution
	}
	if off := a.NodeGroupAntiAffinity; off != nil {
		groups.AntiRequired = off.RequiredDuringSchedulingIgnoredDuringExecution
		groups.AntiPreferred = off.PreferredDuringSchedulingIgnoredDuringExecution
	}
	return groups
}
