package job

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
)

// action is what is to be done about a job: what a Command or a policy asks for.
type action struct {
	does    busv1alpha1.Action // empty: nothing
	targets []*corev1.Pod      // that have to go, where it is about some
	reason  string             // the event, or Command
	why     string
}

// decide returns what policies want done about what happened, and when one whose time has
// not come yet will want something; zero: none. Of several, what ends the job goes before
// what starts it again, and that before what starts a part of it again.
func (s *sight) decide() (ask action, next time.Time) {
	rank := func(a busv1alpha1.Action) int { return slices.Index(strongest(), a) }
	ask = s.unfinishedBusiness()
	for _, h := range s.happenings() {
		p := s.policy(h)
		if p == nil || rank(p.Action) < 0 {
			continue
		}
		a := action{does: p.Action, targets: s.targets(p.Action, h), reason: string(h.event), why: h.why}
		// Of a pod that is gone nobody knows since when: that is answered at once.
		if p.Timeout != nil && (h.event != busv1alpha1.PodEvictedEvent || h.pod != nil) {
			if due := h.since.Add(p.Timeout.Duration); s.Now.Before(due) {
				if next.IsZero() || due.Before(next) {
					next = due
				}
				continue
			}
			a.why += fmt.Sprintf(" (timeout %s)", p.Timeout.Duration)
		}
		switch {
		case ask.does == "" || rank(a.does) < rank(ask.does):
			a.targets = slices.Concat(a.targets, ask.targets)
			ask = a
		case len(a.targets) > 0:
			ask.targets = append(ask.targets, a.targets...)
		}
	}
	slices.SortFunc(ask.targets, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	ask.targets = slices.Compact(ask.targets)
	return ask, next
}

// unfinishedBusiness is the action of a controller that told pods to go and died before it
// said so of the job.
func (s *sight) unfinishedBusiness() (ask action) {
	if s.job.Status.State.Phase == batchv1alpha1.Restarting {
		return ask // it said so
	}
	s.all(func(_ *taskSight, pod *corev1.Pod) {
		if pod.Annotations[goingKey] != "" {
			ask.does, ask.reason, ask.why = busv1alpha1.RestartPodAction, string(busv1alpha1.RestartPodAction), fmt.Sprintf("pod %s was told to go", pod.Name)
			ask.targets = append(ask.targets, pod)
		}
	})
	return ask
}

// strongest lists the actions that policies may ask for, those first that go before others.
func strongest() []busv1alpha1.Action {
	return []busv1alpha1.Action{
		busv1alpha1.TerminateJobAction, busv1alpha1.AbortJobAction, busv1alpha1.CompleteJobAction, busv1alpha1.RestartJobAction,
		busv1alpha1.RestartTaskAction, busv1alpha1.RestartPartitionAction, busv1alpha1.RestartPodAction,
	}
}

// policy is the first that answers a happening: of its task, then of the job; nil: none does.
func (s *sight) policy(h happening) *batchv1alpha1.LifecyclePolicy {
	lists := [][]batchv1alpha1.LifecyclePolicy{s.job.Spec.Policies}
	if h.task != nil {
		lists = [][]batchv1alpha1.LifecyclePolicy{h.task.Policies, s.job.Spec.Policies}
	}
	for _, list := range lists {
		for i := range list {
			if answers(&list[i], h) {
				return &list[i]
			}
		}
	}
	return nil
}

func answers(p *batchv1alpha1.LifecyclePolicy, h happening) bool {
	if h.event == busv1alpha1.PodPendingEvent && p.Timeout == nil {
		return false // every pod is pending at first
	}
	if p.ExitCode != nil && slices.Contains(h.codes, *p.ExitCode) {
		return true
	}
	events := append([]busv1alpha1.Event{p.Event}, p.Events...)
	if slices.Contains(events, h.event) {
		return true
	}
	quiet := h.event == busv1alpha1.PodRunningEvent || h.event == busv1alpha1.PodPendingEvent
	return slices.Contains(events, busv1alpha1.AnyEvent) && !quiet
}

// targets are the pods that an action about a part of the job has go.
func (s *sight) targets(does busv1alpha1.Action, h happening) (pods []*corev1.Pod) {
	if h.task == nil {
		return nil
	}
	for i, pod := range h.task.pods {
		if pod == nil || pod.DeletionTimestamp != nil {
			continue
		}
		switch does {
		case busv1alpha1.RestartTaskAction:
		case busv1alpha1.RestartPodAction:
			if pod != h.pod {
				continue
			}
		case busv1alpha1.RestartPartitionAction:
			if partitionOf(h.task.TaskSpec, i) != partitionOf(h.task.TaskSpec, s.index(h)) {
				continue
			}
		default:
			return nil
		}
		pods = append(pods, pod)
	}
	return pods
}

// index is the number of the pod that something happened to; -1: to none.
func (s *sight) index(h happening) int {
	for i := range h.task.pods {
		if batchv1alpha1.PodName(s.job.Name, h.task.Name, i) == h.name {
			return i
		}
	}
	return -1
}

// partitionOf is the part of a task to which a pod belongs by its number; -1: to none.
func partitionOf(t *batchv1alpha1.TaskSpec, index int) int {
	if t.PartitionPolicy == nil || t.PartitionPolicy.PartitionSize <= 0 || index < 0 {
		return -1
	}
	return index / int(t.PartitionPolicy.PartitionSize)
}
