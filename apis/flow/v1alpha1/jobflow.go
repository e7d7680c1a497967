package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

// Keys that tie a job to the flow and template it was made from, as "namespace.name".
const (
	CreatedByJobTemplate = "volcano.sh/createdByJobTemplate"
	CreatedByJobFlow     = "volcano.sh/createdByJobFlow"
)

// JobFlow is a graph of jobs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jobflows,scope=Namespaced,shortName=jf
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.state.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type JobFlow struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec JobFlowSpec `json:"spec,omitempty"`
	// +optional
	Status JobFlowStatus `json:"status,omitempty"`
}

// JobFlowList is a list of JobFlows.
//
// +kubebuilder:object:root=true
type JobFlowList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JobFlow `json:"items"`
}

// RetainPolicy says what becomes of the jobs of a flow that has succeeded.
//
// +kubebuilder:validation:Enum=retain;delete
type RetainPolicy string

// Retain policies.
const (
	Retain RetainPolicy = "retain"
	Delete RetainPolicy = "delete"
)

// JobFlowSpec is the graph.
type JobFlowSpec struct {
	// Flows are its steps.
	// +optional
	Flows []Flow `json:"flows,omitempty"`
	// +optional
	JobRetainPolicy RetainPolicy `json:"jobRetainPolicy,omitempty"`
}

// Flow is one step: a job made from a template.
type Flow struct {
	// Name names the step and, unless jobTemplate does, its JobTemplate.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// JobTemplate names the template when it is not called like the step.
	// +optional
	JobTemplate *JobTemplateReference `json:"jobTemplate,omitempty"`
	// +optional
	DependsOn *DependsOn `json:"dependsOn,omitempty"`
	// Patch changes the template for this step.
	// +optional
	Patch *Patch `json:"patch,omitempty"`
}

// JobTemplateReference names a JobTemplate of the same namespace.
type JobTemplateReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Patch holds what a step changes.
type Patch struct {
	// +optional
	JobSpec batchv1alpha1.JobSpec `json:"jobSpec,omitempty"`
}

// DependsOn says what must hold before a step starts.
type DependsOn struct {
	// Targets are steps that must have completed.
	// +optional
	Targets []string `json:"targets,omitempty"`
	// Probe asks the targets' pods instead of waiting for their end.
	// +optional
	Probe *Probe `json:"probe,omitempty"`
}

// Probe is a set of questions; all must be answered well.
type Probe struct {
	// +optional
	HTTPGetList []HTTPGet `json:"httpGetList,omitempty"`
	// +optional
	TCPSocketList []TCPSocket `json:"tcpSocketList,omitempty"`
	// +optional
	TaskStatusList []TaskStatus `json:"taskStatusList,omitempty"`
}

// HTTPGet asks a task over HTTP.
type HTTPGet struct {
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TaskName string `json:"taskName,omitempty"`
	// +optional
	Path string `json:"path,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int `json:"port,omitempty"`
	// +optional
	HTTPHeader corev1.HTTPHeader `json:"httpHeader,omitempty"`
}

// TCPSocket asks whether a task listens.
type TCPSocket struct {
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TaskName string `json:"taskName,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int `json:"port"`
}

// TaskStatus asks whether a task's pods are in a phase.
type TaskStatus struct {
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TaskName string `json:"taskName,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Phase string `json:"phase,omitempty"`
}

// Phase is how far a flow has come.
//
// +kubebuilder:validation:Enum=Succeed;Terminating;Failed;Running;Pending
type Phase string

// Phases of a flow.
const (
	Succeed     Phase = "Succeed"
	Terminating Phase = "Terminating"
	Failed      Phase = "Failed"
	Running     Phase = "Running"
	Pending     Phase = "Pending"
)

// State is the phase of a flow.
type State struct {
	// +optional
	Phase Phase `json:"phase,omitempty"`
}

// JobFlowStatus is what is known of a flow.
type JobFlowStatus struct {
	// +optional
	PendingJobs []string `json:"pendingJobs,omitempty"`
	// +optional
	RunningJobs []string `json:"runningJobs,omitempty"`
	// +optional
	FailedJobs []string `json:"failedJobs,omitempty"`
	// +optional
	CompletedJobs []string `json:"completedJobs,omitempty"`
	// +optional
	TerminatedJobs []string `json:"terminatedJobs,omitempty"`
	// +optional
	UnKnowJobs []string `json:"unKnowJobs,omitempty"`
	// +optional
	JobStatusList []JobStatus `json:"jobStatusList,omitempty"`
	// Conditions tells of each job, by name.
	// +optional
	Conditions map[string]Condition `json:"conditions,omitempty"`
	// +optional
	State State `json:"state,omitempty"`
}

// JobStatus is what is known of one job of a flow.
type JobStatus struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	State batchv1alpha1.JobPhase `json:"state,omitempty"`
	// +optional
	StartTimestamp metav1.Time `json:"startTimestamp,omitempty"`
	// +optional
	EndTimestamp metav1.Time `json:"endTimestamp,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	RestartCount int32 `json:"restartCount,omitempty"`
	// +optional
	RunningHistories []JobRunningHistory `json:"runningHistories,omitempty"`
}

// JobRunningHistory is one stretch of time in one state.
type JobRunningHistory struct {
	// +optional
	StartTimestamp metav1.Time `json:"startTimestamp,omitempty"`
	// +optional
	EndTimestamp metav1.Time `json:"endTimestamp,omitempty"`
	// +optional
	State batchv1alpha1.JobPhase `json:"state,omitempty"`
}

// Condition is what is known of one job, in short.
type Condition struct {
	// +optional
	Phase batchv1alpha1.JobPhase `json:"phase,omitempty"`
	// +optional
	CreateTimestamp metav1.Time `json:"createTime,omitempty"`
	// +optional
	RunningDuration *metav1.Duration `json:"runningDuration,omitempty"`
	// +optional
	TaskStatusCount map[string]batchv1alpha1.TaskState `json:"taskStatusCount,omitempty"`
}
