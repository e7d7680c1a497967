package main

import (
	"testing"
	"time"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

func TestTheObserverCountsWhatItSaw(t *testing.T) {
	o := &observer{
		pods: map[string]sight{}, groups: map[string]schedulingv1beta1.PodGroupStatus{}, most: map[string]int{},
		changed: make(chan struct{}, 1),
	}
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := func(name, node string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{kubeflowv1.JobNameLabel: "bert"}},
			Spec:       corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase},
		}
	}
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "podgroup-1", OwnerReferences: []metav1.OwnerReference{{Name: "bert", Controller: new(true)}}},
		Status: schedulingv1beta1.PodGroupStatus{
			Phase: schedulingv1beta1.PodGroupPending,
			Conditions: []schedulingv1beta1.PodGroupCondition{{
				Type: schedulingv1beta1.PodGroupUnschedulableType, Status: corev1.ConditionTrue, Message: "no room",
			}},
		},
	}
	steps := []struct {
		name  string
		event watch.Event
		want  gang
	}{
		{"a PodGroup counts for the job that owns it", watch.Event{Type: watch.Added, Object: group}, gang{phase: "Pending", refusal: "no room"}},
		{
			"a pod is made",
			watch.Event{Type: watch.Added, Object: pod("a", "", corev1.PodPending)},
			gang{phase: "Pending", refusal: "no room", made: 1, lastMade: t0.Add(1 * time.Second)},
		},
		{
			"it is bound",
			watch.Event{Type: watch.Modified, Object: pod("a", "n1", corev1.PodPending)},
			gang{phase: "Pending", refusal: "no room", made: 1, bound: 1, mostBound: 1, lastMade: t0.Add(1 * time.Second), lastBound: t0.Add(2 * time.Second)},
		},
		{
			"that it was bound is not forgotten when it goes",
			watch.Event{Type: watch.Deleted, Object: pod("a", "n1", corev1.PodPending)},
			gang{phase: "Pending", refusal: "no room", mostBound: 1},
		},
	}
	for i, s := range steps {
		o.see(s.event, t0.Add(time.Duration(i)*time.Second))
		if got, err := o.gang("bert"); got != s.want || err != nil {
			t.Errorf("%s: got %+v, %v; want %+v", s.name, got, err, s.want)
		}
	}
}

func TestWords(t *testing.T) {
	tests := map[string]struct{ got, want string }{
		"below a second: milliseconds": {seconds(96 * time.Millisecond), "96 ms"},
		"above: one digit":             {seconds(2140 * time.Millisecond), "2.1 s"},
		"long text is broken":          {wrap("needs 16, room for 15", 10), "needs 16,\n    room for\n    15"},
		"short text is not":            {wrap("no room", 10), "no room"},
	}
	for name, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", name, tt.got, tt.want)
		}
	}
}
