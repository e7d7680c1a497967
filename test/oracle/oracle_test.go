// Package oracle_test holds Muster's filters against kube-scheduler's own
// plugins: for one pod and one node, both must say the same.
package oracle_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

// theirs returns the name of the first plugin of kube-scheduler that keeps pod off node; empty: none does.
func theirs(t *rapid.T, pod *corev1.Pod, node *corev1.Node, others []*corev1.Pod) string {
	fts := feature.Features{EnableTaintTolerationComparisonOperators: true, EnablePodLevelResources: true}
	info := framework.NewNodeInfo(others...)
	info.SetNode(node)
	var all []fwk.Plugin
	for _, made := range []func() (fwk.Plugin, error){
		func() (fwk.Plugin, error) { return nodeunschedulable.New(t.Context(), nil, nil, fts) },
		func() (fwk.Plugin, error) { return tainttoleration.New(t.Context(), nil, nil, fts) },
		func() (fwk.Plugin, error) {
			return nodeaffinity.New(t.Context(), &config.NodeAffinityArgs{}, nil, fts)
		},
	} {
		p, err := made()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		filter, ok := p.(fwk.FilterPlugin)
		if !ok {
			t.Fatalf("%s filters nothing", p.Name())
		}
		if status := filter.Filter(t.Context(), framework.NewCycleState(), pod, info); !status.IsSuccess() {
			return p.Name()
		}
	}
	if len(noderesources.Fits(pod, info, nil, noderesources.ResourceRequestsOptions{EnablePodLevelResources: true})) > 0 {
		return "NodeResourcesFit"
	}
	return ""
}

// ours returns why Muster does not place pod on node; empty: it does.
func ours(t *rapid.T, pod *corev1.Pod, node *corev1.Node, others []*corev1.Pod) string {
	e, err := engine.New(conf.Default(), plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	e.Apply(
		engine.NodeSet{Node: intake.Node(node)},
		engine.QueueSet{Queue: model.QueueSpec{Name: "default"}},
		engine.GangSet{Gang: model.GangSpec{Key: "ns/g", UID: "g", Queue: "default", Min: 1}},
	)
	answer := func(name string) bool { return name == "volcano" }
	for _, p := range slices.Concat(others, []*corev1.Pod{pod}) {
		task, concerns := intake.Pod(p, answer)
		if !concerns {
			t.Fatalf("pod %s concerns nobody", p.Name)
		}
		e.Apply(engine.TaskSet{Task: task})
	}
	if e.Run(metav1.Now().Time).Placed == 1 {
		return ""
	}
	why, _ := e.Explain("ns/g")
	return why.String()
}

func quantity(unit string) *rapid.Generator[resource.Quantity] {
	return rapid.Custom(func(t *rapid.T) resource.Quantity {
		return resource.MustParse(fmt.Sprintf("%d%s", rapid.IntRange(0, 6).Draw(t, "amount"), unit))
	})
}

func resources(t *rapid.T) corev1.ResourceList {
	l := corev1.ResourceList{}
	for _, r := range []struct{ name, unit string }{{"cpu", "00m"}, {"memory", "Mi"}, {"nvidia.com/gpu", ""}} {
		if q := quantity(r.unit).Draw(t, r.name); !q.IsZero() {
			l[corev1.ResourceName(r.name)] = q
		}
	}
	return l
}

func container(t *rapid.T) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: resources(t)}}
}

func word(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"a", "b", "1", "2"}).Draw(t, label)
}

func drawPod(t *rapid.T, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)}}
	p.Spec.Containers = []corev1.Container{container(t)}
	if rapid.Bool().Draw(t, "init") {
		init := container(t)
		if rapid.Bool().Draw(t, "sidecar") {
			init.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = []corev1.Container{init}
	}
	if rapid.Bool().Draw(t, "overhead") {
		p.Spec.Overhead = resources(t)
	}
	return p
}

func draw(t *rapid.T) (pod *corev1.Pod, node *corev1.Node, others []*corev1.Pod) {
	pod = drawPod(t, "p")
	pod.Spec.SchedulerName = "volcano"
	pod.Annotations = map[string]string{"scheduling.k8s.io/group-name": "g"}
	if rapid.Bool().Draw(t, "selector") {
		pod.Spec.NodeSelector = map[string]string{"k": word(t, "selected")}
	}
	if rapid.Bool().Draw(t, "affinity") {
		operator := rapid.SampledFrom([]corev1.NodeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}).Draw(t, "operator")
		var values []string
		if operator != "Exists" && operator != "DoesNotExist" {
			values = []string{word(t, "value")}
		}
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: operator, Values: values}}}},
		}}}
	}
	if rapid.Bool().Draw(t, "tolerates") {
		pod.Spec.Tolerations = []corev1.Toleration{{
			Key: rapid.SampledFrom([]string{"t", "node.kubernetes.io/unschedulable"}).Draw(t, "key"), Value: word(t, "tolerated"),
			Operator: rapid.SampledFrom([]corev1.TolerationOperator{"", "Equal", "Exists"}).Draw(t, "how"),
			Effect:   rapid.SampledFrom([]corev1.TaintEffect{"", "NoSchedule", "NoExecute"}).Draw(t, "effect"),
		}}
	}
	room := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("10Mi"), "nvidia.com/gpu": resource.MustParse("8"), "pods": resource.MustParse("2")}
	node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Allocatable: room, Capacity: room}}
	node.Spec.Unschedulable = rapid.IntRange(0, 4).Draw(t, "cordoned") == 0
	if rapid.Bool().Draw(t, "labelled") {
		node.Labels = map[string]string{"k": word(t, "label")}
	}
	if rapid.Bool().Draw(t, "tainted") {
		node.Spec.Taints = []corev1.Taint{{Key: "t", Value: word(t, "taint"), Effect: rapid.SampledFrom([]corev1.TaintEffect{"NoSchedule", "PreferNoSchedule", "NoExecute"}).Draw(t, "taint effect")}}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "others") {
		other := drawPod(t, fmt.Sprintf("other-%d", i))
		other.Spec.NodeName = "n"
		others = append(others, other)
	}
	return pod, node, others
}

func TestWePlaceAPodExactlyWhereKubeSchedulerWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 50 {
			pod, node, others := draw(t)
			they, we := theirs(t, pod, node, others), ours(t, pod, node, others)
			if (they == "") != (we == "") {
				t.Fatalf("kube-scheduler refuses by %q, we by %q", they, we)
			}
		}
	})
}
