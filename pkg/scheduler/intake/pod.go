package intake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
)

// Pod reads a pod. Ours says whether a scheduler name is one we answer to. It
// reports false for pods that concern nobody: those of other schedulers that
// take no room.
func Pod(p *corev1.Pod, ours func(schedulerName string) bool) (model.TaskSpec, bool) {
	t := model.TaskSpec{
		UID:       string(p.UID),
		Name:      p.Namespace + "/" + p.Name,
		Role:      role(p),
		Node:      p.Spec.NodeName,
		Nominated: p.Status.NominatedNodeName,
		Gated:     len(p.Spec.SchedulingGates) > 0,
		Ours:      ours(p.Spec.SchedulerName),
		Running:   p.Status.Phase == corev1.PodRunning,
		Deleting:  p.DeletionTimestamp != nil,
		Pod:       p,
		Claims:    claims(p),
	}
	t.QueueGated = len(p.Spec.SchedulingGates) == 1 && p.Spec.SchedulingGates[0].Name == schedulingv1beta1.QueueAllocationGate
	if !t.Ours && t.Node == "" {
		return model.TaskSpec{}, false
	}
	if t.Ours {
		t.Gang = GangOf(p)
	}
	if p.Status.StartTime != nil {
		t.Started = p.Status.StartTime.Time
	}
	t.Priority = priority(p)
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		t.Ended = model.Succeeded
	case corev1.PodFailed:
		t.Ended = model.Failed
	}
	if t.Ended != model.NotEnded {
		t.Finished = finished(p)
	}
	t.Shape = shape(p)
	return t, true
}

// highestOfUsers is the highest priority that the API server gives to anybody's pods but
// the cluster's own.
const highestOfUsers = 1_000_000_000

// priority is what a pod says of itself, no higher than anybody may, else that of its class.
func priority(p *corev1.Pod) int32 {
	if n, err := strconv.ParseInt(p.Annotations[schedulingv1beta1.TaskPriorityAnnotation], 10, 32); err == nil {
		return min(int32(n), highestOfUsers)
	}
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// finished is when the last container of a pod ended; zero when that is not known.
func finished(p *corev1.Pod) (last time.Time) {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil && c.State.Terminated.FinishedAt.After(last) {
			last = c.State.Terminated.FinishedAt.Time
		}
	}
	return last
}

// GangOf is the key of the PodGroup that a pod names; empty when it names none.
func GangOf(p *corev1.Pod) string {
	if name := group(p); name != "" {
		return p.Namespace + "/" + name
	}
	return ""
}

// claims lists a pod's claims for devices. One that is yet to be made by a template
// has a name of the pod's own until then; one that turned out not to be needed is left out.
func claims(p *corev1.Pod) *model.Claims {
	var refs []model.ClaimRef
	for _, c := range p.Spec.ResourceClaims {
		var ref model.ClaimRef
		if c.ResourceClaimTemplateName != nil {
			ref.Template = p.Namespace + "/" + *c.ResourceClaimTemplateName
		}
		i := slices.IndexFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name })
		switch {
		case c.ResourceClaimName != nil:
			ref.Key = p.Namespace + "/" + *c.ResourceClaimName
		case i < 0:
			ref.Key = "pod/" + string(p.UID) + "/" + c.Name
		case p.Status.ResourceClaimStatuses[i].ResourceClaimName != nil:
			ref.Key = p.Namespace + "/" + *p.Status.ResourceClaimStatuses[i].ResourceClaimName
		default:
			continue
		}
		if !slices.ContainsFunc(refs, func(r model.ClaimRef) bool { return r.Key == ref.Key }) {
			refs = append(refs, ref)
		}
	}
	if refs == nil {
		return nil
	}
	return &model.Claims{Refs: refs}
}

func group(p *corev1.Pod) string {
	if name := p.Annotations[schedulingv1beta1.GroupNameAnnotation]; name != "" {
		return name
	}
	return p.Annotations[schedulingv1beta1.VolcanoGroupNameAnnotation]
}

func role(p *corev1.Pod) string {
	if r := p.Annotations[schedulingv1beta1.TaskSpecAnnotation]; r != "" {
		return r
	}
	return p.Labels[schedulingv1beta1.TaskSpecAnnotation]
}

// shape reads what decides where a pod may run. Requests are what kubelet
// counts: init and sidecar containers, overhead and resizes included.
func shape(p *corev1.Pod) model.Shape {
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{UseStatusResources: true})
	requests[corev1.ResourcePods] = apiresource.MustParse("1")
	s := model.Shape{
		Requests:     model.Resources(requests),
		NodeSelector: p.Spec.NodeSelector,
		Tolerations:  p.Spec.Tolerations,
		Related:      related(p),
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		s.Affinity = a.NodeAffinity
	}
	for _, c := range p.Spec.Containers {
		s.Images = append(s.Images, c.Image)
	}
	for _, key := range []string{
		schedulingv1beta1.ResourceStrategyScoringTypeAnnotation, schedulingv1beta1.ResourceStrategyWeightAnnotation,
	} {
		if value, ok := p.Annotations[key]; ok {
			s.Hints = withHint(s.Hints, key, value)
		}
	}
	for _, key := range []string{schedulingv1beta1.PreemptableAnnotation, schedulingv1beta1.RevocableZoneAnnotation} {
		value, ok := p.Annotations[key]
		if !ok {
			value, ok = p.Labels[key]
		}
		if ok {
			s.Hints = withHint(s.Hints, key, value)
		}
	}
	s.Key = key(s)
	return s
}

// key is equal for equal shapes: JSON writes maps in order of their keys.
func key(s model.Shape) string {
	text, err := json.Marshal([]any{s.Requests, s.NodeSelector, s.Affinity, s.Tolerations, s.Images, s.Hints, s.Related})
	if err != nil {
		return fmt.Sprintf("%+v", s)
	}
	return string(text)
}

func withHint(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// related reports whether where a pod may run depends on more than itself and the node.
func related(p *corev1.Pod) bool {
	if a := p.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return true
	}
	if len(p.Spec.TopologySpreadConstraints)+len(p.Spec.ResourceClaims) > 0 {
		return true
	}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return true
		}
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				return true
			}
		}
	}
	return false
}
