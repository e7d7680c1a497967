package v1beta1

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Guarantee is what is kept for a queue, used or not. It is written in either of
// two ways, which may be mixed:
//
//	guarantee: {resource: {cpu: 4}}
//	guarantee: {cpu: 4}
//
// The second way is why the schema keeps unknown fields here.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Guarantee struct {
	// +optional
	Resource corev1.ResourceList `json:"resource,omitempty"`
	// Flat holds what stands beside the field resource.
	Flat corev1.ResourceList `json:"-"`
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

// UnmarshalJSON reads both ways of writing.
func (g *Guarantee) UnmarshalJSON(data []byte) error {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("guarantee: %w", err)
	}
	*g = Guarantee{}
	if resource, ok := fields["resource"]; ok {
		if err := json.Unmarshal(resource, &g.Resource); err != nil {
			return fmt.Errorf("guarantee.resource: %w", err)
		}
		delete(fields, "resource")
	}
	if len(fields) == 0 {
		return nil
	}
	flat, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("guarantee: %w", err)
	}
	if err := json.Unmarshal(flat, &g.Flat); err != nil {
		return fmt.Errorf("guarantee: %w", err)
	}
	return nil
}

// MarshalJSON writes each part the way it was read.
func (g Guarantee) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	//muster:anyorder a copy from map to map
	for name, quantity := range g.Flat {
		out[string(name)] = quantity
	}
	if g.Resource != nil {
		out["resource"] = g.Resource
	}
	return json.Marshal(out)
}
