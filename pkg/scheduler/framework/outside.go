package framework

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-sh/muster/pkg/model"
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

// Turns is for plugins to whom nodes change though nothing of them was told: with time,
// or by what the plugin learned. Turned lists the nodes that the plugin sees otherwise
// than it said when it was asked last; it is asked at the beginning of each run, before
// anybody wakes, and what it costs must follow what has changed. Between two calls the
// plugin must not change its mind. TurnsAt is when time alone will turn some; false: never.
type Turns interface {
	Turned(w *model.World, now time.Time) []Turn
	TurnsAt() (time.Time, bool)
}

// Turn is a node that a plugin sees otherwise than before.
type Turn struct {
	Node *model.Node
	// Traits: what filters and fixed ratings say of it may be something else, too; else
	// only scores are.
	Traits bool
}

// Turned gathers the nodes that any plugin sees otherwise.
func (t *Tiers) Turned(w *model.World, now time.Time) []Turn {
	var turned []Turn
	ask(t, t.turning, "say which nodes it sees otherwise", func(p Turns) { turned = append(turned, p.Turned(w, now)...) })
	return turned
}

// NextAt is the earliest instant at which time alone may have a plugin say something
// else; wishes: what it wishes counts.
func (t *Tiers) NextAt(wishes bool) (time.Time, bool) {
	next, found := t.RetryAt()
	earlier := func(at time.Time, ok bool) {
		if ok && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	ask(t, t.turning, "say when it sees nodes otherwise", func(p Turns) { earlier(p.TurnsAt()) })
	if wishes {
		ask(t, t.dismissals, "say when it wants tasks to go", func(p Dismisses) { earlier(p.WishesAt()) })
	}
	return next, found
}
