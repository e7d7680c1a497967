package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VCJob is a flat way to write a Job: what matters of a pod stands beside the
// task. A Job is made from it. Since vcjob is a short name of Job, this kind
// goes by flatvcjob on the command line.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=flatvcjobs,singular=flatvcjob,scope=Namespaced,shortName=fvcj
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.state.phase`
// +kubebuilder:printcolumn:name="minAvailable",type=integer,JSONPath=`.status.minAvailable`
// +kubebuilder:printcolumn:name="RUNNINGS",type=integer,JSONPath=`.status.running`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="QUEUE",type=string,priority=1,JSONPath=`.spec.queue`
type VCJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec VCJobSpec `json:"spec,omitempty"`
	// Status is that of the Job made from it.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// VCJobList is a list of VCJobs.
//
// +kubebuilder:object:root=true
type VCJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VCJob `json:"items"`
}

// VCJobSpec says what a VCJob runs.
type VCJobSpec struct {
	// SchedulerName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SchedulerName string `json:"schedulerName,omitempty"`
	// Queue is charged for the job.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Queue string `json:"queue,omitempty"`
	// MinAvailable pods run together or none does. Unset: all that tasks ask for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailable int32 `json:"minAvailable,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// RunPolicy says how often it is restarted and what is left of it.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// Plugins wire the pods together, by name, each with its arguments.
	// +optional
	Plugins map[string][]string `json:"plugins,omitempty"`
	// Policies answer events of any task.
	// +optional
	Policies []LifecyclePolicy `json:"policies,omitempty"`
	// Tasks are the roles of the job.
	// +kubebuilder:validation:MinItems=1
	Tasks []VCTaskSpec `json:"tasks"`
}

// RunPolicy says how often a VCJob is restarted and what is left of it.
type RunPolicy struct {
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	MaxRetry *int32 `json:"maxRetry,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// CleanUpTaskPolicy says which pods are deleted when the job has ended.
	// +optional
	CleanUpTaskPolicy []CleanUpTaskPolicy `json:"cleanUpTaskPolicy,omitempty"`
}

// CleanUpDelete is the action of a CleanUpTaskPolicy that deletes pods.
const CleanUpDelete = "Delete"

// CleanUpTaskPolicy deletes pods of a task when the job has come to a phase.
type CleanUpTaskPolicy struct {
	// +kubebuilder:validation:Enum=Delete;Retain
	Action string `json:"action"`
	// Task names a task, or is "all".
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Task string `json:"task,omitempty"`
	// When is the phase: Completed, Failed, Aborted or Terminated.
	// +kubebuilder:validation:Enum=Completed;Failed;Aborted;Terminated
	When JobPhase `json:"when"`
}

// VCTaskSpec is one role of a VCJob, whose pods have one container of interest.
type VCTaskSpec struct {
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`
	// MinAvailable of them must run. Unset: all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=Always;OnFailure;Never
	RestartPolicy corev1.RestartPolicy `json:"restartPolicy,omitempty"`
	// Resources of the container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Lifecycle of the container.
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`
	// Pod is the container and what it needs around it.
	// +optional
	Pod VCPodSpec `json:"pod,omitempty"`
	// Policies answer events of this task before those of the job are asked.
	// +optional
	Policies []LifecyclePolicy `json:"policies,omitempty"`
}

// VCPodSpec is a container and what it needs around it.
type VCPodSpec struct {
	// +optional
	Image string `json:"image,omitempty"`
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// +optional
	Command []string `json:"command,omitempty"`
	// +optional
	Args []string `json:"args,omitempty"`
	// +optional
	WorkingDir string `json:"workingDir,omitempty"`
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// +optional
	Ports []corev1.ContainerPort `json:"ports,omitempty"`
	// +optional
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// +optional
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}
