package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	told   int64          // how often it was said anew why it waits
	placed time.Duration  // from when it was made until its minimum had nodes; 0: that was not seen
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

// Span is a stretch of time that [Options.Took] is told of when it ends.
type Span uint8

// Spans of time.
const (
	Cycle     Span = iota // the engine is told what happened, decides, and that is handed out
	Opening               // of a cycle, until the first action
	Beginning             // of a cycle, one plugin's beginning of it, by its name
	Acting                // of a cycle, one action, by its name
	Placing               // a gang, from when its PodGroup was made until its minimum has nodes
	Watched               // a pod, from when it was made until it is seen
	Assumed               // a pod, from when it was made until it has a node
	Bound                 // a pod, from when it was made until the API server took its binding
)

func (s *Scheduler) took(span Span, of string, took time.Duration) {
	if s.options.Took != nil {
		s.options.Took(span, of, took)
	}
}

// GangUse is how a PodGroup stands, for those who count.
type GangUse struct {
	Namespace, Name, Queue string
	Job                    string        // the workload that controls it, else its own name
	Pending                time.Duration // since it was made, while it lacks its minimum; 0: it does not
	Waiting                int32         // tasks without a node, while it waits for a reason
	Told                   int64         // how often it was said anew why it waits
	Placed                 time.Duration // from when it was made until its minimum had nodes; 0: that was not seen
}

// gangs lists how all gangs stand that were told of.
func (s *Scheduler) gangs(now time.Time) []GangUse {
	s.statuses.mu.Lock()
	verdicts := slices.Collect(maps.Values(s.statuses.verdicts))
	s.statuses.mu.Unlock()
	s.groups.Lock()
	defer s.groups.Unlock()
	uses := make([]GangUse, 0, len(verdicts))
	for _, v := range verdicts {
		if pg := s.known[types.UID(v.uid)]; pg != nil && v.status.Phase != "" {
			uses = append(uses, v.use(pg, now))
		}
	}
	return uses
}

// use is how the gang of a PodGroup stands.
func (v *verdict) use(pg *schedulingv1beta1.PodGroup, now time.Time) GangUse {
	u := GangUse{Namespace: pg.Namespace, Name: pg.Name, Queue: pg.Spec.Queue, Job: pg.Name, Told: v.told, Placed: v.placed}
	if owner := metav1.GetControllerOf(pg); owner != nil {
		u.Job = owner.Name
	}
	if p := v.status.Phase; !v.status.Whole && (p == model.Pending || p == model.Inqueue) {
		u.Pending = now.Sub(pg.CreationTimestamp.Time)
	}
	if v.why != nil {
		u.Waiting = v.status.Waiting
	}
	return u
}

// planned adds what a run did about victims.
func (s *Snapshot) planned(r engine.Report) {
	s.Plans += int64(r.Plans)
	if r.Plans > 0 {
		s.Victims = r.Victims
	}
	s.transacted(r.Decisions)
	if len(r.Idle) == 0 {
		return
	}
	idle := maps.Clone(s.Idle) // who scrapes may read the one before
	if idle == nil {
		idle = map[string]float64{}
	}
	for name, seconds := range r.Idle {
		idle[name] += seconds
	}
	s.Idle = idle
}

// transacted counts those for whom others were told to go, each once for each action.
func (s *Snapshot) transacted(decisions []engine.Decision) {
	type transaction struct{ action, by string }
	var seen map[transaction]bool
	for _, d := range decisions {
		d, ok := d.(engine.Evict)
		if !ok {
			continue
		}
		t := transaction{actionOf(d.Why.Code), d.For}
		if seen[t] {
			continue
		}
		if seen == nil { // who scrapes may read the counts of before
			seen, s.Transactions = map[transaction]bool{}, maps.Clone(s.Transactions)
		}
		if seen[t] = true; s.Transactions == nil {
			s.Transactions = map[string]int64{}
		}
		s.Transactions[t.action]++
	}
}

// actionOf is the action that has tasks told to go for a reason.
func actionOf(code reason.Code) string {
	switch code {
	case reason.Reclaimed:
		return "reclaim"
	case reason.Shuffled:
		return "shuffle"
	case reason.Unrepaired:
		return "repair"
	default:
		return "preempt"
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
