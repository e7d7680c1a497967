package pdb_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/pdb"
)

// able is what the plugin can do.
type able interface {
	framework.Learns
	framework.ProtectsTasks
}

func build(t interface{ Fatal(...any) }) able {
	p, err := pdb.New(nil, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := p.(able)
	if !ok {
		t.Fatal("pdb lacks an ability")
	}
	return a
}

func budget(name string, allowed int32, edits ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, Generation: 2},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ObservedGeneration: 2},
	}
	for _, edit := range edits {
		edit(b)
	}
	return b
}

func TestATaskIsProtectedWhileItsBudgetAllowsNothing(t *testing.T) {
	type pdbs = []*policyv1.PodDisruptionBudget
	pod := func(edits ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", Labels: map[string]string{"app": "a"}}}
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	healthy := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	always := func(b *policyv1.PodDisruptionBudget) {
		policy := policyv1.AlwaysAllow
		b.Spec.UnhealthyPodEvictionPolicy = &policy
	}
	selecting := func(s *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
		return func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = s }
	}
	tests := map[string]struct {
		budgets pdbs
		pod     *corev1.Pod
		want    string // the budget that protects it; empty: none
	}{
		"no budget":                             {nil, pod(), ""},
		"a budget that allows nothing":          {pdbs{budget("a", 0)}, pod(), "a"},
		"a budget that allows something":        {pdbs{budget("a", 1)}, pod(), ""},
		"the strictest of several":              {pdbs{budget("a", 1), budget("c", 0), budget("b", 0)}, pod(), "b"},
		"a budget of another namespace":         {pdbs{budget("a", 0)}, pod(func(p *corev1.Pod) { p.Namespace = "web" }), ""},
		"a budget of other pods":                {pdbs{budget("a", 0)}, pod(func(p *corev1.Pod) { p.Labels = nil }), ""},
		"a budget of all pods":                  {pdbs{budget("a", 0, selecting(&metav1.LabelSelector{}))}, pod(), "a"},
		"a budget of no pod":                    {pdbs{budget("a", 0, selecting(nil))}, pod(), ""},
		"a budget whose selector can't be read": {pdbs{budget("a", 0, selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Odd"}}}))}, pod(), "a"},
		"a budget that was just changed":        {pdbs{budget("a", 1, func(b *policyv1.PodDisruptionBudget) { b.Generation = 3 })}, pod(), "a"},
		"a disruption that is allowed for": {pdbs{budget("a", 0, func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptedPods = map[string]metav1.Time{"p": {}}
		})}, pod(), ""},
		"a pod that is not ready, and is no loss": {pdbs{budget("a", 0, always)}, pod(), ""},
		"a pod that is ready":                     {pdbs{budget("a", 0, always)}, pod(healthy), "a"},
		"a pod that is not ready, else":           {pdbs{budget("a", 0)}, pod(), "a"},
		"a task without a pod":                    {pdbs{budget("a", 0)}, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := build(t)
			for _, b := range tt.budgets {
				p.Learn(b, false)
			}
			why, ok := p.Protects(&model.Task{TaskSpec: model.TaskSpec{Pod: tt.pod}}, time.Time{})
			want := ""
			if tt.want != "" {
				want = "PodDisruptionBudget ml/" + tt.want + " allows no disruption now"
			}
			if why != want || ok != (want != "") {
				t.Errorf("protected %v, because %q, want %q", ok, why, want)
			}
		})
	}
}

func TestWhatIsLearnedLastCounts(t *testing.T) {
	names := []string{"a", "b", "c"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", Labels: map[string]string{"app": "a"}}}
	rapid.Check(t, func(t *rapid.T) {
		p := build(t)
		forbids := map[string]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "words") {
			name, allowed := rapid.SampledFrom(names).Draw(t, "name"), rapid.Int32Range(0, 1).Draw(t, "allowed")
			gone := rapid.Bool().Draw(t, "gone")
			p.Learn(budget(name, allowed), gone)
			forbids[name] = !gone && allowed == 0
		}
		p.Learn(pod, false) // other objects are none of its business
		want := forbids["a"] || forbids["b"] || forbids["c"]
		if _, got := p.Protects(&model.Task{TaskSpec: model.TaskSpec{Pod: pod}}, time.Time{}); got != want {
			t.Fatalf("protected %v, want %v", got, want)
		}
	})
}

func TestArgumentsAreUnknown(t *testing.T) {
	if _, err := pdb.New(framework.Args{"strict": true}, framework.Env{}); err == nil {
		t.Error("an argument was accepted")
	}
}
