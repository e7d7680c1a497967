// Package podgroup keeps one PodGroup for every gang that a workload needs, and
// ties the workload's pods to it.
package podgroup

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
	"github.com/muster-sh/muster/pkg/workload"
)

// Observed is what there is around one workload.
type Observed struct {
	Workload       apis.Object
	NamespaceQueue string                       // the namespace's own default
	PodGroups      []schedulingv1beta1.PodGroup // of the namespace that the workload controls, whoever made them
	Pods           []corev1.Pod                 // that the workload controls
}

// Step says what must be done so that every gang of a workload has its one
// PodGroup and every pod of it names that.
//
// When the operator itself makes PodGroups, ours stand back: there is exactly
// one, and the operator's pods name it already.
func Step(o Observed, adapter workload.Adapter, ours func(schedulerName string) bool) (outcome.Outcome, error) {
	gangs, err := adapter.Gangs(o.Workload)
	if err != nil {
		return outcome.Outcome{}, err
	}
	own := workload.PodGroupName(string(o.Workload.GetUID()))
	foreign := slices.ContainsFunc(o.PodGroups, func(pg schedulingv1beta1.PodGroup) bool { return pg.Name != own })
	gone := o.Workload.GetDeletionTimestamp() != nil
	switch {
	case gone && len(o.Pods) > 0:
		return outcome.Outcome{}, nil // they are charged to their queue until they are gone
	case gone, foreign, len(gangs) == 0 && !active(o.Pods):
		return outcome.Outcome{Delete: ownGroups(o.PodGroups, own)}, nil
	}
	var out outcome.Outcome
	for _, g := range gangs {
		want := wanted(o, adapter.Kind(), g)
		if !upToDate(o.PodGroups, want) {
			out.Apply = append(out.Apply, want)
			for _, problem := range g.Problems {
				out.Events = append(out.Events, outcome.Event{On: o.Workload, Warning: true, Reason: "InvalidGang", Message: problem})
			}
		}
		for i := range o.Pods {
			if a, untied := tie(&o.Pods[i], g, adapter, ours); untied {
				out.Annotate = append(out.Annotate, a)
			}
		}
	}
	return out, nil
}

// ownGroups is the PodGroup of that name, unless it is going already.
func ownGroups(groups []schedulingv1beta1.PodGroup, own string) (list []apis.Object) {
	for i := range groups {
		if pg := &groups[i]; pg.Name == own && pg.DeletionTimestamp == nil {
			list = append(list, pg)
		}
	}
	return list
}

// active reports whether some pod still runs or may run.
func active(pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
	})
}

// wanted is the PodGroup of a gang.
func wanted(o Observed, kind workload.Kind, g workload.Gang) *schedulingv1beta1.PodGroup {
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Name: g.Name, Namespace: o.Workload.GetNamespace(), Annotations: g.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o.Workload, kind.GroupVersionKind)},
		},
		Spec: schedulingv1beta1.PodGroupSpec{
			MinMember:         g.Min,
			Queue:             cmp.Or(g.Queue, o.NamespaceQueue, schedulingv1beta1.DefaultQueue),
			PriorityClassName: g.PriorityClass,
			NetworkTopology:   g.NetworkTopology,
		},
	}
	if len(g.MinResources) > 0 {
		pg.Spec.MinResources = &g.MinResources
	}
	for _, r := range g.Roles {
		if r.Min == 0 {
			continue
		}
		if pg.Spec.MinTaskMember == nil {
			pg.Spec.MinTaskMember = map[string]int32{}
		}
		pg.Spec.MinTaskMember[r.Name] = r.Min
	}
	return pg
}

// upToDate reports whether a PodGroup says what want says. Annotations of others do not matter.
func upToDate(have []schedulingv1beta1.PodGroup, want *schedulingv1beta1.PodGroup) bool {
	i := slices.IndexFunc(have, func(pg schedulingv1beta1.PodGroup) bool { return pg.Name == want.Name })
	if i < 0 {
		return false
	}
	pg := have[i]
	for key, value := range want.Annotations {
		if pg.Annotations[key] != value {
			return false
		}
	}
	return equality.Semantic.DeepEqual(pg.Spec, want.Spec) && metav1.IsControlledBy(&pg, &metav1.ObjectMeta{UID: want.OwnerReferences[0].UID})
}

// tie names the gang and role on a pod that waits for our scheduler. Pods that
// have a node, or name a group already, are left alone.
func tie(pod *corev1.Pod, g workload.Gang, adapter workload.Adapter, ours func(string) bool) (outcome.Annotation, bool) {
	owner, role, ok := adapter.Member(pod)
	named := pod.Annotations[schedulingv1beta1.GroupNameAnnotation]
	if !ok || workload.PodGroupName(owner) != g.Name || !ours(pod.Spec.SchedulerName) || pod.Spec.NodeName != "" || (named != "" && named != g.Name) {
		return outcome.Annotation{}, false
	}
	want := map[string]string{
		schedulingv1beta1.GroupNameAnnotation:        g.Name,
		schedulingv1beta1.VolcanoGroupNameAnnotation: g.Name,
	}
	if role != "" {
		want[schedulingv1beta1.TaskSpecAnnotation] = role
	}
	maps.DeleteFunc(want, func(key, value string) bool { return pod.Annotations[key] == value })
	return outcome.Annotation{Object: pod, Annotations: want}, len(want) > 0
}
