package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// TopologyAnnotations turns what tasks say in taskTopology into the annotations of
// their PodGroup that the scheduler reads; nil when they say nothing. Tasks must have
// their names. Annotations know pairs of tasks, but neither topology keys nor
// weights: lost says, by field, what they can't carry.
func TopologyAnnotations(tasks []TaskSpec) (annotations map[string]string, lost []string) {
	var near, apart pairs
	for i, task := range tasks {
		if topology := task.TaskTopology; topology != nil {
			field := fmt.Sprintf("spec.tasks[%d].taskTopology", i)
			near.read(tasks, i, topology.Affinity, field+".affinity")
			apart.read(tasks, i, topology.AntiAffinity, field+".antiAffinity")
		}
	}
	lost = append(near.lost, apart.lost...)
	if weights := slices.Compact(slices.Sorted(slices.Values(append(near.weights, apart.weights...)))); len(weights) > 1 {
		lost = append(lost, "spec.tasks[*].taskTopology: weights of terms differ, but all terms count alike")
	}
	if len(near.list)+len(apart.list) == 0 {
		return nil, lost
	}
	annotations = map[string]string{}
	if len(near.list) > 0 {
		annotations[schedulingv1beta1.TaskTopologyAffinityAnnotation] = strings.Join(near.list, ";")
	}
	if len(apart.list) > 0 {
		annotations[schedulingv1beta1.TaskTopologyAntiAffinityAnnotation] = strings.Join(apart.list, ";")
	}
	return annotations, lost
}

// pairs gathers terms as an annotation has them: "a,b", or "a" for tasks of one
// name among themselves. The task that stands first in the job comes first, so that
// a pair is there once, whichever of the two speaks of the other.
type pairs struct {
	list    []string
	weights []int32
	lost    []string
}

// read takes over the terms of task number i.
func (p *pairs) read(tasks []TaskSpec, i int, terms *TaskAffinity, field string) {
	if terms == nil {
		return
	}
	for k, term := range terms.Pod {
		a, b := tasks[i].Name, term.Task
		if slices.ContainsFunc(tasks[:i], func(t TaskSpec) bool { return t.Name == b }) {
			a, b = b, a
		}
		pair := a
		if a != b {
			pair += "," + b
		}
		if !slices.Contains(p.list, pair) {
			p.list = append(p.list, pair)
		}
		p.weights = append(p.weights, term.Weight)
		if key := term.TopologyKey; key != "" && key != corev1.LabelHostname {
			p.lost = append(p.lost, fmt.Sprintf("%s.pod[%d].topologyKey is %s: tasks are near when they share a node; name %s", field, k, key, corev1.LabelHostname))
		}
	}
}
