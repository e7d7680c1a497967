package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// form is what may stand in a command: so many words that are names or numbers, itself
// among them, then marks and keys in any order.
type form struct {
	words     int
	marks     []string
	keys      []string
	resources bool     // resources are keys as well
	before    []string // what may stand before a resource or dimension, each with its dot
}

// forms are those of commands that have marks or keys of their own; plugins, actions,
// devices and usage are given keys that others name.
func forms() map[string]form {
	return map[string]form{
		"node":      {words: 2, marks: []string{"cordoned"}, keys: []string{"labels", "taint"}, resources: true},
		"queue":     {words: 2, marks: []string{"strict", "closed", "kept"}, keys: []string{"weight", "priority", "parent"}, resources: true, before: []string{"guarantee.", "deserved."}},
		"gang":      {words: 2, keys: []string{"min", "tasks", "claims", "template", "priority", "queue", "roles", "parts", "near", "parts-near", "note", "select", "phase", "labels", "tolerate", "node", "nominated"}, marks: []string{"gated", "queue-gated"}, resources: true},
		"tasks":     {words: 4, marks: []string{"gated", "queue-gated"}, keys: []string{"claims", "template", "select", "tolerate", "priority", "labels", "node", "nominated"}, resources: true},
		"hypernode": {words: 2, keys: []string{"tier", "name", "nodes", "of"}},
		"pod":       {words: 2, marks: []string{"gated"}, keys: []string{"node", "select", "tolerate"}, resources: true},
		"claim":     {words: 2, keys: []string{"class", "count"}, before: []string{"capacity."}},
		"template":  {words: 2, keys: []string{"class", "count"}, before: []string{"capacity."}},
	}
}

// check reports the first word of a command that means nothing in it.
func (w words) check() error {
	f, ok := forms()[w.at(0)]
	if !ok {
		return nil
	}
	for _, mark := range w.plain[min(f.words, len(w.plain)):] {
		if !slices.Contains(f.marks, mark) {
			return unknown("word", mark, f.marks)
		}
	}
	plain := []string{resource.CPU, resource.Memory, resource.Pods, "gpu"}
	keys := f.keys
	if f.resources {
		keys = slices.Concat(keys, plain)
	}
	for _, key := range w.order {
		if slices.Contains(keys, key) || f.resources && strings.Contains(key, "/") {
			continue
		}
		at := slices.IndexFunc(f.before, func(before string) bool { return strings.HasPrefix(key, before) })
		if at < 0 {
			return unknown("key", key, slices.Concat(keys, f.before))
		}
		name := strings.TrimPrefix(key, f.before[at])
		if f.resources && !slices.Contains(plain, name) && !strings.Contains(name, "/") {
			return fmt.Errorf("%s=: %w", key, unknown("resource", name, plain))
		}
	}
	return nil
}

func unknown(what, name string, known []string) error {
	return &framework.UnknownError{What: what, Name: name, Near: framework.Nearest(name, known), Known: known}
}
