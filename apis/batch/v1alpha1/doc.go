// Package v1alpha1 holds the wire types of batch.volcano.sh/v1alpha1: the Job (vcjob), which runs
// tasks of equal pods as one gang, its cron form, and VCJob, a flat way to write one.
// They are data; what follows from them is decided elsewhere.
//
// +kubebuilder:object:generate=true
// +groupName=batch.volcano.sh
package v1alpha1
