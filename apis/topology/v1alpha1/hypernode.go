package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HyperNode is a set of nodes, or of smaller sets, that are near one another.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=hypernodes,scope=Cluster,shortName=hn
// +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=`.spec.tier`
// +kubebuilder:printcolumn:name="TierName",type=string,JSONPath=`.spec.tierName`
// +kubebuilder:printcolumn:name="NodeCount",type=integer,JSONPath=`.status.nodeCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HyperNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec HyperNodeSpec `json:"spec,omitempty"`
	// +optional
	Status HyperNodeStatus `json:"status,omitempty"`
}

// HyperNodeList is a list of HyperNodes.
//
// +kubebuilder:object:root=true
type HyperNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HyperNode `json:"items"`
}

// HyperNodeSpec says what is near.
type HyperNodeSpec struct {
	// Tier: the lower, the nearer its members are.
	// +kubebuilder:validation:Minimum=0
	Tier int `json:"tier"`
	// TierName names the tier for people.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TierName string `json:"tierName,omitempty"`
	// Members are its nodes or smaller sets.
	// +optional
	// +kubebuilder:validation:MinItems=1
	Members []MemberSpec `json:"members,omitempty"`
}

// MemberType says what a member is.
//
// +kubebuilder:validation:Enum=Node;HyperNode
type MemberType string

// Types of members.
const (
	MemberTypeNode      MemberType = "Node"
	MemberTypeHyperNode MemberType = "HyperNode"
)

// MemberSpec names members.
type MemberSpec struct {
	Type MemberType `json:"type"`
	// +optional
	Selector MemberSelector `json:"selector,omitempty"`
}

// MemberSelector chooses members in exactly one of three ways.
//
// +kubebuilder:validation:XValidation:rule="has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",message="one of exactMatch, regexMatch and labelMatch must be set"
// +kubebuilder:validation:XValidation:rule="(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0) + (has(self.labelMatch) ? 1 : 0) <= 1",message="only one of exactMatch, regexMatch and labelMatch may be set"
type MemberSelector struct {
	// ExactMatch names one.
	// +optional
	ExactMatch *ExactMatch `json:"exactMatch,omitempty"`
	// RegexMatch names those whose name matches.
	// +optional
	RegexMatch *RegexMatch `json:"regexMatch,omitempty"`
	// LabelMatch names those whose labels match.
	// +optional
	LabelMatch *metav1.LabelSelector `json:"labelMatch,omitempty"`
}

// ExactMatch is one name.
type ExactMatch struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// RegexMatch is a regular expression over names.
type RegexMatch struct {
	// +kubebuilder:validation:MinLength=1
	Pattern string `json:"pattern"`
}

// HyperNodeStatus is what is known of a HyperNode.
type HyperNodeStatus struct {
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// NodeCount is how many nodes it holds in all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeCount int64 `json:"nodeCount,omitempty"`
}
