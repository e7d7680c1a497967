package live

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

func TestAPodGroupsStatusFollowsTheVerdict(t *testing.T) {
	missing := &reason.Reason{Code: reason.QueueMissing, Object: "q"}
	unschedulable := schedulingv1beta1.PodGroupCondition{
		Type: "Unschedulable", Status: corev1.ConditionTrue, Reason: "QueueMissing",
		Message: `3/4 tasks in gang unschedulable: queue "q" does not exist: create it, or name another in spec.queue`,
	}
	lifted := schedulingv1beta1.PodGroupCondition{Type: "Unschedulable", Status: corev1.ConditionFalse, Reason: "Placed"}
	scheduled := schedulingv1beta1.PodGroupCondition{Type: "Scheduled", Status: corev1.ConditionTrue, Reason: "Placed", Message: "tasks in gang are ready to be scheduled"}
	tests := map[string]struct {
		old  schedulingv1beta1.PodGroupStatus
		said verdict
		want schedulingv1beta1.PodGroupStatus
	}{
		"refused": {
			said: verdict{status: engine.Status{Phase: model.Pending, Held: 1, Min: 4}, why: missing},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Pending", Conditions: []schedulingv1beta1.PodGroupCondition{unschedulable}},
		},
		"placed after a refusal": {
			old:  schedulingv1beta1.PodGroupStatus{Phase: "Pending", Conditions: []schedulingv1beta1.PodGroupCondition{unschedulable}},
			said: verdict{status: engine.Status{Phase: model.Running, Held: 4, Min: 4, Running: 4, Whole: true}},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Running", Running: 4, Conditions: []schedulingv1beta1.PodGroupCondition{scheduled, lifted}},
		},
		"placed at once": {
			said: verdict{status: engine.Status{Phase: model.Inqueue, Held: 4, Min: 4, Whole: true}},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Inqueue", Conditions: []schedulingv1beta1.PodGroupCondition{scheduled}},
		},
		"more than the minimum waits": {
			said: verdict{status: engine.Status{Phase: model.Running, Held: 4, Min: 4, Running: 4, Waiting: 2, Whole: true, Waits: true}, why: missing},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Running", Running: 4, Conditions: []schedulingv1beta1.PodGroupCondition{{
				Type: "Scheduled", Status: corev1.ConditionTrue, Reason: "Placed",
				Message: `tasks in gang are ready to be scheduled; 2 more than the minimum wait: queue "q" does not exist: create it, or name another in spec.queue`,
			}}},
		},
		"a type that somebody wrote twice": {
			old:  schedulingv1beta1.PodGroupStatus{Conditions: []schedulingv1beta1.PodGroupCondition{unschedulable, unschedulable}},
			said: verdict{status: engine.Status{Phase: model.Running, Held: 4, Min: 4, Whole: true}},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Running", Conditions: []schedulingv1beta1.PodGroupCondition{scheduled, lifted}},
		},
		"a deadline that can't be met": {
			said: verdict{status: engine.Status{Phase: model.Inqueue, Min: 4}, unmet: &reason.Reason{Code: reason.DeadlineMissed, Value: "2026-06-01T00:00:00Z"}},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Inqueue", Conditions: []schedulingv1beta1.PodGroupCondition{{
				Type: "SLOUnmet", Status: corev1.ConditionTrue, Reason: "DeadlineMissed", Message: "the deadline 2026-06-01T00:00:00Z has passed, and it is not done",
			}}},
		},
		"a deadline that can be met again": {
			old:  schedulingv1beta1.PodGroupStatus{Conditions: []schedulingv1beta1.PodGroupCondition{{Type: "SLOUnmet", Status: corev1.ConditionTrue}}},
			said: verdict{status: engine.Status{Phase: model.Inqueue, Min: 4}},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Inqueue", Conditions: []schedulingv1beta1.PodGroupCondition{{Type: "SLOUnmet", Status: corev1.ConditionFalse, Reason: "MayBeMet"}}},
		},
		"admitted, its pods are awaited": {
			said: verdict{status: engine.Status{Phase: model.Inqueue, Min: 4}},
			want: schedulingv1beta1.PodGroupStatus{Phase: "Inqueue"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := nextStatus(tt.old, tt.said, time.Unix(1000, 0))
			ignore := cmpopts.IgnoreFields(schedulingv1beta1.PodGroupCondition{}, "LastTransitionTime", "TransitionID")
			if diff := cmp.Diff(tt.want, got, ignore, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAConditionKeepsItsTimeUntilItSaysSomethingElse(t *testing.T) {
	v := verdict{status: engine.Status{Phase: model.Pending, Min: 1}, why: &reason.Reason{Code: reason.QueueMissing, Object: "q"}}
	first := nextStatus(schedulingv1beta1.PodGroupStatus{}, v, time.Unix(1000, 0))
	again := nextStatus(first, v, time.Unix(2000, 0))
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same verdict changed the status:\n%s", diff)
	}
	v.why = &reason.Reason{Code: reason.QueueMissing, Object: "other"}
	if got := nextStatus(first, v, time.Unix(2000, 0)).Conditions[0].LastTransitionTime; got != metav1.NewTime(time.Unix(2000, 0)) {
		t.Errorf("another verdict is dated %v", got)
	}
}

func TestALongMessageIsCutWhole(t *testing.T) {
	v := verdict{status: engine.Status{Phase: model.Pending}, why: &reason.Reason{Code: reason.QueueMissing}}
	for range messageLimit {
		v.why.Object += "ä"
	}
	if got := message(v); len(got) > messageLimit {
		t.Errorf("message of %d bytes", len(got))
	}
}

func TestAQueuesStatusIsWhatTheLedgerSays(t *testing.T) {
	use := engine.QueueUse{
		Name: "q", Known: true, Phases: map[model.Phase]int{model.Running: 2, model.Pending: 1},
		Sums:     []engine.Sum{{Resource: "cpu", Used: 1500, Capability: -1}, {Resource: "memory", Used: 2 << 30, Capability: -1}, {Resource: "nvidia.com/gpu", Used: 8, Set: 4, Capability: 16}},
		Reserved: []string{"n1"},
	}
	got := nextQueueStatus(schedulingv1beta1.QueueStatus{}, use)
	text := map[string]string{}
	for name, q := range got.Allocated {
		text[string(name)] = q.String()
	}
	want := map[string]string{"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": "8"}
	if diff := cmp.Diff(want, text); diff != "" || got.State != "" || got.Running != 2 || got.Pending != 1 {
		t.Errorf("%s\n%+v", diff, got)
	}
	if gpus := got.Reservation.Resource["nvidia.com/gpu"]; gpus.Value() != 4 || len(got.Reservation.Resource) != 1 || !slices.Equal(got.Reservation.Nodes, []string{"n1"}) {
		t.Errorf("what is set aside is %+v", got.Reservation)
	}
	for _, state := range []schedulingv1beta1.QueueState{"", "Open", "Closing", "Closed"} {
		if next := nextQueueStatus(schedulingv1beta1.QueueStatus{State: state}, use); next.State != state {
			t.Errorf("the scheduler made state %q out of %q, which is the queue controller's to write", next.State, state)
		}
	}
}

func TestWhatSomebodyWaitsForIsWrittenAtOnce(t *testing.T) {
	missing, room := &reason.Reason{Code: reason.QueueMissing}, &reason.Reason{Code: reason.NotEnoughNodes}
	status := func(phase model.Phase, running int32, whole bool) engine.Status {
		return engine.Status{Phase: phase, Running: running, Whole: whole}
	}
	tests := map[string]struct {
		before, v verdict
		busy      bool
		want      time.Duration
		held      bool
	}{
		"its pods are to be made now":    {v: verdict{status: status(model.Inqueue, 0, false)}, busy: true},
		"it waits, for whatever reason":  {v: verdict{status: status(model.Pending, 0, false), why: missing}, busy: true},
		"it waits for another reason":    {before: verdict{why: missing}, v: verdict{why: room}},
		"it waits no longer":             {before: verdict{why: missing}, v: verdict{status: status(model.Inqueue, 0, true)}, busy: true},
		"the reason's numbers changed":   {before: verdict{why: missing}, v: verdict{why: missing}, want: refresh},
		"all are placed, none confirmed": {v: verdict{status: status(model.Inqueue, 0, true)}, want: passing},
		"it runs":                        {before: verdict{status: status(model.Inqueue, 0, true)}, v: verdict{status: status(model.Running, 0, true)}},
		"it runs, others are being bound": {
			before: verdict{status: status(model.Inqueue, 0, true)}, v: verdict{status: status(model.Running, 0, true)}, busy: true,
			want: refresh, held: true,
		},
		"one more pod runs": {
			before: verdict{status: status(model.Running, 3, true)}, v: verdict{status: status(model.Running, 4, true)}, want: gather,
		},
		"it is done, others are being bound": {
			before: verdict{status: status(model.Running, 4, true)}, v: verdict{status: status(model.Completed, 0, true)}, busy: true,
		},
		"its deadline can't be met": {
			before: verdict{status: status(model.Running, 4, true)}, v: verdict{status: status(model.Running, 4, true), unmet: missing}, busy: true,
		},
		"it lost a pod": {
			before: verdict{status: status(model.Running, 4, true)}, v: verdict{status: status(model.Unknown, 3, false)}, busy: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, held := due(tt.before, tt.v, tt.busy); got != tt.want || held != tt.held {
				t.Errorf("due in %v, held %v; want %v, %v", got, held, tt.want, tt.held)
			}
		})
	}
}
