package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
)

// Job runs tasks of equal pods as one gang. Its short name is vcjob.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jobs,scope=Namespaced,shortName=vcjob;vj
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.state.phase`
// +kubebuilder:printcolumn:name="minAvailable",type=integer,JSONPath=`.status.minAvailable`
// +kubebuilder:printcolumn:name="RUNNINGS",type=integer,JSONPath=`.status.running`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="QUEUE",type=string,priority=1,JSONPath=`.spec.queue`
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec JobSpec `json:"spec,omitempty"`
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// JobList is a list of Jobs.
//
// +kubebuilder:object:root=true
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Job `json:"items"`
}

// JobSpec says what a Job runs.
type JobSpec struct {
	// SchedulerName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SchedulerName string `json:"schedulerName,omitempty"`
	// MinAvailable pods run together or none does. Unset: all that tasks ask for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinAvailable int32 `json:"minAvailable,omitempty"`
	// Volumes are mounted into every pod.
	// +optional
	Volumes []VolumeSpec `json:"volumes,omitempty"`
	// Tasks are the roles of the job.
	// +optional
	// +kubebuilder:validation:MinItems=1
	Tasks []TaskSpec `json:"tasks,omitempty"`
	// Policies answer events of any task.
	// +optional
	Policies []LifecyclePolicy `json:"policies,omitempty"`
	// Plugins wire the pods together, by name, each with its arguments.
	// +optional
	Plugins map[string][]string `json:"plugins,omitempty"`
	// RunningEstimate is how long the user thinks it runs, as in 1h30m. A pattern, here and
	// at timeout, keeps out what no client could read again.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(0|([0-9]{1,5}(\.[0-9]*)?h|[0-9]{1,7}(\.[0-9]*)?(m|s)|[0-9]{1,9}(\.[0-9]*)?(ms|us|µs|ns)){1,6})$`
	RunningEstimate *metav1.Duration `json:"runningEstimate,omitempty"`
	// Queue is charged for the job.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Queue string `json:"queue,omitempty"`
	// MaxRetry is how often the job may be restarted.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	MaxRetry int32 `json:"maxRetry,omitempty"`
	// TTLSecondsAfterFinished is how long a finished job is kept. Unset: for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// PriorityClassName decides the job's place in its queue.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// MinSuccess pods that succeed make the job a success.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinSuccess *int32 `json:"minSuccess,omitempty"`
	// NetworkTopology bounds how far apart the pods may be placed.
	// +optional
	NetworkTopology *NetworkTopologySpec `json:"networkTopology,omitempty"`
}

// NetworkTopologyMode says whether a topology bound is a must.
//
// +kubebuilder:validation:Enum=hard;soft
type NetworkTopologyMode string

// Modes of a topology bound.
const (
	HardNetworkTopologyMode NetworkTopologyMode = "hard"
	SoftNetworkTopologyMode NetworkTopologyMode = "soft"
)

// NetworkTopologySpec bounds how far apart pods may be placed, by tiers of HyperNodes.
type NetworkTopologySpec struct {
	// +optional
	// +kubebuilder:default=hard
	Mode NetworkTopologyMode `json:"mode,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	HighestTierAllowed *int `json:"highestTierAllowed,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=253
	HighestTierName string `json:"highestTierName,omitempty"`
}

// VolumeSpec is a volume of every pod.
type VolumeSpec struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[^:]+$`
	MountPath string `json:"mountPath"`
	// VolumeClaimName names a claim that exists, or is to be made.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	VolumeClaimName string `json:"volumeClaimName,omitempty"`
	// VolumeClaim is the claim to make.
	// +optional
	VolumeClaim *corev1.PersistentVolumeClaimSpec `json:"volumeClaim,omitempty"`
}

// LifecyclePolicy says what to do when something happens.
type LifecyclePolicy struct {
	// +optional
	Action busv1alpha1.Action `json:"action,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=*;PodPending;PodRunning;PodFailed;PodEvicted;Unknown;TaskCompleted;OutOfSync;CommandIssued;JobUpdated;TaskFailed
	Event busv1alpha1.Event `json:"event,omitempty"`
	// +optional
	// +kubebuilder:validation:items:Enum=*;PodPending;PodRunning;PodFailed;PodEvicted;Unknown;TaskCompleted;OutOfSync;CommandIssued;JobUpdated;TaskFailed
	Events []busv1alpha1.Event `json:"events,omitempty"`
	// ExitCode of a container is another thing to answer.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Timeout delays the action; it is not taken when the cause is gone by then.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[-+]?(0|([0-9]{1,5}(\.[0-9]*)?h|[0-9]{1,7}(\.[0-9]*)?(m|s)|[0-9]{1,9}(\.[0-9]*)?(ms|us|µs|ns)){1,6})$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// NumaPolicy says how a pod's CPUs and devices must lie on NUMA nodes.
//
// +kubebuilder:validation:Enum=none;best-effort;restricted;single-numa-node
type NumaPolicy string

// NUMA policies.
const (
	None           NumaPolicy = "none"
	BestEffort     NumaPolicy = "best-effort"
	Restricted     NumaPolicy = "restricted"
	SingleNumaNode NumaPolicy = "single-numa-node"
)

// TaskSpec is one role of a job.
type TaskSpec struct {
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
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
	// Policies answer events of this task before those of the job are asked.
	// +optional
	Policies []LifecyclePolicy `json:"policies,omitempty"`
	// +optional
	TopologyPolicy NumaPolicy `json:"topologyPolicy,omitempty"`
	// TaskTopology places this task near other tasks, or away from them.
	// +optional
	TaskTopology *TaskTopology `json:"taskTopology,omitempty"`
	// MaxRetry is how often the task may be restarted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRetry int32 `json:"maxRetry,omitempty"`
	// DependsOn lets the task wait for others.
	// +optional
	DependsOn *DependsOn `json:"dependsOn,omitempty"`
	// PartitionPolicy divides the task into equal parts.
	// +optional
	PartitionPolicy *PartitionPolicySpec `json:"partitionPolicy,omitempty"`
}

// TaskTopology places a task near other tasks, or away from them.
type TaskTopology struct {
	// +optional
	Affinity *TaskAffinity `json:"affinity,omitempty"`
	// +optional
	AntiAffinity *TaskAffinity `json:"antiAffinity,omitempty"`
}

// TaskAffinity is a list of terms about pods of other tasks.
type TaskAffinity struct {
	// +optional
	Pod []TaskAffinityTerm `json:"pod,omitempty"`
}

// TaskAffinityTerm names a task and what counts as near.
type TaskAffinityTerm struct {
	// Task is the name of another task of the job.
	// +kubebuilder:validation:MaxLength=63
	Task string `json:"task"`
	// TopologyKey is the node label whose value nearby nodes share.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey,omitempty"`
	// Weight of the term, 1 to 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight,omitempty"`
}

// Iteration says how many of the named tasks must run.
type Iteration string

// Iterations.
const (
	IterationAny Iteration = "any"
	IterationAll Iteration = "all"
)

// DependsOn names the tasks that must run first.
type DependsOn struct {
	// +optional
	Name []string `json:"name,omitempty"`
	// +optional
	Iteration Iteration `json:"iteration,omitempty"`
}

// PartitionPolicySpec divides a task into equal parts.
type PartitionPolicySpec struct {
	// +kubebuilder:validation:Minimum=1
	TotalPartitions int32 `json:"totalPartitions"`
	// +kubebuilder:validation:Minimum=1
	PartitionSize int32 `json:"partitionSize"`
	// +optional
	NetworkTopology *NetworkTopologySpec `json:"networkTopology,omitempty"`
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MinPartitions int32 `json:"minPartitions,omitempty"`
}
