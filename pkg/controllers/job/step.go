// Package job brings jobs (vcjobs) about: it makes their PodGroup, claims and pods, answers
// what happens to them by policies and Commands, and says in their status how far they are.
// What becomes of a job is decided here from what there is, so that nothing depends on who
// watched; who schedules the pods is not its business.
package job

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin"
	"github.com/muster-sh/muster/pkg/outcome"
)

// Step says what must be done about a job, and when it must be looked at again though
// nothing changes; zero: never.
func Step(o Observed) (out outcome.Outcome, next time.Time, err error) {
	if o.Job.DeletionTimestamp != nil {
		return out, next, nil // what it controls goes with it
	}
	s := look(o)
	ask, next := s.decide()
	if c := oldest(o.Commands); c != nil {
		why, ok := s.obey(c, &ask)
		out.Delete = append(out.Delete, c)
		out.Events = append(out.Events, outcome.Event{On: o.Job, Warning: !ok, Reason: string(busv1alpha1.CommandIssuedEvent), Message: why})
	}
	v := s.next(ask)
	patch, err := outcome.Difference(o.Job.Status, s.status(v))
	if err != nil {
		return out, next, err
	}
	if len(patch) > 0 {
		out.Patch = append(out.Patch, outcome.Patch{Object: o.Job, Status: patch})
	}
	if s.moves(v) && v.why != "" {
		warning := v.phase == batchv1alpha1.Failed || v.phase == batchv1alpha1.Restarting
		out.Events = append(out.Events, outcome.Event{On: o.Job, Warning: warning, Reason: string(v.phase), Message: v.why})
	}
	s.adopt(&out)
	s.dismiss(v, ask, &out)
	if v.phase.Final() || v.phase == batchv1alpha1.Aborted {
		return out, s.clear(v, &out, next), nil
	}
	return out, next, s.bring(v, &out)
}

// bring makes what the job needs and does not have: its PodGroup, its claims and its pods.
func (s *sight) bring(v verdict, out *outcome.Outcome) error {
	if want := s.gang(); !says(s.group(), want) {
		out.Apply = append(out.Apply, want)
	}
	claims, absent := s.claims()
	out.Apply = append(out.Apply, claims...)
	switch {
	case !v.make || len(claims) > 0:
		return nil
	case absent != "":
		why := fmt.Sprintf("its pods wait for volume claims that do not exist: %s; create them, or give volumeClaim in place of volumeClaimName", absent)
		out.Events = append(out.Events, outcome.Event{On: s.Job, Warning: true, Reason: "ClaimMissing", Message: why})
		return nil
	}
	return s.makePods(out)
}

// clear takes away what a job that runs nothing any more does not need, and itself when its
// time is over. It returns when that will be.
func (s *sight) clear(v verdict, out *outcome.Outcome, next time.Time) time.Time {
	if pg := s.group(); pg != nil && s.count.alive() == 0 {
		out.Delete = append(out.Delete, pg)
	}
	ttl := s.job.Spec.TTLSecondsAfterFinished
	if ttl == nil || !v.phase.Final() {
		return next
	}
	since := s.job.Status.State.LastTransitionTime.Time
	if s.moves(v) {
		since = s.Now
	}
	at := since.Add(time.Duration(*ttl) * time.Second)
	if !s.moves(v) && !s.Now.Before(at) {
		out.Delete = append(out.Delete, s.Job)
		return time.Time{}
	}
	return at
}

// makePods makes the pods that are missing, wired, and what they need besides: anew as well
// when some are too many, since those that stay know of them.
func (s *sight) makePods(out *outcome.Outcome) error {
	pods, err := s.missing()
	if err != nil {
		return err
	}
	surplus := slices.ContainsFunc(s.tasks, func(t taskSight) bool { return len(t.surplus) > 0 })
	if len(pods) == 0 && !surplus && !s.Lost {
		return nil
	}
	for _, plugin := range s.Plugins {
		objects, err := plugin.Objects(s.job)
		if err != nil {
			return fmt.Errorf("job %s: %w", s.job.Name, err)
		}
		for _, obj := range objects {
			obj.SetOwnerReferences(ownerOf(s.job))
			out.Apply = append(out.Apply, obj)
		}
		once, has := plugin.(jobplugin.MakesOnce)
		if !has || len(s.Pods) > 0 && len(pods) == 0 {
			continue // who runs has them; who comes needs them, should they be lost
		}
		if objects, err = once.Once(s.job); err != nil {
			return fmt.Errorf("job %s: %w", s.job.Name, err)
		}
		for _, obj := range objects {
			obj.SetOwnerReferences(ownerOf(s.job))
			out.Create = append(out.Create, obj)
		}
	}
	for _, pod := range pods {
		out.Create = append(out.Create, pod)
	}
	return nil
}

// adopt takes pods under control that the job made and that nothing controls any more.
func (s *sight) adopt(out *outcome.Outcome) {
	for i := range s.Pods {
		if pod := &s.Pods[i]; metav1.GetControllerOf(pod) == nil && pod.DeletionTimestamp == nil {
			refs := map[string]any{"ownerReferences": append(pod.OwnerReferences, ownerOf(s.job)...)}
			out.Patch = append(out.Patch, outcome.Patch{Object: pod, Fields: map[string]any{"metadata": refs}})
		}
	}
}

// dismiss has the pods go that a verdict is about, and those that are too many.
func (s *sight) dismiss(v verdict, ask action, out *outcome.Outcome) {
	marked := map[*corev1.Pod]bool{}
	if v.kill == targets {
		for _, pod := range ask.targets {
			marked[pod] = true
			out.Annotate = append(out.Annotate, outcome.Annotation{Object: pod, Annotations: map[string]string{goingKey: "true"}})
		}
	}
	s.all(func(_ *taskSight, pod *corev1.Pod) {
		goes := marked[pod] || pod.Annotations[goingKey] != "" ||
			v.kill == everything && (s.moves(v) || s.stale(pod)) || v.kill == unfinished && !finished(pod)
		if goes && pod.DeletionTimestamp == nil {
			out.Delete = append(out.Delete, pod)
		}
	})
	for i := range s.tasks {
		for _, pod := range s.tasks[i].surplus {
			if pod.DeletionTimestamp == nil {
				out.Delete = append(out.Delete, pod)
			}
		}
	}
}

// moves reports whether a verdict takes the job to another phase.
func (s *sight) moves(v verdict) bool { return v.phase != s.job.Status.State.Phase }

// obey makes what a Command asks for the action, and says what comes of it.
func (s *sight) obey(c *busv1alpha1.Command, ask *action) (why string, ok bool) {
	does, phase := busv1alpha1.Action(c.Action), s.job.Status.State.Phase
	said := fmt.Sprintf("Command %s: %s", c.Name, c.Action)
	switch does {
	case busv1alpha1.AbortJobAction, busv1alpha1.RestartJobAction, busv1alpha1.TerminateJobAction, busv1alpha1.CompleteJobAction:
		if phase != "" && phase != batchv1alpha1.Pending && phase != batchv1alpha1.Running {
			return fmt.Sprintf("%s: the job is %s, so nothing is done", said, phase), false
		}
	case busv1alpha1.ResumeJobAction:
		if phase != batchv1alpha1.Aborted && phase != batchv1alpha1.Aborting {
			return fmt.Sprintf("%s: the job is %s, and only one that was aborted can be resumed", said, phase), false
		}
	default:
		return said + ": this is no action for a job; give AbortJob, ResumeJob, RestartJob, CompleteJob or TerminateJob", false
	}
	why = said
	if c.Message != "" {
		why += ": " + c.Message
	}
	*ask = action{does: does, reason: string(busv1alpha1.CommandIssuedEvent), why: why}
	return why, true
}

// oldest is the Command to be carried out first; nil: there is none.
func oldest(commands []busv1alpha1.Command) (first *busv1alpha1.Command) {
	for i := range commands {
		c := &commands[i]
		if c.DeletionTimestamp != nil {
			continue
		}
		if first == nil || c.CreationTimestamp.Before(&first.CreationTimestamp) || c.CreationTimestamp.Equal(&first.CreationTimestamp) && c.Name < first.Name {
			first = c
		}
	}
	return first
}
