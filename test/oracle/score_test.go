package oracle_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	muster "github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

// handle is as much of kube-scheduler as its scores by requests ask for.
type handle struct{ fwk.Handle }

func (handle) SharedDRAManager() fwk.SharedDRAManager { return nil }

// scorers returns kube-scheduler's scores by requests, by the argument that weighs them with us.
func scorers(t *rapid.T) map[string]fwk.ScorePlugin {
	specs := func(names ...string) (list []config.ResourceSpec) {
		for _, name := range names {
			list = append(list, config.ResourceSpec{Name: name, Weight: 1})
		}
		return list
	}
	fit := func(by config.ScoringStrategyType) (fwk.Plugin, error) {
		return noderesources.NewFit(t.Context(), &config.NodeResourcesFitArgs{
			ScoringStrategy: &config.ScoringStrategy{Type: by, Resources: specs("cpu", "memory")},
		}, handle{}, feature.Features{})
	}
	least, err := fit(config.LeastAllocated)
	if err != nil {
		t.Fatal(err)
	}
	most, err := fit(config.MostAllocated)
	if err != nil {
		t.Fatal(err)
	}
	balanced, err := noderesources.NewBalancedAllocation(t.Context(), &config.NodeResourcesBalancedAllocationArgs{
		Resources: specs("cpu", "memory", "nvidia.com/gpu"),
	}, handle{}, feature.Features{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]fwk.ScorePlugin{}
	for weight, p := range map[string]fwk.Plugin{"leastrequested.weight": least, "mostrequested.weight": most, "balancedresource.weight": balanced} {
		scores, ok := p.(fwk.ScorePlugin)
		if !ok {
			t.Fatalf("%s scores nothing", p.Name())
		}
		all[weight] = scores
	}
	return all
}

// TestScoresByRequestsAreKubeSchedulers compares to a point: theirs are cut to whole points, at every step.
func TestScoresByRequestsAreKubeSchedulers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := func(label string, cpu, memory, gpus int64) corev1.ResourceList {
			return corev1.ResourceList{
				"cpu":            *resource.NewMilliQuantity(rapid.Int64Range(100, cpu).Draw(t, label+" cpu"), resource.DecimalSI),
				"memory":         *resource.NewQuantity(rapid.Int64Range(1<<20, memory).Draw(t, label+" memory"), resource.BinarySI),
				"nvidia.com/gpu": *resource.NewQuantity(rapid.Int64Range(0, gpus).Draw(t, label+" gpus"), resource.DecimalSI),
			}
		}
		pod := func(name string, requests corev1.ResourceList) *corev1.Pod {
			p := &corev1.Pod{}
			p.Name, p.Namespace, p.UID = name, "default", types.UID(name)
			p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
			return p
		}
		node := &corev1.Node{}
		node.Name = "n"
		node.Status.Allocatable = amount("node", 96_000, 1<<40, 8)
		node.Status.Allocatable["pods"] = resource.MustParse("110")
		there, next := pod("there", amount("there", 64_000, 1<<39, 4)), pod("next", amount("next", 64_000, 1<<39, 4))
		there.Spec.NodeName = "n"
		next.Spec.SchedulerName = "volcano"
		info := framework.NewNodeInfo(there)
		info.SetNode(node)

		w := model.New()
		w.SetNode(intake.Node(node))
		for _, p := range []*corev1.Pod{there, next} {
			spec, ok := intake.Pod(p, func(name string) bool { return name == "volcano" })
			if !ok {
				t.Fatal("a pod is not taken in")
			}
			w.SetTask(spec)
		}
		for weight, scorer := range scorers(t) {
			want, status := scorer.Score(t.Context(), framework.NewCycleState(), next, info)
			if !status.IsSuccess() {
				t.Fatal(status)
			}
			args := muster.Args{"leastrequested.weight": 0, "balancedresource.weight": 0}
			args[weight] = 1
			p, err := plugins.Builtin().Build("nodeorder", args, muster.Env{Dim: w.Resources.Dim})
			if err != nil {
				t.Fatal(err)
			}
			scores, ok := p.(muster.ScoresNodes)
			if !ok {
				t.Fatal("nodeorder scores no nodes")
			}
			got := scores.ScoreNode(w.TaskOf(string(next.UID)).Class, w.NodeNamed("n"))
			if got < (want-1)*muster.Point || got > (want+2)*muster.Point {
				t.Errorf("%s: %d hundredths of a point, kube-scheduler gives %d points", weight, got/100, want)
			}
		}
	})
}
