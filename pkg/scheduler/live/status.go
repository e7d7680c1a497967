package live

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// verdict is the last that the engine said of one gang.
type verdict struct {
	uid    string
	status engine.Status
	why    *reason.Reason // nil: it does not wait
	unmet  *reason.Reason // nil: it may get all that it was promised
	// written is the status as the server had it when it was last written, at that
	// version; nil when it was not.
	written *schedulingv1beta1.PodGroupStatus
	version string
}

// latest puts the status that was written into a PodGroup from the cache, unless the
// cache has seen that, or what others wrote since.
func (v *verdict) latest(pg *schedulingv1beta1.PodGroup) {
	if v.written != nil && newer(v.version, pg.ResourceVersion) {
		pg.Status, pg.ResourceVersion = *v.written, v.version
	}
}

// A status costs the API server more than a binding, so not each is written at once.
const (
	// refresh is how long a status may lag that nobody waits for: a reason to
	// wait of which only the numbers changed, as on a busy cluster they do with
	// every pod that ends and for all who wait; that a gang runs, while others'
	// bindings are to be written.
	refresh = 5 * time.Second
	// passing is how long it may lag that a gang has all its nodes, which is
	// passed over when its bindings are confirmed before.
	passing = 30 * time.Second
	// gather is how long counts of tasks are gathered while they change.
	gather = 500 * time.Millisecond
)

// due says in how long a verdict is to be written that took the place of
// another. Held means: earlier, when no binding waits any more.
func due(before, v verdict, busy bool) (wait time.Duration, held bool) {
	if before.unmet != v.unmet {
		return 0, false
	}
	same := before.status.Phase == v.status.Phase && before.status.Whole == v.status.Whole
	switch {
	case before.why != nil && v.why != nil:
		if before.status == v.status && before.why.Code == v.why.Code {
			return refresh, false
		}
	case before.why != nil || v.why != nil || !v.status.Whole:
	case v.status.Phase == model.Inqueue:
		return passing, false
	case v.status.Phase == model.Running && busy:
		return refresh, true
	case same:
		return gather, false
	}
	return 0, false
}

// messageLimit bounds a condition's message, in bytes.
const messageLimit = 1024

// nextStatus returns what a PodGroup's status should be after v. Conditions are
// one per type, so they stay few however long a gang lives.
func nextStatus(old schedulingv1beta1.PodGroupStatus, v verdict, now time.Time) schedulingv1beta1.PodGroupStatus {
	next := *old.DeepCopy()
	if v.status.Phase != "" {
		next.Phase = schedulingv1beta1.PodGroupPhase(v.status.Phase)
		next.Running, next.Succeeded, next.Failed = v.status.Running, v.status.Succeeded, v.status.Failed
	}
	switch {
	case v.why != nil && !v.status.Whole:
		setCondition(&next, condition(schedulingv1beta1.PodGroupUnschedulableType, corev1.ConditionTrue, string(v.why.Code), message(v)), now)
		setCondition(&next, condition(schedulingv1beta1.PodGroupScheduled, corev1.ConditionFalse, string(v.why.Code), ""), now)
	case v.status.Whole:
		ready := "tasks in gang are ready to be scheduled"
		if v.why != nil {
			ready += "; " + message(v)
		}
		setCondition(&next, condition(schedulingv1beta1.PodGroupScheduled, corev1.ConditionTrue, "Placed", ready), now)
		setCondition(&next, condition(schedulingv1beta1.PodGroupUnschedulableType, corev1.ConditionFalse, "Placed", ""), now)
	case v.status.Phase != "":
		setCondition(&next, condition(schedulingv1beta1.PodGroupUnschedulableType, corev1.ConditionFalse, "Admitted", ""), now)
	}
	if v.unmet != nil {
		setCondition(&next, condition(schedulingv1beta1.PodGroupUnmet, corev1.ConditionTrue, string(v.unmet.Code), v.unmet.String()), now)
	} else {
		setCondition(&next, condition(schedulingv1beta1.PodGroupUnmet, corev1.ConditionFalse, "MayBeMet", ""), now)
	}
	return next
}

// message says how many wait, and why.
func message(v verdict) string {
	text := v.why.String()
	switch {
	case v.status.Whole:
		text = fmt.Sprintf("%d more than the minimum wait: %s", v.status.Waiting, text)
	case v.status.Min > 0:
		text = fmt.Sprintf("%d/%d tasks in gang unschedulable: %s", v.status.Min-v.status.Held, v.status.Min, text)
	}
	if len(text) > messageLimit {
		text = text[:messageLimit-3] + "..."
	}
	return text
}

func condition(kind schedulingv1beta1.PodGroupConditionType, status corev1.ConditionStatus, why, text string) schedulingv1beta1.PodGroupCondition {
	return schedulingv1beta1.PodGroupCondition{Type: kind, Status: status, Reason: why, Message: text}
}

// firstOfType drops conditions whose type came before: somebody else wrote them.
func firstOfType(conditions []schedulingv1beta1.PodGroupCondition) []schedulingv1beta1.PodGroupCondition {
	seen := map[schedulingv1beta1.PodGroupConditionType]bool{}
	return slices.DeleteFunc(conditions, func(c schedulingv1beta1.PodGroupCondition) bool {
		twice := seen[c.Type]
		seen[c.Type] = true
		return twice
	})
}

// setCondition puts c in place of the condition of its type, unless they say the
// same. A condition that says no is not written where there was none.
func setCondition(s *schedulingv1beta1.PodGroupStatus, c schedulingv1beta1.PodGroupCondition, now time.Time) {
	s.Conditions = firstOfType(s.Conditions)
	i := slices.IndexFunc(s.Conditions, func(o schedulingv1beta1.PodGroupCondition) bool { return o.Type == c.Type })
	if i < 0 && c.Status == corev1.ConditionFalse {
		return
	}
	c.LastTransitionTime = metav1.NewTime(now)
	c.TransitionID = fmt.Sprintf("%x", now.UnixNano())
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		slices.SortFunc(s.Conditions, func(a, b schedulingv1beta1.PodGroupCondition) int { return cmp.Compare(a.Type, b.Type) })
		return
	}
	if old := s.Conditions[i]; old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
		return
	}
	s.Conditions[i] = c
}
