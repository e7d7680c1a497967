// Package v1alpha1 holds the wire types of flow.volcano.sh/v1alpha1: the JobFlow, a graph of
// jobs, and the JobTemplate that its steps are made from.
// They are data; what follows from them is decided elsewhere.
//
// +kubebuilder:object:generate=true
// +groupName=flow.volcano.sh
package v1alpha1
