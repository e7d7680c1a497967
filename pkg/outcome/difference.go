package outcome

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Difference is the merge patch from one status to another of the same type; nil when they
// are equal.
func Difference(was, now any) (map[string]any, error) {
	if equality.Semantic.DeepEqual(was, now) {
		return nil, nil
	}
	from, err := fieldsOf(was)
	if err != nil {
		return nil, err
	}
	to, err := fieldsOf(now)
	if err != nil {
		return nil, err
	}
	return between(from, to), nil
}

func fieldsOf(status any) (map[string]any, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("write a status: %w", err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("read a status: %w", err)
	}
	return m, nil
}

// between is what has to be set, and taken away, to come from one object to another.
func between(from, to map[string]any) map[string]any {
	diff := map[string]any{}
	//muster:anyorder from map to map
	for key := range from {
		if _, stays := to[key]; !stays {
			diff[key] = nil
		}
	}
	//muster:anyorder from map to map
	for key, value := range to {
		old, was := from[key]
		below, deep := value.(map[string]any)
		oldBelow, oldDeep := old.(map[string]any)
		switch {
		case was && reflect.DeepEqual(old, value):
		case deep && oldDeep:
			diff[key] = between(oldBelow, below)
		default:
			diff[key] = value
		}
	}
	return diff
}
