package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Queue is a tenant's share of the cluster. Queues form a tree under root.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=queues,scope=Cluster,shortName=q;queue-v1beta1
// +kubebuilder:printcolumn:name="PARENT",type=string,JSONPath=`.spec.parent`
// +kubebuilder:printcolumn:name="STATE",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="WEIGHT",type=integer,JSONPath=`.spec.weight`
// +kubebuilder:printcolumn:name="GPU-ALLOCATED",type=string,JSONPath=`.status.allocated.nvidia\.com/gpu`
// +kubebuilder:printcolumn:name="GPU-DESERVED",type=string,JSONPath=`.spec.deserved.nvidia\.com/gpu`
// +kubebuilder:printcolumn:name="GPU-CAPABILITY",type=string,priority=1,JSONPath=`.spec.capability.nvidia\.com/gpu`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Queue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec QueueSpec `json:"spec,omitempty"`
	// +optional
	Status QueueStatus `json:"status,omitempty"`
}

// QueueList is a list of Queues.
//
// +kubebuilder:object:root=true
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Queue `json:"items"`
}

// DequeueStrategy says what becomes of the gangs behind one that does not fit.
//
// +kubebuilder:validation:Enum=fifo;traverse
type DequeueStrategy string

// Dequeue strategies.
const (
	// DequeueStrategyFIFO keeps them waiting.
	DequeueStrategyFIFO DequeueStrategy = "fifo"
	// DequeueStrategyTraverse lets them be tried.
	DequeueStrategyTraverse DequeueStrategy = "traverse"
)

// QueueSpec says what a queue may use.
type QueueSpec struct {
	// Weight is its share of what is not given out otherwise, beside its siblings' weights.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Weight int32 `json:"weight,omitempty"`
	// Capability is its ceiling. A resource it does not name is unlimited.
	// +optional
	Capability corev1.ResourceList `json:"capability,omitempty"`
	// Reclaimable says whether other queues may take back what it uses above its deserved part. Unset means yes.
	// +optional
	Reclaimable *bool `json:"reclaimable,omitempty"`
	// ExtendClusters names clusters its jobs may be sent to.
	// +optional
	ExtendClusters []Cluster `json:"extendClusters,omitempty"`
	// Guarantee is kept for it, used or not.
	// +optional
	Guarantee Guarantee `json:"guarantee,omitempty"`
	// Affinity chooses the node groups its pods may run on.
	// +optional
	Affinity *Affinity `json:"affinity,omitempty"`
	// Type is the user's own.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type,omitempty"`
	// Parent is the queue above it; root when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Parent string `json:"parent,omitempty"`
	// Deserved is its fair part: what it uses above is borrowed.
	// +optional
	Deserved corev1.ResourceList `json:"deserved,omitempty"`
	// Priority: higher queues are served first and give back last.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Priority int32 `json:"priority,omitempty"`
	// DequeueStrategy says what becomes of the gangs behind one that does not fit.
	// +optional
	// +kubebuilder:default=traverse
	DequeueStrategy DequeueStrategy `json:"dequeueStrategy,omitempty"`
}

// Cluster is another cluster.
type Cluster struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Weight int32 `json:"weight,omitempty"`
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
}

// Affinity chooses node groups by the label volcano.sh/nodegroup-name.
type Affinity struct {
	// +optional
	NodeGroupAffinity *NodeGroupAffinity `json:"nodeGroupAffinity,omitempty"`
	// +optional
	NodeGroupAntiAffinity *NodeGroupAntiAffinity `json:"nodeGroupAntiAffinity,omitempty"`
}

// NodeGroupAffinity names the groups to run on.
type NodeGroupAffinity struct {
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution []string `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	// +optional
	PreferredDuringSchedulingIgnoredDuringExecution []string `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeGroupAntiAffinity names the groups to keep off.
type NodeGroupAntiAffinity struct {
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution []string `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	// +optional
	PreferredDuringSchedulingIgnoredDuringExecution []string `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// QueueState says whether a queue takes anything new.
//
// +kubebuilder:validation:Enum=Open;Closed;Closing;Unknown
type QueueState string

// States of a queue.
const (
	QueueStateOpen    QueueState = "Open"
	QueueStateClosed  QueueState = "Closed"
	QueueStateClosing QueueState = "Closing"
	QueueStateUnknown QueueState = "Unknown"
)

// QueueStatus is what is known of a queue.
type QueueStatus struct {
	// +optional
	State QueueState `json:"state,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unknown int32 `json:"unknown,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pending int32 `json:"pending,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Running int32 `json:"running,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Inqueue int32 `json:"inqueue,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Completed int32 `json:"completed,omitempty"`
	// Reservation is what is set aside for it by name of node.
	// +optional
	Reservation Reservation `json:"reservation,omitempty"`
	// Allocated is what its pods, and those of the queues below it, are charged for.
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`
}

// Reservation is room set aside.
type Reservation struct {
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// +optional
	Resource corev1.ResourceList `json:"resource,omitempty"`
}
