// Package workload is the contract of adapters, which teach Muster a kind of
// workload: what gangs an object needs, and which pods belong to them. Adapters
// are pure: objects in, data out, no API calls.
package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-sh/muster/apis"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// Adapter teaches one kind of workload.
type Adapter interface {
	// Kind is what the adapter is for.
	Kind() Kind
	// New returns an empty object of the kind, to be filled by a client.
	New() apis.Object
	// Gangs returns the gangs that obj needs now: none when it is suspended,
	// finished or not ours. What can't be right is in the gangs' Problems; an
	// error means that obj is not of the adapter's kind.
	Gangs(obj apis.Object) ([]Gang, error)
	// Member says which role a pod has in the workload that controls it; false
	// for pods of other workloads.
	Member(pod *corev1.Pod) (owner, role string, ok bool)
}

// Kind names a kind of workload and its resource in the API.
type Kind struct {
	schema.GroupVersionKind
	Resource string // plural, lower case
}

// Gang is a PodGroup as a workload wants it.
type Gang struct {
	Name            string // of the PodGroup
	Queue           string // empty: the namespace's, else the default
	PriorityClass   string
	Min             int32
	Roles           []Role // in the order in which the minimum is filled
	MinResources    corev1.ResourceList
	NetworkTopology *schedulingv1beta1.NetworkTopologySpec
	Annotations     map[string]string
	Problems        []string // what in the object can't be right and what was done instead
}

// Role is a part of a gang whose pods are alike.
type Role struct {
	Name     string
	Replicas int32
	Min      int32
}

// Registry holds adapters by kind.
type Registry struct{ adapters []Adapter }

// NewRegistry makes a registry; two adapters for one kind are an error.
func NewRegistry(adapters ...Adapter) (*Registry, error) {
	seen := map[schema.GroupVersionKind]bool{}
	for _, a := range adapters {
		kind := a.Kind().GroupVersionKind
		if seen[kind] {
			return nil, fmt.Errorf("two adapters for %s", kind)
		}
		seen[kind] = true
	}
	return &Registry{adapters: adapters}, nil
}

// Adapters returns all adapters in the order they were given.
func (r *Registry) Adapters() []Adapter { return r.adapters }

// PodGroupName is the name of the PodGroup that is made for the workload with
// that UID. Whoever sees a pod can tell it from the pod's owner reference.
func PodGroupName(uid string) string { return schedulingv1beta1.PodGroupNamePrefix + uid }
