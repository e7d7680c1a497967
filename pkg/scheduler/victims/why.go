package victims

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Victim is the tasks that one gang gives.
type Victim struct {
	Rule  framework.Rule
	Gang  *model.Gang
	Tasks []*model.Task
	Whole bool        // it gives all it has
	In    *model.Task // for which it gives, when that is a task of its own; else nil
}

// Why says why the tasks of a victim have to go.
func (v Victim) Why(w *model.World, tiers *framework.Tiers, by *model.Gang) reason.Reason {
	if v.Rule == framework.Swapping {
		return reason.Reason{Code: reason.Swapped, Kind: "Pod", Object: v.In.Name, Need: int64(v.In.TaskSpec.Priority), Have: int64(v.Tasks[0].TaskSpec.Priority)}
	}
	if v.Rule == framework.Reclaiming || by.Priority <= v.Gang.Priority {
		if why, ok := tiers.Pressing(v.Rule, by); ok {
			why.Kind, why.Object, why.Role = "PodGroup", by.Key, by.Queue.Name
			return why
		}
	}
	why := reason.Reason{Code: reason.Preempted, Kind: "PodGroup", Object: by.Key, Value: by.Queue.Name, Need: int64(by.Priority), Have: int64(v.Gang.Priority)}
	if v.Rule == framework.Preempting {
		return why
	}
	why.Code, why.Role = reason.Reclaimed, v.Gang.Queue.Name
	used, part := w.Quota.Used(v.Gang.Queue.ID), tiers.Deserved(v.Gang.Queue)
	to, _ := w.Quota.Siblings(by.Queue.ID, v.Gang.Queue.ID)
	reclaims := tiers.Deserved(w.Queues()[to])
	asks := w.Gives(v.Tasks)
	if owner := entitled(w, tiers, by.Queue, w.Queues()[to], asks); owner != by.Queue {
		why.Field = owner.Name
	}
	for _, d := range asks.Dims() {
		if name := w.Resources.Name(d); reclaims.At(d) > 0 && used.At(d) > part.At(d) && name != resource.Pods {
			short := framework.Shortage(name, name, asks.At(d), used.At(d), part.At(d))
			short.Never = false // it is the owner's part, and no ceiling
			why.Short = append(why.Short, short)
		}
	}
	return why
}

// entitled is the lowest queue, from one up to another above it, that has less than it deserves
// of all that is given and that it deserves anything of; the lowest where there is none.
func entitled(w *model.World, tiers *framework.Tiers, lowest, highest *model.Queue, given resource.Vector) *model.Queue {
	for at := lowest.ID; ; at = w.Quota.Parent(at) {
		used, part := w.Quota.Used(at), tiers.Deserved(w.Queues()[at])
		less, full := false, false
		for _, d := range given.Dims() {
			less = less || used.At(d) < part.At(d)
			full = full || part.At(d) > 0 && used.At(d) >= part.At(d)
		}
		if less && !full {
			return w.Queues()[at]
		}
		if at == highest.ID {
			return lowest
		}
	}
}
