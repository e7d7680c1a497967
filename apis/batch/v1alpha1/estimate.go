package v1alpha1

import schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"

// EstimateAnnotation turns a job's runningEstimate into the annotation of its PodGroup
// that the scheduler reads; nil when there is none above 0.
func EstimateAnnotation(spec *JobSpec) map[string]string {
	if spec.RunningEstimate == nil || spec.RunningEstimate.Duration <= 0 {
		return nil
	}
	return map[string]string{schedulingv1beta1.SLORunningEstimateAnnotation: spec.RunningEstimate.Duration.String()}
}
