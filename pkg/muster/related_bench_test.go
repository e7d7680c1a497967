package muster

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
)

// BenchmarkRelated places 1,000 gangs of 100 pods on 10,000 nodes in ten zones with
// the default configuration and all plugins. There are 20 classes of pods; those of
// one class are spread over zones, of another over nodes, and of a third kept near
// one another in a zone.
func BenchmarkRelated(b *testing.B) {
	placed := 0
	for b.Loop() {
		b.StopTimer()
		e, err := engine.New(conf.Default(), (&guests{}).registry(b.Context()))
		if err != nil {
			b.Fatal(err)
		}
		e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
		for i := range 10_000 {
			e.Apply(engine.NodeSet{Node: intake.Node(benchNode(i))})
		}
		for g := range 1000 {
			name := fmt.Sprintf("g%d", g)
			e.Apply(engine.GangSet{Gang: model.GangSpec{Key: "ml/" + name, UID: name, Queue: "q", Min: 100}})
			for i := range 100 {
				task, _ := intake.Pod(benchPod(name, g%20, i), func(string) bool { return true })
				e.Apply(engine.TaskSet{Task: task})
			}
		}
		b.StartTimer()
		placed += e.Run(time.Unix(1_000_000, 0)).Placed
	}
	if want := 100_000 * b.N; placed != want {
		b.Fatalf("placed %d pods, want %d", placed, want)
	}
	b.ReportMetric(float64(placed)/b.Elapsed().Seconds(), "placements/s")
}

func benchNode(i int) *corev1.Node {
	name := fmt.Sprintf("n%d", i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("z%d", i%10),
	}}}
	n.Status.Allocatable = corev1.ResourceList{
		"cpu": apiresource.MustParse("128"), "memory": apiresource.MustParse("1Ti"), "pods": apiresource.MustParse("110"),
	}
	return n
}

func benchPod(gang string, class, i int) *corev1.Pod {
	name := fmt.Sprintf("%s-%d", gang, i)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ml", UID: types.UID(name),
		Labels:      map[string]string{"gang": gang, "index": fmt.Sprint(i)},
		Annotations: map[string]string{schedulingv1beta1.GroupNameAnnotation: gang},
	}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		"cpu": *apiresource.NewMilliQuantity(int64(4000+class), apiresource.DecimalSI), "memory": apiresource.MustParse("16Gi"),
	}}}}
	mine := &metav1.LabelSelector{MatchLabels: map[string]string{"gang": gang}}
	spread := func(key string) []corev1.TopologySpreadConstraint {
		return []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: mine}}
	}
	switch class {
	case 0:
		p.Spec.TopologySpreadConstraints = spread(corev1.LabelTopologyZone)
	case 1:
		p.Spec.TopologySpreadConstraints = spread(corev1.LabelHostname)
	case 2:
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: mine, TopologyKey: corev1.LabelTopologyZone},
		}}}
	}
	return p
}
