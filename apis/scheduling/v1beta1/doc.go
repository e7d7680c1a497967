// Package v1beta1 holds the wire types of scheduling.volcano.sh/v1beta1: the
// PodGroup, which is placed whole, and the Queue, a tenant's share. They are data;
// what follows from them is decided elsewhere.
//
// +kubebuilder:object:generate=true
// +groupName=scheduling.volcano.sh
package v1beta1
