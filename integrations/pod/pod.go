// Package pod makes a gang of one of each pod that nothing controls and that names no
// PodGroup, such as a notebook: it needs no more than our scheduler's name, and a queue if
// it is not to have the default one.
package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/workload"
)

type adapter struct {
	ours func(schedulerName string) bool
}

var _ workload.Adapter = adapter{}

// New makes the adapter for pods that name a scheduler that is ours.
func New(ours func(schedulerName string) bool) workload.Adapter { return adapter{ours} }

func (adapter) Kind() workload.Kind {
	return workload.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Resource: "pods"}
}

func (adapter) New() apis.Object { return &corev1.Pod{} }

// Member says that a pod is its own and only member, unless another controls it or it
// names another group.
func (a adapter) Member(pod *corev1.Pod) (owner, role string, ok bool) {
	owner = string(pod.UID)
	group := pod.Annotations[schedulingv1beta1.GroupNameAnnotation]
	ok = a.ours(pod.Spec.SchedulerName) && metav1.GetControllerOf(pod) == nil && (group == "" || group == workload.PodGroupName(owner))
	return owner, "", ok
}

// Gangs is the pod, until it has ended. One that was bound by hand is nobody's to place.
func (a adapter) Gangs(obj apis.Object) ([]workload.Gang, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%T is no Pod", obj)
	}
	bound := pod.Spec.NodeName != "" && pod.Annotations[schedulingv1beta1.GroupNameAnnotation] == ""
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if _, _, own := a.Member(pod); !own || bound || ended {
		return nil, nil
	}
	alone := workload.Part{Replicas: 1, Template: &corev1.PodTemplateSpec{Spec: pod.Spec}}
	gang := workload.Derive(pod, []workload.Part{alone}, workload.Policy{}, 1)
	gang.Roles = nil
	return []workload.Gang{gang}, nil
}
