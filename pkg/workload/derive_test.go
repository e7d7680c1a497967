package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/workload"
)

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func TestRequestsAreWhatKubeletCounts(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	tests := map[string]struct {
		spec corev1.PodSpec
		want corev1.ResourceList
	}{
		"limits stand in for missing requests, one by one": {
			corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: list("cpu", "2"), Limits: list("cpu", "4", "nvidia.com/gpu", "8"),
			}}}},
			list("cpu", "2", "nvidia.com/gpu", "8"),
		},
		"an init container counts when it is the largest": {
			corev1.PodSpec{
				InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu", "3")}}},
				Containers:     []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu", "2")}}},
			},
			list("cpu", "3"),
		},
		"a sidecar counts beside the containers": {
			corev1.PodSpec{
				InitContainers: []corev1.Container{{RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: list("cpu", "3")}}},
				Containers:     []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu", "2")}}},
			},
			list("cpu", "5"),
		},
		"overhead comes on top": {
			corev1.PodSpec{Overhead: list("cpu", "1"), Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu", "2")}}}},
			list("cpu", "3"),
		},
		"nothing asked for": {corev1.PodSpec{Containers: []corev1.Container{{}}}, list()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := workload.Requests(&corev1.PodTemplateSpec{Spec: tt.spec})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTopologyComesFromAnnotations(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		want        *schedulingv1beta1.NetworkTopologySpec
		problems    int
	}{
		"none":              {nil, nil, 0},
		"hard by default":   {map[string]string{"volcano.sh/network-topology-highest-tier": "2"}, &schedulingv1beta1.NetworkTopologySpec{Mode: "hard", HighestTierAllowed: new(2)}, 0},
		"soft":              {map[string]string{"volcano.sh/network-topology-mode": "soft"}, &schedulingv1beta1.NetworkTopologySpec{Mode: "soft"}, 0},
		"an unknown mode":   {map[string]string{"volcano.sh/network-topology-mode": "x"}, nil, 1},
		"a tier below zero": {map[string]string{"volcano.sh/network-topology-highest-tier": "-1"}, nil, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			obj := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotations}}
			g := workload.Derive(obj, []workload.Part{{Role: "r", Replicas: 1, Template: &corev1.PodTemplateSpec{}}}, workload.Policy{}, 1)
			if diff := cmp.Diff(tt.want, g.NetworkTopology); diff != "" || len(g.Problems) != tt.problems {
				t.Errorf("%s problems %q, want %d", diff, g.Problems, tt.problems)
			}
		})
	}
}
