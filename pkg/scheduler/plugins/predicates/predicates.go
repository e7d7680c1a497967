// Package predicates keeps tasks off nodes whose fixed traits forbid them: node
// selector, required node affinity, taints and cordons. It asks the functions
// that kube-scheduler's own plugins ask. Room is not its concern. What depends on
// other pods, volumes or devices it can't check, and says so instead of placing
// such tasks anywhere; the plugin of the same name in the room relations can.
package predicates

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "predicates"

type plugin struct{ on Switches }

var (
	_ framework.FiltersNodes = plugin{}
	_ framework.JudgesTasks  = plugin{}
)

// New makes the plugin. Its arguments are those of [Read].
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	on, err := Read(args)
	return plugin{on: on}, err
}

func (plugin) Name() string { return Name }

func (plugin) WakesOn() model.Change { return model.NodeChanged }

func (p plugin) FilterNodes(c *model.Class) framework.NodeFilter {
	shape := c.Shape
	affinity := required(shape)
	selects := p.on.NodeAffinity && (len(shape.NodeSelector) > 0 || shape.Affinity != nil)
	return func(n *model.Node) (string, bool) {
		if n.Unschedulable && !tolerates(shape.Tolerations, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
			return "cordoned", false
		}
		for _, t := range n.Taints {
			if p.on.Taints && t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(shape.Tolerations, t) {
				return "untolerated taint " + t.ToString(), false
			}
		}
		if !selects {
			return "", true
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
		if ok, err := affinity.Match(node); err != nil || !ok {
			return "node selector or affinity not matched", false
		}
		return "", true
	}
}

func required(shape model.Shape) nodeaffinity.RequiredNodeAffinity {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: shape.NodeSelector}}
	if shape.Affinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: shape.Affinity}
	}
	return nodeaffinity.GetRequiredNodeAffinity(pod)
}

func tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return schedulinghelpers.TolerationsTolerateTaint(logr.Discard(), tolerations, &taint, true)
}

// Kind is the field of a task that can't be checked here.
func (p plugin) Kind(t *model.Task) string {
	if !t.Shape.Related || t.Pod == nil {
		return ""
	}
	field, _ := p.on.Unchecked(t.Pod)
	return field
}

// Judge refuses.
func (p plugin) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	field, remedy := p.on.Unchecked(t.Pod)
	return nil, reason.Reason{Code: reason.Unsupported, Field: field, Remedy: "this scheduler was built without what checks it; " + remedy}, false
}
