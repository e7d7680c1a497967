// Package predicates keeps tasks off nodes whose fixed traits forbid them: node
// selector, required node affinity, taints and cordons. It asks the functions
// that kube-scheduler's own plugins ask. Room is not its concern.
package predicates

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "predicates"

type plugin struct{}

var _ framework.FiltersNodes = plugin{}

// New makes the plugin.
func New(framework.Args, framework.Env) (framework.Plugin, error) { return plugin{}, nil }

func (plugin) Name() string { return Name }

func (plugin) WakesOn() model.Change { return model.NodeChanged }

func (plugin) FilterNodes(c *model.Class) framework.NodeFilter {
	shape := c.Shape
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: shape.NodeSelector}}
	if shape.Affinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: shape.Affinity}
	}
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	return func(n *model.Node) (string, bool) {
		if n.Unschedulable && !tolerates(shape.Tolerations, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
			return "cordoned", false
		}
		for _, t := range n.Taints {
			if t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(shape.Tolerations, t) {
				return "untolerated taint " + t.ToString(), false
			}
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
		if ok, err := affinity.Match(node); err != nil || !ok {
			return "node selector or affinity not matched", false
		}
		return "", true
	}
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return schedulinghelpers.TolerationsTolerateTaint(logr.Discard(), tolerations, &taint, true)
}
