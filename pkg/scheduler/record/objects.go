package record

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// object is how objects that only plugins know of are written.
type object struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
	Gone   bool            `json:"gone,omitempty"`
}

// blank returns an empty object of a kind that plugins learn of; nil when there is none of that name.
func blank(kind string) runtime.Object {
	for _, o := range append(framework.Learned(), &framework.Usage{}) {
		if name(o) == kind {
			return o
		}
	}
	return nil
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
	into := blank(o.Kind)
	if into == nil {
		return nil, fmt.Errorf("event %s: kind %q is unknown", t.Type, o.Kind)
	}
	if err := json.Unmarshal(o.Object, into); err != nil {
		return nil, fmt.Errorf("event %s: %s: %w", t.Type, o.Kind, err)
	}
	return engine.ObjectSet{Object: into, Gone: o.Gone}, nil
}
