package relations

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// rates is what the plugin nodeorder can do without looking at other pods.
type rates interface {
	framework.Plugin
	framework.ScoresNodes
	framework.RatesNodes
}

// order is the plugin nodeorder that also looks at other pods: at preferred
// affinity and anti-affinity, and at spread that is only asked for.
type order struct {
	rates
	near, even int64 // weights of affinity and of spread
	mirror     mirror
	namespaces map[string]labels.Set
	kinds      map[string]kindOf // by UID of the pod
}

// kindOf is the kind that was worked out for a pod.
type kindOf struct {
	pod  *corev1.Pod
	kind string
}

var (
	_ framework.JudgesTasks = &order{}
	_ framework.Begins      = &order{}
	_ framework.Learns      = &order{}
)

// NodeOrder adds preferences about other pods to the plugin nodeorder, which static
// makes. Of its arguments it reads podaffinity.weight (2), podtopologyspread.weight
// (2) and plugin.weight (1), a factor on both; static says what is wrong with them.
func NodeOrder(static framework.New) framework.New {
	return func(args framework.Args, env framework.Env) (framework.Plugin, error) {
		p, err := static(args, env)
		if err != nil {
			return nil, err
		}
		s, ok := p.(rates)
		if !ok {
			return nil, errors.New("the plugin rates no nodes that preferences could be added to")
		}
		r := args.Read()
		whole := r.Int("plugin.weight", 1, 0)
		return &order{
			rates: s, near: whole * r.Int("podaffinity.weight", 2, 0), even: whole * r.Int("podtopologyspread.weight", 2, 0),
			namespaces: map[string]labels.Set{}, kinds: map[string]kindOf{},
		}, nil
	}
}

// WakesOn is nothing: preferences refuse nobody.
func (*order) WakesOn() model.Change { return 0 }

// Begin takes the world to be looked at.
func (o *order) Begin(w *model.World, _ time.Time) {
	o.mirror.begin(w)
	if len(o.kinds) > most {
		clear(o.kinds)
	}
}

// Learn keeps the labels of namespaces.
func (o *order) Learn(object runtime.Object, gone bool) {
	ns, ok := object.(*corev1.Namespace)
	switch {
	case !ok:
	case gone:
		delete(o.namespaces, ns.Name)
	default:
		o.namespaces[ns.Name] = ns.Labels
	}
}

// Kind is empty for a task without preferences about other pods. What only others
// prefer about it is not looked at.
func (o *order) Kind(t *model.Task) string {
	if !t.Shape.Related || t.Pod == nil {
		return ""
	}
	if k, ok := o.kinds[t.UID]; ok && k.pod == t.Pod {
		return k.kind
	}
	kind := o.kind(t.Pod)
	o.kinds[t.UID] = kindOf{t.Pod, kind}
	return kind
}

func (o *order) kind(p *corev1.Pod) string {
	var ask struct {
		Near   []corev1.WeightedPodAffinityTerm  `json:",omitempty"`
		Apart  []corev1.WeightedPodAffinityTerm  `json:",omitempty"`
		Spread []corev1.TopologySpreadConstraint `json:",omitempty"`
	}
	if a := p.Spec.Affinity; a != nil && o.near > 0 {
		if a.PodAffinity != nil {
			ask.Near = a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
		if a.PodAntiAffinity != nil {
			ask.Apart = a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
	}
	if o.even > 0 {
		ask.Spread = spreads(p, corev1.ScheduleAnyway)
	}
	text, err := json.Marshal(ask)
	if err != nil || string(text) == "{}" {
		return ""
	}
	keys := map[string]bool{}
	for _, t := range slices.Concat(ask.Near, ask.Apart) {
		note(keys, t.PodAffinityTerm.LabelSelector, t.PodAffinityTerm.MatchLabelKeys, t.PodAffinityTerm.MismatchLabelKeys)
	}
	for _, c := range ask.Spread {
		note(keys, c.LabelSelector, c.MatchLabelKeys)
	}
	kind := []string{p.Namespace, string(text)}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		kind = append(kind, key, p.Labels[key])
	}
	return strings.Join(kind, "\x00")
}

// spreads lists a pod's constraints of spread that must hold, or those that are only asked for.
func spreads(p *corev1.Pod, when corev1.UnsatisfiableConstraintAction) []corev1.TopologySpreadConstraint {
	return slices.DeleteFunc(slices.Clone(p.Spec.TopologySpreadConstraints), func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable != when
	})
}

// Judge counts whom a task would like to be near to, or apart from.
func (o *order) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	o.mirror.follow()
	o.mirror.noting = true
	return newPreference(o, t.Pod), reason.Reason{}, true
}
