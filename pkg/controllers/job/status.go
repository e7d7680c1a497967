package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

// mostConditions is how many changes of phase a job remembers, the last ones.
const mostConditions = 32

// status is what is to be known of a job after a verdict.
func (s *sight) status(v verdict) batchv1alpha1.JobStatus {
	was := &s.Job.Status
	now := *was.DeepCopy()
	c := s.count
	now.Pending, now.Running, now.Succeeded, now.Failed, now.Unknown, now.Terminating = c.pending, c.running, c.succeeded, c.failed, c.unknown, c.terminating
	now.MinAvailable = s.job.Spec.MinAvailable
	now.TaskStatusCount = map[string]batchv1alpha1.TaskState{}
	for _, t := range s.tasks {
		if len(t.phases) > 0 {
			now.TaskStatusCount[t.Name] = batchv1alpha1.TaskState{Phase: t.phases}
		}
	}
	if v.phase == was.State.Phase && (v.phase.Final() || v.phase == batchv1alpha1.Aborted) {
		keepEnds(was, &now)
	}
	now.ControlledResources = s.controlled()
	if v.again {
		now.RetryCount++
	}
	if v.phase == was.State.Phase {
		s.sayAgain(v, &now.State)
		return now
	}
	if v.kill == everything || v.kill == unfinished {
		now.Version++
	}
	at := metav1.NewTime(s.Now)
	now.State = batchv1alpha1.JobState{Phase: v.phase, Reason: v.reason, Message: v.why, LastTransitionTime: at}
	now.Conditions = append(now.Conditions, batchv1alpha1.JobCondition{Status: v.phase, LastTransitionTime: &at})
	if more := len(now.Conditions) - mostConditions; more > 0 {
		now.Conditions = now.Conditions[more:]
	}
	if v.phase.Final() {
		now.RunningDuration = &metav1.Duration{Duration: s.Now.Sub(s.Job.CreationTimestamp.Time).Truncate(time.Second)}
	}
	return now
}

// sayAgain brings up to date why a job is as it was.
func (s *sight) sayAgain(v verdict, state *batchv1alpha1.JobState) {
	switch {
	case v.phase == batchv1alpha1.Pending:
		state.Reason, state.Message = v.reason, v.why // it may wait for something else by now
	case v.phase == batchv1alpha1.Running && s.Failed != "":
		state.Reason, state.Message = failedCreate, s.Failed
	case state.Reason == failedCreate:
		state.Reason, state.Message = "Created", "its pods could be made again"
	}
}

// keepEnds lets a job that is over say how its pods ended, though some are gone by now.
func keepEnds(was, now *batchv1alpha1.JobStatus) {
	now.Succeeded, now.Failed = max(was.Succeeded, now.Succeeded), max(was.Failed, now.Failed)
	//muster:anyorder each task by itself
	for task, counted := range was.TaskStatusCount {
		for _, end := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
			if n := counted.Phase[end]; n > now.TaskStatusCount[task].Phase[end] {
				if now.TaskStatusCount[task].Phase == nil {
					now.TaskStatusCount[task] = batchv1alpha1.TaskState{Phase: map[corev1.PodPhase]int32{}}
				}
				now.TaskStatusCount[task].Phase[end] = n
			}
		}
	}
}

// controlled names what was made for a job, by what it is.
func (s *sight) controlled() map[string]string {
	made := map[string]string{}
	//muster:anyorder a copy from map to map
	for name := range s.job.Spec.Plugins {
		made["plugin-"+name] = name
	}
	for i := range s.job.Spec.Volumes {
		name := claimName(s.job, i)
		made["volume-pvc-"+name] = name
	}
	if len(made) == 0 {
		return nil
	}
	return made
}
