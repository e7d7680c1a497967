// Package intake turns API objects into what the engine is told: pods into
// tasks and their shapes, PodGroups into gangs, nodes and queues into theirs. It
// checks what the API server could not, and it is pure, so that a dump of YAML
// can be eaten as well as a watch.
package intake

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Node reads a node.
func Node(n *corev1.Node) model.NodeSpec {
	return model.NodeSpec{
		Name:          n.Name,
		Labels:        n.Labels,
		Taints:        n.Spec.Taints,
		Unschedulable: n.Spec.Unschedulable,
		Allocatable:   model.Resources(n.Status.Allocatable),
		Object:        n,
	}
}

func invalid[N int | int32](field string, value N) *reason.Reason {
	return &reason.Reason{Code: reason.Invalid, Field: field, Value: fmt.Sprint(value), Remedy: "set it to 0 or more"}
}

func negative(kind, object, field string, l resource.List) *reason.Reason {
	a, found := l.Negative()
	if !found {
		return nil
	}
	return &reason.Reason{
		Code: reason.Invalid, Kind: kind, Object: object, Field: fmt.Sprintf("%s[%s]", field, a.Name),
		Value: resource.Format(a.Name, a.Value), Remedy: "set it to 0 or more",
	}
}
