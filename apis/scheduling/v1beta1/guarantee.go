package v1beta1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Guarantee is what is kept for a queue, used or not. It is written in either of
// two ways, which may be mixed:
//
//	guarantee: {resource: {cpu: 4}}
//	guarantee: {cpu: 4}
//
// The second way is why the schema keeps unknown fields here, and so cannot
// check them. A field that is no quantity is carried along and named by
// [Guarantee.Unread]: were it an error, one such queue would keep every client
// from reading any.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Guarantee struct {
	// +optional
	Resource corev1.ResourceList `json:"resource,omitempty"`
	// Flat holds what stands beside the field resource.
	Flat corev1.ResourceList `json:"-"`
	// Other holds what stands there and is no quantity, as JSON.
	Other map[string]string `json:"-"`
}

// All returns both ways of writing as one list. Where they disagree, the field resource counts.
func (g Guarantee) All() corev1.ResourceList {
	if len(g.Resource)+len(g.Flat) == 0 {
		return nil
	}
	all := corev1.ResourceList{}
	maps.Copy(all, g.Flat)
	maps.Copy(all, g.Resource)
	return all
}

// Unread names the fields that are no quantity, and so guarantee nothing, in order.
func (g Guarantee) Unread() []string {
	return slices.Sorted(maps.Keys(g.Other))
}

// UnmarshalJSON reads both ways of writing.
func (g *Guarantee) UnmarshalJSON(data []byte) error {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("guarantee: %w", err)
	}
	*g = Guarantee{}
	if list, ok := fields["resource"]; ok {
		if err := json.Unmarshal(list, &g.Resource); err != nil {
			return fmt.Errorf("guarantee.resource: %w", err)
		}
		delete(fields, "resource")
	}
	//muster:anyorder a copy from map to map
	for name, value := range fields {
		g.readFlat(name, value)
	}
	return nil
}

func (g *Guarantee) readFlat(name string, value json.RawMessage) {
	var quantity resource.Quantity
	if err := json.Unmarshal(value, &quantity); err != nil || bytes.Equal(value, []byte("null")) {
		if g.Other == nil {
			g.Other = map[string]string{}
		}
		g.Other[name] = string(value)
		return
	}
	if g.Flat == nil {
		g.Flat = corev1.ResourceList{}
	}
	g.Flat[corev1.ResourceName(name)] = quantity
}

// MarshalJSON writes each part the way it was read.
func (g Guarantee) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	//muster:anyorder a copy from map to map
	for name, value := range g.Other {
		out[name] = json.RawMessage(value)
	}
	//muster:anyorder a copy from map to map
	for name, quantity := range g.Flat {
		out[string(name)] = quantity
	}
	if g.Resource != nil {
		out["resource"] = g.Resource
	}
	return json.Marshal(out)
}
