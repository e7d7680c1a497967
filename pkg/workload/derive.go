package workload

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/muster-sh/muster/apis"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// Part is one role of a workload with the template of its pods.
type Part struct {
	Role     string
	Replicas int32
	Template *corev1.PodTemplateSpec
}

// Policy is what a workload's own scheduling policy says; zero values: nothing.
type Policy struct {
	Min           *int32
	Queue         string
	PriorityClass string
	MinResources  corev1.ResourceList
}

// Derive makes the gang of a workload from its parts, in fill order, and its
// policy. The default minimum is least; what the policy asks for goes before
// everything else.
func Derive(obj apis.Object, parts []Part, policy Policy, least int32) Gang {
	g := Gang{
		Name:          PodGroupName(string(obj.GetUID())),
		Min:           least,
		Queue:         queueOf(obj, parts, policy),
		PriorityClass: priorityOf(parts, policy),
		Annotations:   inherited(obj),
	}
	var sum int64
	for _, p := range parts {
		sum += int64(p.Replicas)
	}
	all := int32(min(sum, math.MaxInt32))
	if policy.Min != nil {
		g.Min = *policy.Min
	}
	switch {
	case sum > math.MaxInt32:
		g.Problems = append(g.Problems, fmt.Sprintf("it asks for %d pods, more than a PodGroup can count; ask for fewer", sum))
		g.Min = all
	case g.Min < 1:
		g.Problems = append(g.Problems, fmt.Sprintf("minAvailable is %d: it must be at least 1; 1 is used", g.Min))
		g.Min = 1
	case g.Min > all:
		g.Problems = append(g.Problems, fmt.Sprintf("minAvailable is %d, but there are only %d pods that Muster schedules; %d is used", g.Min, all, all))
		g.Min = all
	}
	rest := g.Min
	for _, p := range parts {
		take := min(rest, p.Replicas)
		rest -= take
		g.Roles = append(g.Roles, Role{Name: p.Role, Replicas: p.Replicas, Min: take})
	}
	if g.MinResources = policy.MinResources; g.MinResources == nil {
		g.MinResources = minResources(parts, g.Roles)
	}
	g.NetworkTopology, g.Problems = topologyOf(obj, g.Problems)
	return g
}

func minResources(parts []Part, roles []Role) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i, p := range parts {
		if roles[i].Min == 0 {
			continue
		}
		//muster:anyorder a sum per name
		for name, q := range Requests(p.Template) {
			q.Mul(int64(roles[i].Min))
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	return sum
}

// Requests is what one pod of a template asks for, as kubelet will count it. A
// limit stands in for a request that is not there, resource by resource, as the
// API server will do when the pod is made.
func Requests(template *corev1.PodTemplateSpec) corev1.ResourceList {
	spec := template.Spec.DeepCopy()
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			//muster:anyorder a copy from map to map
			for name, q := range r.Limits {
				if _, asked := r.Requests[name]; asked {
					continue
				}
				if r.Requests == nil {
					r.Requests = corev1.ResourceList{}
				}
				r.Requests[name] = q
			}
		}
	}
	requests := resourcehelper.PodRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	maps.DeleteFunc(requests, func(_ corev1.ResourceName, q apiresource.Quantity) bool { return q.IsZero() })
	return requests
}

func queueOf(obj apis.Object, parts []Part, policy Policy) string {
	const volcanoQueue = "volcano.sh/queue-name"
	candidates := []string{
		policy.Queue,
		obj.GetAnnotations()[schedulingv1beta1.QueueNameAnnotation],
		obj.GetLabels()[volcanoQueue],
		obj.GetAnnotations()[volcanoQueue],
	}
	for _, p := range parts {
		candidates = append(candidates, p.Template.Annotations[schedulingv1beta1.QueueNameAnnotation])
	}
	for _, queue := range candidates {
		if queue != "" {
			return queue
		}
	}
	return ""
}

func priorityOf(parts []Part, policy Policy) string {
	if policy.PriorityClass != "" {
		return policy.PriorityClass
	}
	for _, p := range parts {
		if p.Template.Spec.PriorityClassName != "" {
			return p.Template.Spec.PriorityClassName
		}
	}
	return ""
}

// inherited are the annotations that a PodGroup takes over from its workload.
func inherited(obj apis.Object) map[string]string {
	var out map[string]string
	for key, value := range obj.GetAnnotations() {
		if strings.HasPrefix(key, schedulingv1beta1.AnnotationPrefix) {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

func topologyOf(obj apis.Object, problems []string) (*schedulingv1beta1.NetworkTopologySpec, []string) {
	mode := obj.GetAnnotations()[schedulingv1beta1.NetworkTopologyModeAnnotation]
	tier := obj.GetAnnotations()[schedulingv1beta1.NetworkTopologyHighestTierAnnotation]
	if mode == "" && tier == "" {
		return nil, problems
	}
	spec := &schedulingv1beta1.NetworkTopologySpec{Mode: schedulingv1beta1.HardNetworkTopologyMode}
	switch m := schedulingv1beta1.NetworkTopologyMode(mode); m {
	case "":
	case schedulingv1beta1.HardNetworkTopologyMode, schedulingv1beta1.SoftNetworkTopologyMode:
		spec.Mode = m
	default:
		return nil, append(problems, fmt.Sprintf("annotation %s is %q: it must be hard or soft; the topology is ignored", schedulingv1beta1.NetworkTopologyModeAnnotation, mode))
	}
	if tier != "" {
		n, err := strconv.Atoi(tier)
		if err != nil || n < 0 {
			return nil, append(problems, fmt.Sprintf("annotation %s is %q: it must be a whole number of 0 or more; the topology is ignored", schedulingv1beta1.NetworkTopologyHighestTierAnnotation, tier))
		}
		spec.HighestTierAllowed = &n
	}
	return spec, problems
}
