// Package vcjob turns VCJobs, the flat way to write jobs, into the Jobs that they stand for,
// and tells each how its Job fares. What a Job does is the job controller's business.
package vcjob

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// Observed is what there is around one VCJob.
type Observed struct {
	VCJob *batchv1alpha1.VCJob
	Job   *batchv1alpha1.Job // that has its name; nil: there is none
	Pods  []corev1.Pod       // of the Job; only asked for when [CleansUp]
}

// CleansUp reports whether pods may have to go because of how far the Job is.
func CleansUp(v *batchv1alpha1.VCJob, job *batchv1alpha1.Job) bool {
	return job != nil && len(v.Spec.RunPolicy.CleanUpTaskPolicy) > 0 && (job.Status.State.Phase.Final() || job.Status.State.Phase == batchv1alpha1.Aborted)
}

// Ended reports whether a VCJob had a Job that is gone: whoever deleted the one wants neither.
func Ended(o Observed) bool { return o.Job == nil && o.VCJob.Status.State.Phase != "" }

// Step says what must be done about a VCJob.
func Step(o Observed) (out outcome.Outcome, err error) {
	v, job := o.VCJob, o.Job
	say := func(warning bool, reason, format string, args ...any) {
		out.Events = append(out.Events, outcome.Event{On: v, Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case v.DeletionTimestamp != nil:
		return out, nil // its Job goes with it
	case Ended(o):
		out.Delete = []apis.Object{v}
		say(false, "JobDeleted", "its Job was deleted, so it goes too")
		return out, nil
	case job == nil:
		want := v.Job()
		out.Create = []apis.Object{want}
		if least := v.Spec.MinAvailable; least > want.Spec.MinAvailable {
			say(true, "MinAvailable", "minAvailable is %d, and its tasks have %d pods: it runs with %d; give more replicas, or a minAvailable of at most that", least, want.Spec.MinAvailable, want.Spec.MinAvailable)
		}
		return out, nil
	case !metav1.IsControlledBy(job, v):
		say(true, "NameTaken", "a Job %s is there that is not made from this VCJob: give it another name", job.Name)
		return out, nil
	}
	if want := v.Job(); job.DeletionTimestamp == nil && job.Annotations[batchv1alpha1.VCJobGenerationKey] != want.Annotations[batchv1alpha1.VCJobGenerationKey] {
		fields, err := changes(job, want)
		if err != nil {
			return out, err
		}
		out.Patch = append(out.Patch, outcome.Patch{Object: job, Fields: fields})
	}
	return out, mirror(o, &out)
}

// changes are what a Job lacks of what its VCJob says by now.
func changes(job, want *batchv1alpha1.Job) (map[string]any, error) {
	meta, err := outcome.Difference(metav1.ObjectMeta{}, metav1.ObjectMeta{Annotations: want.Annotations, Labels: want.Labels})
	if err != nil {
		return nil, err
	}
	spec, err := outcome.Difference(job.Spec, want.Spec)
	if err != nil {
		return nil, err
	}
	return map[string]any{"metadata": meta, "spec": spec}, nil
}

// mirror tells a VCJob how its Job fares, and has the pods go that are not to be kept.
func mirror(o Observed, out *outcome.Outcome) error {
	status := *o.Job.Status.DeepCopy()
	if status.State.Phase == "" {
		status.State.Phase = batchv1alpha1.Pending // so that it is known that there was a Job
	}
	patch, err := outcome.Difference(o.VCJob.Status, status)
	if err != nil {
		return err
	}
	if len(patch) > 0 {
		out.Patch = append(out.Patch, outcome.Patch{Object: o.VCJob, Status: patch})
	}
	for i := range o.Pods {
		pod := &o.Pods[i]
		task := pod.Labels[schedulingv1beta1.TaskSpecAnnotation]
		if pod.DeletionTimestamp == nil && o.VCJob.Spec.RunPolicy.CleansUp(task, status.State.Phase) {
			out.Delete = append(out.Delete, pod)
		}
	}
	return nil
}
