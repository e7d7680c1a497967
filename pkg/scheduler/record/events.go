package record

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// name is the type of an event or decision, without its package.
func name(v any) string {
	if _, ok := v.(written); ok {
		return "ObjectSet"
	}
	text := fmt.Sprintf("%T", v)
	return text[strings.LastIndexByte(text, '.')+1:]
}

// event reads an event back.
func event(t tagged) (engine.Event, error) {
	switch t.Type {
	case "NodeSet":
		return read[engine.NodeSet](t)
	case "NodeGone":
		return read[engine.NodeGone](t)
	case "QueueSet":
		return read[engine.QueueSet](t)
	case "QueueGone":
		return read[engine.QueueGone](t)
	case "GangSet":
		return read[engine.GangSet](t)
	case "GangGone":
		return read[engine.GangGone](t)
	case "TaskSet":
		return read[engine.TaskSet](t)
	case "TaskGone":
		return read[engine.TaskGone](t)
	case "BindRefused":
		return read[engine.BindRefused](t)
	case "BindFailed":
		return read[engine.BindFailed](t)
	case "EvictFailed":
		return read[engine.EvictFailed](t)
	case "ObjectSet":
		return readObject(t)
	default:
		return nil, fmt.Errorf("event %q is unknown: the recording is of a newer version", t.Type)
	}
}

func read[E engine.Event](t tagged) (engine.Event, error) {
	var e E
	if err := json.Unmarshal(t.Value, &e); err != nil {
		return nil, fmt.Errorf("event %s: %w", t.Type, err)
	}
	return e, nil
}

// cut returns an event with no more of pods and nodes than decisions depend on:
// no environment, commands or annotations of others, which may hold secrets.
func cut(ev engine.Event) engine.Event {
	switch ev := ev.(type) {
	case engine.NodeSet:
		if n := ev.Node.Object; n != nil {
			ev.Node.Object = &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, UID: n.UID},
				Spec:       corev1.NodeSpec{Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable},
				Status:     corev1.NodeStatus{Allocatable: n.Status.Allocatable, Images: n.Status.Images},
			}
		}
		return ev
	case engine.TaskSet:
		if p := ev.Task.Pod; p != nil {
			ev.Task.Pod = cutPod(p, ev.Task.Shape.Related)
		}
		return ev
	case engine.ObjectSet:
		return taggedObject(ev)
	default:
		return ev
	}
}

func cutPod(p *corev1.Pod, related bool) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: p.Name, Namespace: p.Namespace, UID: p.UID, Labels: p.Labels, OwnerReferences: p.OwnerReferences,
		CreationTimestamp: p.CreationTimestamp,
	}}
	out.Spec.NodeName, out.Spec.Priority = p.Spec.NodeName, p.Spec.Priority
	keepForVictims(out, p)
	if !related {
		return out
	}
	out.Spec.Affinity, out.Spec.NodeSelector, out.Spec.Tolerations = p.Spec.Affinity, p.Spec.NodeSelector, p.Spec.Tolerations
	out.Spec.TopologySpreadConstraints, out.Spec.Volumes = p.Spec.TopologySpreadConstraints, p.Spec.Volumes
	out.Spec.ResourceClaims, out.Status.ResourceClaimStatuses = p.Spec.ResourceClaims, p.Status.ResourceClaimStatuses
	for _, c := range p.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name, Ports: c.Ports, Resources: c.Resources})
	}
	for _, c := range p.Spec.InitContainers {
		out.Spec.InitContainers = append(out.Spec.InitContainers, corev1.Container{
			Name: c.Name, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy,
		})
	}
	return out
}

// keepForVictims copies what decides whether a pod may be a victim and how long it takes to go.
func keepForVictims(out, p *corev1.Pod) {
	//muster:anyorder a copy
	for key, value := range p.Annotations {
		if strings.HasPrefix(key, "volcano.sh/") {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			out.Annotations[key] = value
		}
	}
	out.Spec.PriorityClassName, out.Spec.PreemptionPolicy = p.Spec.PriorityClassName, p.Spec.PreemptionPolicy
	out.Spec.TerminationGracePeriodSeconds = p.Spec.TerminationGracePeriodSeconds
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled || c.Type == corev1.PodReady {
			out.Status.Conditions = append(out.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
	}
}
