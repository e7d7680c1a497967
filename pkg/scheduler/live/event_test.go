package live

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAPodIsToldOncePerCause(t *testing.T) {
	said := func(status corev1.ConditionStatus, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}, {Type: corev1.PodScheduled, Status: status, Message: message}}
		}
	}
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"one that nothing was said to":        {func(*corev1.Pod) {}, true},
		"one that was told of the cause":      {said(corev1.ConditionFalse, "NeverFits: needs 4"), false},
		"one that was told of another cause":  {said(corev1.ConditionFalse, "QueueMissing: it does not exist"), true},
		"one that was told in others' words":  {said(corev1.ConditionFalse, "0/3 nodes are available"), true},
		"one that has a node":                 {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, false},
		"one that goes":                       {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false},
		"one behind a gate":                   {func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }, false},
		"one that ended before it had a node": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}}
			tt.change(p)
			if got := toBeTold(p, "NeverFits: "); got != tt.want {
				t.Errorf("told: %v, want %v", got, tt.want)
			}
		})
	}
}
