// Package apis holds what all wire types share. The types themselves live one
// folder deeper, by group and version; nothing here talks to an API server.
package apis

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is any Kubernetes object: it has metadata and a kind. It has the same
// methods as controller-runtime's client.Object, so values pass both ways,
// while pure rooms need not import a client to name it.
type Object interface {
	metav1.Object
	runtime.Object
}
