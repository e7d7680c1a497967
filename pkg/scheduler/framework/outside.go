package framework

import (
	"encoding/json"
	"fmt"
	"time"
)

// Retries is for plugins that refused because something outside could not be
// asked: RetryAt is when they would ask again, false when nothing is open. At
// that instant gangs wake that a plugin refused which wakes on
// [model.ObjectChanged].
type Retries interface {
	RetryAt() (time.Time, bool)
}

// AsksOutside is for plugins that ask somebody outside, whose answers no fact tells. A
// recording holds them, and a replay takes them from there.
type AsksOutside interface {
	Plugin
	// Heard is what was answered since the cycle began, nil when nothing was asked. In
	// a replay it is an error that something was asked that the recording does not hold.
	Heard() (json.RawMessage, error)
	// Recall makes the plugin ask nobody from now on, and take what was heard in a
	// cycle for what is answered in the next.
	Recall(heard json.RawMessage) error
}

// Heard is what each plugin that asks outside was answered since the cycle began, by name.
func (t *Tiers) Heard() (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	for _, p := range t.outside {
		heard, err := p.Heard()
		if err != nil {
			return nil, fmt.Errorf("plugin %q: %w", p.Name(), err)
		}
		if heard != nil {
			if all == nil {
				all = map[string]json.RawMessage{}
			}
			all[p.Name()] = heard
		}
	}
	return all, nil
}

// Recall hands each plugin that asks outside what it was answered in a cycle.
func (t *Tiers) Recall(heard map[string]json.RawMessage) error {
	for _, p := range t.outside {
		if err := p.Recall(heard[p.Name()]); err != nil {
			return fmt.Errorf("plugin %q: %w", p.Name(), err)
		}
	}
	return nil
}

// AskOutside reports whether a plugin asks somebody outside, who answers when and as
// he likes: what would be decided now can't be found out without asking him again.
func (t *Tiers) AskOutside() bool { return len(t.retries)+len(t.outside) > 0 }
