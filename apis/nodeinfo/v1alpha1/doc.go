// Package v1alpha1 holds the wire types of nodeinfo.volcano.sh/v1alpha1: the Numatopology, which
// tells how a node's CPUs and devices lie on its NUMA nodes.
// They are data; what follows from them is decided elsewhere.
//
// +kubebuilder:object:generate=true
// +groupName=nodeinfo.volcano.sh
package v1alpha1
