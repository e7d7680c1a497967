package model

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/resource"
)

// Resources turns a Kubernetes list into one of ours. Fractions of a unit round up.
func Resources(l corev1.ResourceList) resource.List {
	amounts := make(map[string]int64, len(l))
	//muster:anyorder a copy from map to map
	for name, q := range l {
		amounts[string(name)] = Units(name, q)
	}
	return resource.ListOf(amounts)
}

// Units reads a quantity in our unit of its resource. What is beyond 64 bits is
// held at their end: quantities are exact far beyond, and their own conversion wraps.
func Units(name corev1.ResourceName, q apiresource.Quantity) int64 {
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
