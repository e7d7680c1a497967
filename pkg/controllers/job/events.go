package job

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// happening is something that happened to a pod, a task or the job and that a policy may
// answer. It is seen from what there is, so that nothing is missed while nobody looks.
type happening struct {
	event busv1alpha1.Event
	task  *taskSight  // nil: of the job
	pod   *corev1.Pod // nil: of no pod that is there
	name  string      // of the pod; empty: of none
	codes []int32     // with which its containers ended, those that failed
	since time.Time
	why   string // what happened, as a sentence goes on after "since"
}

// happenings lists what happened, in the order of tasks and pods.
func (s *sight) happenings() []happening {
	var list []happening
	for i := range s.tasks {
		t := &s.tasks[i]
		list = append(list, s.evicted(t)...)
		for _, pod := range t.pods {
			if pod != nil && !s.goes(pod) && !s.stale(pod) {
				list = append(list, ofPod(t, pod)...)
			}
		}
		list = append(list, ofTask(t)...)
	}
	if pg := s.group(); pg != nil && pg.Status.Phase == schedulingv1beta1.PodGroupUnknown {
		list = append(list, happening{event: busv1alpha1.JobUnknownEvent, since: s.Now, why: "its gang lost a part of its minimum"})
	}
	return list
}

// ofPod is what happened to one pod of a task.
func ofPod(t *taskSight, pod *corev1.Pod) []happening {
	h := happening{task: t, pod: pod, name: pod.Name, since: since(pod)}
	switch pod.Status.Phase {
	case corev1.PodFailed:
		h.event, h.codes = busv1alpha1.PodFailedEvent, exitCodes(pod)
		h.why = fmt.Sprintf("pod %s failed%s", pod.Name, told(pod, h.codes))
		if !disrupted(pod) {
			return []happening{h}
		}
		evicted := h
		evicted.event, evicted.why = busv1alpha1.PodEvictedEvent, fmt.Sprintf("pod %s was evicted%s", pod.Name, told(pod, nil))
		return []happening{evicted, h}
	case corev1.PodRunning:
		h.event, h.why = busv1alpha1.PodRunningEvent, fmt.Sprintf("pod %s runs", pod.Name)
		return []happening{h}
	case corev1.PodPending, "":
		h.event, h.since = busv1alpha1.PodPendingEvent, pod.CreationTimestamp.Time
		h.why = fmt.Sprintf("pod %s is still pending", pod.Name)
		return []happening{h}
	default:
		return nil
	}
}

// ofTask is what happened to a task as a whole.
func ofTask(t *taskSight) []happening {
	var restarts, done int32
	last := time.Time{}
	for _, pod := range t.pods {
		if pod == nil {
			continue
		}
		if pod.Status.Phase == corev1.PodSucceeded {
			done++
			if at := since(pod); at.After(last) {
				last = at
			}
		}
		if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending {
			for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
				restarts += c.RestartCount
			}
		}
	}
	switch {
	case t.Replicas > 0 && done == t.Replicas:
		return []happening{{event: busv1alpha1.TaskCompletedEvent, task: t, since: last, why: fmt.Sprintf("all %d pods of task %s succeeded", done, t.Name)}}
	case restarts >= t.MaxRetry:
		return []happening{{event: busv1alpha1.TaskFailedEvent, task: t, since: last, why: fmt.Sprintf("containers of task %s started again %d times, its maxRetry is %d", t.Name, restarts, t.MaxRetry)}}
	}
	return nil
}

// evicted is the pods of a task that went though the job did not have them go: fewer are
// there than were counted when its status was last written.
func (s *sight) evicted(t *taskSight) []happening {
	var counted, there int32
	//muster:anyorder sums
	for _, n := range s.Job.Status.TaskStatusCount[t.Name].Phase {
		counted += n
	}
	//muster:anyorder sums
	for _, n := range t.phases {
		there += n
	}
	missing := min(counted, t.Replicas) - there
	var list []happening
	for i, pod := range t.pods {
		if missing <= 0 {
			break
		}
		if pod != nil && (pod.DeletionTimestamp == nil || pod.Annotations[goingKey] != "") {
			continue
		}
		h := happening{event: busv1alpha1.PodEvictedEvent, task: t, name: batchv1alpha1.PodName(s.job.Name, t.Name, i), since: s.Now}
		if pod == nil && s.Made[h.name] {
			continue
		}
		h.why = fmt.Sprintf("pod %s was evicted or deleted", h.name)
		list = append(list, h)
		missing--
	}
	return list
}

// since is when a pod came to be as it is, as far as it says.
func since(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		switch {
		case c.State.Terminated != nil && c.State.Terminated.FinishedAt.After(at):
			at = c.State.Terminated.FinishedAt.Time
		case c.State.Running != nil && c.State.Running.StartedAt.After(at):
			at = c.State.Running.StartedAt.Time
		}
	}
	return at
}

// exitCodes are those of all containers that failed, each once.
func exitCodes(pod *corev1.Pod) (codes []int32) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 && !slices.Contains(codes, end.ExitCode) {
			codes = append(codes, end.ExitCode)
		}
	}
	return codes
}

// disrupted reports whether a pod failed because somebody had it go.
func disrupted(pod *corev1.Pod) bool {
	return pod.Status.Reason == "Evicted" || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// told is what a pod says of its end, in brackets.
func told(pod *corev1.Pod, codes []int32) string {
	switch {
	case len(codes) == 1:
		return fmt.Sprintf(" (exit code %d)", codes[0])
	case len(codes) > 1:
		return fmt.Sprintf(" (exit codes %v)", codes)
	case pod.Status.Reason != "":
		return fmt.Sprintf(" (%s)", pod.Status.Reason)
	default:
		return ""
	}
}
