package job

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// kill is which pods are to go.
type kill uint8

const (
	none       kill = iota
	unfinished      // all that have not finished
	everything      // all of an older version, finished or not
	targets         // those that the action is about
)

// verdict is what becomes of a job.
type verdict struct {
	phase  batchv1alpha1.JobPhase
	kill   kill
	again  bool   // it counts as one more retry
	make   bool   // pods that are missing are to be made
	reason string // a word and a sentence, for a change of phase
	why    string
}

// failedCreate is the reason of a job whose pods can't be made.
const failedCreate = "FailedCreate"

// next is the state machine: what becomes of a job in its phase, with such pods, on an
// action. Without one it goes by its pods alone.
func (s *sight) next(ask action) verdict {
	phase := s.job.Status.State.Phase
	switch phase {
	case "", batchv1alpha1.Pending, batchv1alpha1.Running:
		if v, acts := s.answer(ask); acts {
			return v
		}
		if phase == batchv1alpha1.Running {
			return s.run()
		}
		if s.job.Spec.MinAvailable <= s.count.running+s.count.succeeded+s.count.failed {
			return verdict{phase: batchv1alpha1.Running, make: true, reason: "Started", why: fmt.Sprintf("%d pods run or have finished, %d are needed", s.count.running+s.count.succeeded+s.count.failed, s.job.Spec.MinAvailable)}
		}
		if s.Failed != "" {
			return verdict{phase: batchv1alpha1.Pending, make: true, reason: failedCreate, why: s.Failed}
		}
		if why := s.refused(); why != "" {
			return verdict{phase: batchv1alpha1.Pending, make: true, reason: string(schedulingv1beta1.PodGroupUnschedulableType), why: why}
		}
		return verdict{phase: batchv1alpha1.Pending, make: true, reason: "Pending", why: "its pods are being made and placed"}
	case batchv1alpha1.Restarting:
		return s.restart()
	case batchv1alpha1.Aborting, batchv1alpha1.Aborted:
		if ask.does == busv1alpha1.ResumeJobAction {
			return verdict{phase: batchv1alpha1.Restarting, kill: everything, again: true, reason: ask.reason, why: ask.why}
		}
		return s.end(phase, batchv1alpha1.Aborted)
	case batchv1alpha1.Completing:
		return s.end(phase, batchv1alpha1.Completed)
	case batchv1alpha1.Terminating:
		return s.end(phase, batchv1alpha1.Terminated)
	default: // it has ended for good
		return verdict{phase: phase, kill: unfinished}
	}
}

// answer is what an action makes of a job that is under way; false: nothing.
func (s *sight) answer(ask action) (verdict, bool) {
	v := verdict{reason: ask.reason, why: ask.why}
	switch ask.does {
	case busv1alpha1.RestartJobAction:
		v.phase, v.kill, v.again = batchv1alpha1.Restarting, everything, true
		if s.job.Status.RetryCount+1 >= s.job.Spec.MaxRetry {
			v.kill = unfinished // it won't start again: those that have finished tell why
		}
	case busv1alpha1.RestartTaskAction, busv1alpha1.RestartPodAction, busv1alpha1.RestartPartitionAction:
		v.phase, v.kill, v.again = batchv1alpha1.Restarting, targets, true
	case busv1alpha1.AbortJobAction:
		v.phase, v.kill = batchv1alpha1.Aborting, unfinished
	case busv1alpha1.CompleteJobAction:
		v.phase, v.kill = batchv1alpha1.Completing, unfinished
	case busv1alpha1.TerminateJobAction:
		v.phase, v.kill = batchv1alpha1.Terminating, unfinished
	default:
		return v, false
	}
	return v, true
}

// run is what becomes of a job that runs.
func (s *sight) run() verdict {
	spec, c, all := &s.job.Spec, s.count, s.replicas()
	stays := verdict{phase: batchv1alpha1.Running, make: true}
	switch {
	case all == 0:
		return stays
	case spec.MinSuccess != nil && c.succeeded >= *spec.MinSuccess:
		return verdict{phase: batchv1alpha1.Completed, kill: unfinished, reason: "Succeeded", why: fmt.Sprintf("%d pods succeeded, %d are enough", c.succeeded, *spec.MinSuccess)}
	case c.succeeded+c.failed == all:
		return s.verdictOfAll()
	case c.pending > all-spec.MinAvailable:
		return verdict{phase: batchv1alpha1.Pending, make: true, reason: "Pending", why: fmt.Sprintf("%d of %d pods wait, and %d must run", c.pending, all, spec.MinAvailable)}
	}
	return stays
}

// verdictOfAll is what becomes of a job all of whose pods have finished.
func (s *sight) verdictOfAll() verdict {
	spec, c := &s.job.Spec, s.count
	failed := func(format string, args ...any) verdict {
		return verdict{phase: batchv1alpha1.Failed, kill: unfinished, reason: "Failed", why: fmt.Sprintf(format, args...)}
	}
	var least int32
	for _, t := range s.tasks {
		least += *t.MinAvailable
	}
	if spec.MinAvailable >= least {
		for _, t := range s.tasks {
			if n := t.phases[corev1.PodSucceeded]; n < *t.MinAvailable {
				return failed("all pods have finished, and of task %s %d succeeded, %d are needed", t.Name, n, *t.MinAvailable)
			}
		}
	}
	switch {
	case spec.MinSuccess != nil && c.succeeded < *spec.MinSuccess:
		return failed("all pods have finished, and %d succeeded, minSuccess is %d", c.succeeded, *spec.MinSuccess)
	case c.succeeded < spec.MinAvailable:
		return failed("all pods have finished, and %d succeeded, minAvailable is %d", c.succeeded, spec.MinAvailable)
	}
	return verdict{phase: batchv1alpha1.Completed, kill: unfinished, reason: "Succeeded", why: fmt.Sprintf("all pods have finished, and %d succeeded", c.succeeded)}
}

// restart is what becomes of a job whose pods, or some of them, start again.
func (s *sight) restart() verdict {
	status := &s.job.Status
	switch {
	case status.RetryCount >= s.job.Spec.MaxRetry:
		return verdict{phase: batchv1alpha1.Failed, kill: unfinished, reason: "MaxRetry", why: fmt.Sprintf("it had to start again %d times, maxRetry is %d; the last time since %s", status.RetryCount, s.job.Spec.MaxRetry, status.State.Message)}
	case s.count.terminating > 0:
		return verdict{phase: batchv1alpha1.Restarting, kill: everything}
	}
	return verdict{phase: batchv1alpha1.Pending, make: true, reason: "Restarted", why: "the pods that had to go are gone: " + status.State.Message}
}

// end is what becomes of a job that is on its way to its end.
func (s *sight) end(now, then batchv1alpha1.JobPhase) verdict {
	v := verdict{phase: now, kill: unfinished}
	if now != then && s.count.alive() == 0 {
		v.phase, v.reason, v.why = then, string(then), "all pods that had not finished are gone: "+s.job.Status.State.Message
	}
	return v
}
