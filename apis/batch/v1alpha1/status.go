package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobPhase is how far a job has come.
type JobPhase string

// Phases of a job.
const (
	Pending     JobPhase = "Pending"
	Aborting    JobPhase = "Aborting"
	Aborted     JobPhase = "Aborted"
	Running     JobPhase = "Running"
	Restarting  JobPhase = "Restarting"
	Completing  JobPhase = "Completing"
	Completed   JobPhase = "Completed"
	Terminating JobPhase = "Terminating"
	Terminated  JobPhase = "Terminated"
	Failed      JobPhase = "Failed"
)

// JobState is the phase of a job and how it came to it.
type JobState struct {
	// +optional
	// +kubebuilder:validation:Enum=Pending;Aborting;Aborted;Running;Restarting;Completing;Completed;Terminating;Terminated;Failed
	Phase JobPhase `json:"phase,omitempty"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// TaskState counts a task's pods by phase.
type TaskState struct {
	// +optional
	Phase map[corev1.PodPhase]int32 `json:"phase,omitempty"`
}

// JobStatus is what is known of a job.
type JobStatus struct {
	// +optional
	State JobState `json:"state,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailable int32 `json:"minAvailable,omitempty"`
	// TaskStatusCount tells of each task, by name.
	// +optional
	TaskStatusCount map[string]TaskState `json:"taskStatusCount,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pending int32 `json:"pending,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Running int32 `json:"running,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Succeeded int32 `json:"succeeded,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Terminating int32 `json:"terminating,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unknown int32 `json:"unknown,omitempty"`
	// Version grows each time pods are killed; events of older pods are ignored.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Version int32 `json:"version,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryCount int32 `json:"retryCount,omitempty"`
	// +optional
	RunningDuration *metav1.Duration `json:"runningDuration,omitempty"`
	// ControlledResources names what was made for the job.
	// +optional
	ControlledResources map[string]string `json:"controlledResources,omitempty"`
	// Conditions has one entry per change of phase.
	// +optional
	Conditions []JobCondition `json:"conditions,omitempty"`
}

// JobCondition is a phase and when it was entered.
type JobCondition struct {
	Status JobPhase `json:"status"`
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}
