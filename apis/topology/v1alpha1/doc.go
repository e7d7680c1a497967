// Package v1alpha1 holds the wire types of topology.volcano.sh/v1alpha1: the HyperNode, a set of
// nodes, or of smaller sets, that are near one another.
// They are data; what follows from them is decided elsewhere.
//
// +kubebuilder:object:generate=true
// +groupName=topology.volcano.sh
package v1alpha1
