package predicates_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
)

func affinity(operator corev1.NodeSelectorOperator, values ...string) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: operator, Values: values}}}},
	}}
}

func TestANodeIsFilteredByItsTraits(t *testing.T) {
	gpu := model.Node{Name: "n", Labels: map[string]string{"pool": "gpu", "cores": "64"}}
	with := func(edit func(*model.Node)) model.Node {
		n := gpu
		edit(&n)
		return n
	}
	dedicated := with(func(n *model.Node) {
		n.Taints = []corev1.Taint{{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule}}
	})
	cordoned := with(func(n *model.Node) { n.Unschedulable = true })
	tests := map[string]struct {
		shape model.Shape
		node  model.Node
		want  string // the cause; empty: it fits
	}{
		"nothing asked for":                  {model.Shape{}, gpu, ""},
		"a selector that matches":            {model.Shape{NodeSelector: map[string]string{"pool": "gpu"}}, gpu, ""},
		"a selector that does not":           {model.Shape{NodeSelector: map[string]string{"pool": "cpu"}}, gpu, "node selector or affinity not matched"},
		"an affinity that matches":           {model.Shape{Affinity: affinity(corev1.NodeSelectorOpIn, "a", "gpu")}, gpu, ""},
		"an affinity that does not":          {model.Shape{Affinity: affinity(corev1.NodeSelectorOpNotIn, "gpu")}, gpu, "node selector or affinity not matched"},
		"an affinity that can't be read":     {model.Shape{Affinity: affinity("Odd")}, gpu, "node selector or affinity not matched"},
		"a cordoned node":                    {model.Shape{}, cordoned, "cordoned"},
		"a cordon that is tolerated":         {model.Shape{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}, cordoned, ""},
		"a taint":                            {model.Shape{}, dedicated, "untolerated taint dedicated=ml:NoSchedule"},
		"a taint that is tolerated":          {model.Shape{Tolerations: []corev1.Toleration{{Key: "dedicated", Value: "ml"}}}, dedicated, ""},
		"a taint of another value tolerated": {model.Shape{Tolerations: []corev1.Toleration{{Key: "dedicated", Value: "web"}}}, dedicated, "untolerated taint dedicated=ml:NoSchedule"},
		"a taint that only asks": {model.Shape{}, with(func(n *model.Node) {
			n.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
		}), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := predicates.New(nil, framework.Env{})
			if err != nil {
				t.Fatal(err)
			}
			filters, ok := p.(framework.FiltersNodes)
			if !ok {
				t.Fatal("predicates filters no nodes")
			}
			cause, fits := filters.FilterNodes(&model.Class{Shape: tt.shape})(&tt.node)
			if cause != tt.want || fits != (tt.want == "") {
				t.Errorf("cause %q fits %v, want %q", cause, fits, tt.want)
			}
		})
	}
}
