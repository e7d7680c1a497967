package engine_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/reclaim"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// protecting is a configuration by which gangs take from others, and plugins protect some.
func protecting() engine.Config {
	config := without(conf.Default(), "proportion")
	config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: "capacity"}, {Name: "pdb"}, {Name: "cdp"}})
	config.Actions = append(slices.Clone(config.Actions), preempt.New(), reclaim.New())
	return config
}

// TestWhoIsProtectedIsNobodysVictim has one task in the way of a gang of higher priority, of
// its queue and of another that deserves the room.
func TestWhoIsProtectedIsNobodysVictim(t *testing.T) {
	type change = func(victim, taker *model.TaskSpec)
	tests := map[string]struct {
		change change
		after  time.Duration // since the victim was placed
		want   bool          // it has to go
	}{
		"whom nothing protects": {func(_, _ *model.TaskSpec) {}, time.Hour, true},
		"of kube-system":        {func(v, _ *model.TaskSpec) { v.Name = "kube-system/dns" }, time.Hour, false},
		"the cluster depends on": {func(v, _ *model.TaskSpec) {
			v.Pod.Spec.PriorityClassName = "system-node-critical"
		}, time.Hour, false},
		"of a budget that allows none": {func(v, _ *model.TaskSpec) { v.Pod.Labels = map[string]string{"budget": "none"} }, time.Hour, false},
		"of a budget that allows one":  {func(v, _ *model.TaskSpec) { v.Pod.Labels = map[string]string{"budget": "one"} }, time.Hour, true},
		"within its cooldown":          {func(v, _ *model.TaskSpec) { v.Pod.Annotations = map[string]string{"volcano.sh/cooldown-time": "10m"} }, 9 * time.Minute, false},
		"after its cooldown":           {func(v, _ *model.TaskSpec) { v.Pod.Annotations = map[string]string{"volcano.sh/cooldown-time": "10m"} }, 11 * time.Minute, true},
		"not preemptable":              {func(v, _ *model.TaskSpec) { v.Pod.Annotations = map[string]string{"volcano.sh/preemptable": "false"} }, time.Hour, false},
		"of one that never preempts":   {func(_, by *model.TaskSpec) { by.Pod.Spec.PreemptionPolicy = new(corev1.PreemptNever) }, time.Hour, false},
	}
	for name, tt := range tests {
		for _, from := range []string{"q", "other"} {
			t.Run(name+", in queue "+from, func(t *testing.T) {
				e := withGuest(t, protecting(), nil)
				for name, allowed := range map[string]int32{"none": 0, "one": 1} {
					e.Apply(engine.ObjectSet{Object: &policyv1.PodDisruptionBudget{
						ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name},
						Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"budget": name}}},
						Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
					}})
				}
				victim, taker := task("low", 0, 1, "n0").Task, task("high", 0, 1, "").Task
				victim.Name = "ml/low-0"
				victim.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml"}}
				victim.Pod.Status.Conditions = []corev1.PodCondition{
					{Type: corev1.PodReady, Status: corev1.ConditionTrue},
					{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
				}
				taker.Pod = &corev1.Pod{}
				tt.change(&victim, &taker)
				e.Apply(
					engine.QueueSet{Queue: model.QueueSpec{Name: "q", Deserved: gpus(1)}}, engine.QueueSet{Queue: model.QueueSpec{Name: "other", Reclaimable: true}},
					node(0, 1), gang("low", 1, from), engine.TaskSet{Task: victim},
				)
				e.Run(start)
				high := prioritised("high", 1, 10)
				e.Apply(high, engine.TaskSet{Task: taker})
				evicted := slices.ContainsFunc(e.Run(start.Add(tt.after)).Decisions, func(d engine.Decision) bool {
					_, ok := d.(engine.Evict)
					return ok
				})
				if evicted != tt.want {
					t.Errorf("it has to go: %v, want %v", evicted, tt.want)
				}
			})
		}
	}
}

// TestAGangThatLostAMemberGoesFirstUnderEveryOrder has newcomers that each plugin puts first,
// for the room that the lost member leaves.
func TestAGangThatLostAMemberGoesFirstUnderEveryOrder(t *testing.T) {
	soon := start.Add(time.Minute).Format(time.RFC3339)
	for _, order := range []engine.PluginConfig{
		{Name: "gang"},
		{Name: "priority"},
		{Name: "drf"},
		{Name: "sla", Args: framework.Args{"sla-waiting-time": "1s"}},
		{Name: "slo"},
		{Name: "tdm"},
		{Name: "proportion"},
		{Name: "capacity"},
	} {
		t.Run(order.Name, func(t *testing.T) {
			config := conf.Default()
			config.Tiers = [][]engine.PluginConfig{{order}, {{Name: "predicates"}}}
			e := withGuest(t, config, nil)
			e.Apply(
				engine.QueueSet{Queue: model.QueueSpec{Name: "q", Weight: 1, Deserved: gpus(1)}},
				engine.QueueSet{Queue: model.QueueSpec{Name: "first", Weight: 100, Deserved: gpus(4), Priority: 10}},
				node(0, 3), gang("half", 3, "q"), task("half", 0, 1, "n0"), task("half", 1, 1, "n0"), task("half", 2, 1, "n0"),
			)
			e.Run(start)
			e.Apply(engine.TaskGone{UID: "half/2"})
			for _, queue := range []string{"q", "first"} {
				key := "new-in-" + queue
				e.Apply(engine.GangSet{Gang: model.GangSpec{Key: key, UID: key, Queue: queue, Min: 1, Priority: 100, Created: start.Add(-time.Hour), Annotations: map[string]string{
					"scheduling.volcano.sh/slo-deadline": soon, "scheduling.volcano.sh/slo-running-estimate": "50s",
				}}}, task(key, 0, 1, ""))
			}
			e.Apply(task("half", 3, 1, ""))
			for _, d := range e.Run(start.Add(2 * time.Second)).Decisions {
				if b, ok := d.(engine.Bind); ok && b.Gang != "half" {
					t.Errorf("%s is placed in the room of the gang that lost a member", b.Gang)
				}
			}
			if !e.World.GangOf("half").Whole() {
				t.Error("it is not whole again")
			}
		})
	}
}
