package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Command asks for one action on one object. Its fields stand at the top, without a spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=commands,scope=Namespaced
type Command struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Action is what to do, for example AbortJob or OpenQueue.
	// +optional
	Action string `json:"action,omitempty"`
	// TargetObject is the job or queue to do it to.
	// +optional
	TargetObject *metav1.OwnerReference `json:"target,omitempty"`
	// Reason says in a word why.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message says in a sentence why.
	// +optional
	Message string `json:"message,omitempty"`
}

// CommandList is a list of Commands.
//
// +kubebuilder:object:root=true
type CommandList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Command `json:"items"`
}
