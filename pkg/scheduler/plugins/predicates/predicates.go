// Package predicates keeps tasks off nodes whose fixed traits forbid them: node
// selector, required node affinity, taints and cordons. It asks the functions
// that kube-scheduler's own plugins ask. Room is not its concern. What depends on
// other pods, volumes or devices it can't check, and says so instead of placing
// such tasks anywhere; the plugin of the same name in the room relations can.
package predicates

import (
	"maps"
	"slices"
	"strings"

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
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	on, err := Read(args, env)
	return plugin{on: on}, err
}

func (plugin) Name() string { return Name }

func (plugin) WakesOn() model.Change { return model.NodeChanged }

// FilterNodes names all that keeps a class off a node, so that who lifts it all is let in.
func (p plugin) FilterNodes(c *model.Class) framework.NodeFilter {
	shape := c.Shape
	wants := p.wants(shape)
	return func(n *model.Node) (string, bool) {
		cause := ""
		if n.Unschedulable && !tolerates(shape.Tolerations, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
			cause = "cordoned"
		}
		for _, t := range n.Taints {
			said := n.Unschedulable && t.Key == corev1.TaintNodeUnschedulable
			if p.on.Taints && !said && t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(shape.Tolerations, t) {
				cause = and(cause, "untolerated taint "+t.ToString())
			}
		}
		for i := range wants {
			if !wants[i].holds(n) {
				cause = and(cause, wants[i].missed)
			}
		}
		return cause, cause == ""
	}
}

// want is something that a class asks of a node's labels or name.
type want struct {
	key, value string // of a label; an empty key: affinity counts
	affinity   nodeaffinity.RequiredNodeAffinity
	missed     string // what is said of nodes that do not have it
}

func (w *want) holds(n *model.Node) bool {
	if w.key != "" {
		have, ok := n.Labels[w.key]
		return ok && have == w.value
	}
	ok, err := w.affinity.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})
	return ok && err == nil
}

// wants lists what a shape asks of nodes: labels in order, then its affinity.
func (p plugin) wants(shape model.Shape) []want {
	if !p.on.NodeAffinity {
		return nil
	}
	var wants []want
	for _, key := range slices.Sorted(maps.Keys(shape.NodeSelector)) {
		value := shape.NodeSelector[key]
		wants = append(wants, want{key: key, value: value, missed: "node selector " + key + "=" + value + " not matched"})
	}
	if shape.Affinity != nil && shape.Affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: shape.Affinity}}}
		wants = append(wants, want{
			affinity: nodeaffinity.GetRequiredNodeAffinity(pod),
			missed:   "node affinity " + terms(shape.Affinity.RequiredDuringSchedulingIgnoredDuringExecution) + " not matched",
		})
	}
	return wants
}

// terms writes a node affinity as short as it can be told from others.
func terms(selector *corev1.NodeSelector) string {
	const most = 120 // bytes
	var ways []string
	for _, term := range selector.NodeSelectorTerms {
		var all []string
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			text := r.Key + " " + string(r.Operator)
			if len(r.Values) > 0 {
				text += " " + strings.Join(r.Values, ",")
			}
			all = append(all, text)
		}
		ways = append(ways, strings.Join(all, " and "))
	}
	text := strings.Join(ways, " or ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return "(" + text + ")"
}

// and adds a cause to others.
func and(cause, more string) string {
	if cause == "" {
		return more
	}
	return cause + " and " + more
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
