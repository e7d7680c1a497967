// Package intake turns API objects into what the engine is told: pods into
// tasks and their shapes, PodGroups into gangs, nodes and queues into theirs. It
// checks what the API server could not, and it is pure, so that a dump of YAML
// can be eaten as well as a watch.
package intake

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Resources turns a Kubernetes list into one of ours. Fractions of a unit round up.
func Resources(l corev1.ResourceList) resource.List {
	amounts := make(map[string]int64, len(l))
	//muster:anyorder a copy from map to map
	for name, q := range l {
		amounts[string(name)] = units(name, q)
	}
	return resource.ListOf(amounts)
}

// units reads a quantity in our unit of its resource. What is beyond 64 bits is
// held at their end: quantities are exact far beyond, and their own conversion wraps.
func units(name corev1.ResourceName, q apiresource.Quantity) int64 {
	scale := 1.0
	if name == corev1.ResourceCPU {
		scale = 1000
	}
	switch about := q.AsApproximateFloat64() * scale; {
	case about >= math.MaxInt64:
		return math.MaxInt64
	case about <= math.MinInt64:
		return math.MinInt64
	case name == corev1.ResourceCPU:
		return q.MilliValue()
	default:
		return q.Value()
	}
}

// Node reads a node.
func Node(n *corev1.Node) model.NodeSpec {
	return model.NodeSpec{
		Name:          n.Name,
		Labels:        n.Labels,
		Taints:        n.Spec.Taints,
		Unschedulable: n.Spec.Unschedulable,
		Allocatable:   Resources(n.Status.Allocatable),
		Object:        n,
	}
}

func invalid(field string, value int32) *reason.Reason {
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
