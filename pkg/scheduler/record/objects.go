package record

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// object is how objects that only plugins know of are written.
type object struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
	Gone   bool            `json:"gone,omitempty"`
}

// kinds makes an empty object of each kind that plugins learn of.
func kinds() map[string]runtime.Object {
	return map[string]runtime.Object{
		"PersistentVolumeClaim": &corev1.PersistentVolumeClaim{},
		"PersistentVolume":      &corev1.PersistentVolume{},
		"Namespace":             &corev1.Namespace{},
		"ResourceQuota":         &corev1.ResourceQuota{},
		"StorageClass":          &storagev1.StorageClass{},
		"CSINode":               &storagev1.CSINode{},
		"CSIDriver":             &storagev1.CSIDriver{},
		"CSIStorageCapacity":    &storagev1.CSIStorageCapacity{},
		"VolumeAttachment":      &storagev1.VolumeAttachment{},
		"PodDisruptionBudget":   &policyv1.PodDisruptionBudget{},
		"ResourceClaim":         &resourcev1.ResourceClaim{},
		"ResourceSlice":         &resourcev1.ResourceSlice{},
		"DeviceClass":           &resourcev1.DeviceClass{},
	}
}

// written is an ObjectSet that knows its kind.
type written struct {
	engine.ObjectSet
	kind string
}

func taggedObject(ev engine.ObjectSet) engine.Event { return written{ev, name(ev.Object)} }

// MarshalJSON writes the object with its kind.
func (w written) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(w.Object)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", w.kind, err)
	}
	return json.Marshal(object{Kind: w.kind, Object: text, Gone: w.Gone})
}

func readObject(t tagged) (engine.Event, error) {
	var o object
	if err := json.Unmarshal(t.Value, &o); err != nil {
		return nil, fmt.Errorf("event %s: %w", t.Type, err)
	}
	into := kinds()[o.Kind]
	if into == nil {
		return nil, fmt.Errorf("event %s: kind %q is unknown", t.Type, o.Kind)
	}
	if err := json.Unmarshal(o.Object, into); err != nil {
		return nil, fmt.Errorf("event %s: %s: %w", t.Type, o.Kind, err)
	}
	return engine.ObjectSet{Object: into, Gone: o.Gone}, nil
}
