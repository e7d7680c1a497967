// Package v1alpha1 holds the wire types of bus.volcano.sh/v1alpha1: the Command, which asks for
// one action on one object and is gone once that was taken up.
// They are data; what follows from them is decided elsewhere.
//
// +kubebuilder:object:generate=true
// +groupName=bus.volcano.sh
package v1alpha1
