package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodGroup is a set of pods that run together or not at all.
//
// Its status is written through the main resource: upstream's CRD has no status
// subresource, and the operators that write PodGroups rely on that.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=podgroups,scope=Namespaced,shortName=pg;podgroup-v1beta1
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="minMember",type=integer,JSONPath=`.spec.minMember`
// +kubebuilder:printcolumn:name="RUNNINGS",type=integer,JSONPath=`.status.running`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="QUEUE",type=string,priority=1,JSONPath=`.spec.queue`
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Unschedulable")].message`
type PodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec PodGroupSpec `json:"spec,omitempty"`
	// +optional
	Status PodGroupStatus `json:"status,omitempty"`
}

// PodGroupList is a list of PodGroups.
//
// +kubebuilder:object:root=true
type PodGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodGroup `json:"items"`
}

// PodGroupSpec says what a gang needs.
type PodGroupSpec struct {
	// MinMember pods run together or none does. 0: each pod for itself.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinMember int32 `json:"minMember,omitempty"`
	// MinTaskMember is how many pods of each role must be among them.
	// +optional
	MinTaskMember map[string]int32 `json:"minTaskMember,omitempty"`
	// Queue is charged for the gang.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Queue string `json:"queue,omitempty"`
	// PriorityClassName decides the gang's place in its queue.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// MinResources is what the minimum asks for in all. It admits gangs whose pods do not exist yet.
	// +optional
	MinResources *corev1.ResourceList `json:"minResources,omitempty"`
	// NetworkTopology bounds how far apart the pods may be placed.
	// +optional
	NetworkTopology *NetworkTopologySpec `json:"networkTopology,omitempty"`
	// SubGroupPolicy divides the gang into sub-groups with rules of their own.
	// +optional
	SubGroupPolicy []SubGroupPolicySpec `json:"subGroupPolicy,omitempty"`
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
	// Mode hard: never beyond the bound; soft: as near as can be.
	// +optional
	// +kubebuilder:default=hard
	Mode NetworkTopologyMode `json:"mode,omitempty"`
	// HighestTierAllowed is the highest tier the pods may span.
	// +optional
	// +kubebuilder:validation:Minimum=0
	HighestTierAllowed *int `json:"highestTierAllowed,omitempty"`
	// HighestTierName names that tier instead.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	HighestTierName string `json:"highestTierName,omitempty"`
}

// SubGroupPolicySpec is the rule of one set of sub-groups.
type SubGroupPolicySpec struct {
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// +optional
	NetworkTopology *NetworkTopologySpec `json:"networkTopology,omitempty"`
	// SubGroupSize is how many pods form one sub-group.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	SubGroupSize *int32 `json:"subGroupSize,omitempty"`
	// MinSubGroups is how many sub-groups must run.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MinSubGroups *int32 `json:"minSubGroups,omitempty"`
	// LabelSelector chooses the pods the policy is for.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// MatchLabelKeys are the labels by whose values pods are divided.
	// +optional
	// +listType=atomic
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty"`
}

// PodGroupPhase is how far a gang has come.
//
// +kubebuilder:validation:Enum=Pending;Running;Unknown;Inqueue;Completed;Failed
type PodGroupPhase string

// Phases of a PodGroup.
const (
	// PodGroupPending waits to be admitted.
	PodGroupPending PodGroupPhase = "Pending"
	// PodGroupInqueue is admitted: controllers may make its pods.
	PodGroupInqueue PodGroupPhase = "Inqueue"
	// PodGroupRunning has its minimum bound.
	PodGroupRunning PodGroupPhase = "Running"
	// PodGroupUnknown ran and lost a part of its minimum.
	PodGroupUnknown PodGroupPhase = "Unknown"
	// PodGroupCompleted ended with its minimum succeeded.
	PodGroupCompleted PodGroupPhase = "Completed"
	// PodGroupFailed ended with fewer than its minimum succeeded.
	PodGroupFailed PodGroupPhase = "Failed"
)

// PodGroupConditionType names what a condition is about.
type PodGroupConditionType string

// Condition types of a PodGroup.
const (
	PodGroupUnschedulableType PodGroupConditionType = "Unschedulable"
	PodGroupScheduled         PodGroupConditionType = "Scheduled"
	// PodGroupUnmet is true of one that won't get what it was promised, such as to be done by its deadline.
	PodGroupUnmet PodGroupConditionType = "SLOUnmet"
)

// PodGroupCondition is something that is true of a gang, or no longer is.
type PodGroupCondition struct {
	// +optional
	Type PodGroupConditionType `json:"type,omitempty"`
	// +optional
	Status corev1.ConditionStatus `json:"status,omitempty"`
	// TransitionID tells one change from the next.
	// +optional
	TransitionID string `json:"transitionID,omitempty"`
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
}

// PodGroupStatus is what is known of a gang.
type PodGroupStatus struct {
	// +optional
	Phase PodGroupPhase `json:"phase,omitempty"`
	// +optional
	Conditions []PodGroupCondition `json:"conditions,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Running int32 `json:"running,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Succeeded int32 `json:"succeeded,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed int32 `json:"failed,omitempty"`
}
