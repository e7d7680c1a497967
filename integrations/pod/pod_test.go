package pod_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/integrations/pod"
	"github.com/muster-sh/muster/pkg/workload"
)

func TestAPodIsAGangOfOneWhenItIsNobodyElses(t *testing.T) {
	alone := workload.Gang{
		Name: "podgroup-u", Queue: "research", PriorityClass: "high", Min: 1,
		MinResources: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")},
		Annotations:  map[string]string{"volcano.sh/preemptable": "false"},
	}
	tests := map[string]struct {
		edit   func(*corev1.Pod)
		want   []workload.Gang
		member bool // though it needs no gang
	}{
		"it names our scheduler and a queue": {func(*corev1.Pod) {}, []workload.Gang{alone}, false},
		"it is tied already":                 {func(p *corev1.Pod) { p.Annotations["scheduling.k8s.io/group-name"] = "podgroup-u" }, []workload.Gang{alone}, false},
		"it runs":                            {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, []workload.Gang{alone}, false},
		"it names a PodGroup":                {func(p *corev1.Pod) { p.Annotations["scheduling.k8s.io/group-name"] = "g" }, nil, false},
		"another scheduler's":                {func(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" }, nil, false},
		"a job controls it":                  {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = new(true) }, nil, false},
		"it was bound by hand":               {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, nil, true},
		"it has done its work":               {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, nil, true},
		"it failed":                          {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, nil, true},
	}
	a := pod.New(func(name string) bool { return name == "volcano" })
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "ml", Name: "notebook", UID: "u", OwnerReferences: []metav1.OwnerReference{{Kind: "Notebook", UID: "o"}},
					Annotations: map[string]string{"scheduling.volcano.sh/queue-name": "research", "volcano.sh/preemptable": "false"},
				},
				Spec: corev1.PodSpec{
					SchedulerName: "volcano", PriorityClassName: "high",
					Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}}}},
				},
			}
			tt.edit(p)
			gangs, err := a.Gangs(p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, gangs); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if owner, role, member := a.Member(p); member != (tt.want != nil || tt.member) || owner != "u" || role != "" {
				t.Errorf("it is member of %q as %q: %v", owner, role, member)
			}
		})
	}
	if _, err := a.Gangs(&corev1.Service{}); err == nil {
		t.Error("a Service is taken for a pod")
	}
}
