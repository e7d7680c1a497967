package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Numatopology tells how a node's CPUs and devices lie on its NUMA nodes. It has the node's name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=numatopologies,scope=Cluster,shortName=numatopo
type Numatopology struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec NumatopoSpec `json:"spec,omitempty"`
}

// NumatopologyList is a list of Numatopologies.
//
// +kubebuilder:object:root=true
type NumatopologyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Numatopology `json:"items"`
}

// PolicyName names a setting of kubelet.
type PolicyName string

// Names of settings.
const (
	CPUManagerPolicy      PolicyName = "CPUManagerPolicy"
	TopologyManagerPolicy PolicyName = "TopologyManagerPolicy"
)

// NumatopoSpec is what a node agent found.
type NumatopoSpec struct {
	// Policies are kubelet's settings.
	// +optional
	Policies map[PolicyName]string `json:"policies,omitempty"`
	// ResReserved is kept for the system, by resource.
	// +optional
	ResReserved map[string]string `json:"resReserved,omitempty"`
	// NumaResMap tells per resource which units there are and which are free.
	// +optional
	NumaResMap map[string]ResourceInfo `json:"numares,omitempty"`
	// CPUDetail tells where each CPU lies, by its number.
	// +optional
	CPUDetail map[string]CPUInfo `json:"cpuDetail,omitempty"`
	// PodAllocations tells which pod holds what.
	// +optional
	PodAllocations []PodAllocation `json:"podAllocations,omitempty"`
}

// ResourceInfo is a set of units, written like "0-3,8", and how many there are.
type ResourceInfo struct {
	// +optional
	Allocatable string `json:"allocatable,omitempty"`
	// +optional
	Capacity int `json:"capacity,omitempty"`
}

// CPUInfo is where a CPU lies.
type CPUInfo struct {
	// +optional
	// +kubebuilder:validation:Minimum=0
	NUMANodeID int `json:"numa,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	SocketID int `json:"socket,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	CoreID int `json:"core,omitempty"`
}

// PodAllocation is what one pod holds.
type PodAllocation struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +optional
	UID string `json:"uid,omitempty"`
	// +optional
	ContainerAllocations []ContainerAllocation `json:"containerAllocations,omitempty"`
}

// ContainerAllocation is what one container holds, a set of units per resource.
type ContainerAllocation struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Allocations map[string]string `json:"allocations,omitempty"`
}
