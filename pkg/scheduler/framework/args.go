package framework

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-sh/muster/pkg/resource"
)

// Args are a plugin's or action's arguments as YAML has them. Numbers and
// booleans may be quoted.
type Args map[string]any

// ArgError says what is wrong with one argument and what would be right.
type ArgError struct {
	Key    string
	Value  any
	Remedy string
}

func (e *ArgError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("argument %s is empty: %s", e.Key, e.Remedy)
	}
	return fmt.Sprintf("argument %s is %q: %s", e.Key, fmt.Sprint(e.Value), e.Remedy)
}

// Reader reads arguments, and gathers what is wrong with them: values that can't
// be right, and arguments that nobody asked for.
type Reader struct {
	args  Args
	known map[string]bool
	errs  []error
}

// Read returns a Reader of the arguments.
func (a Args) Read() *Reader { return &Reader{args: a, known: map[string]bool{}} }

// Has reports whether the argument is given.
func (r *Reader) Has(key string) bool {
	r.known[key] = true
	_, ok := r.args[key]
	return ok
}

// Idle reads over an argument that is known elsewhere and means nothing here, and has
// that said to whoever gives it; because completes "it has no effect here: ".
func (r *Reader) Idle(env Env, key, because string) {
	if r.Has(key) && env.Idle != nil {
		env.Idle(key, because)
	}
}

// Wrong notes that an argument's value can't be right.
func (r *Reader) Wrong(key, remedy string) {
	r.errs = append(r.errs, &ArgError{Key: key, Value: r.args[key], Remedy: remedy})
}

// Int reads a whole number of at least least; fallback when it is not given.
func (r *Reader) Int(key string, fallback, least int64) int64 {
	if !r.Has(key) {
		return fallback
	}
	n, err := strconv.ParseInt(r.text(key), 10, 32)
	if err != nil || n < least {
		r.Wrong(key, fmt.Sprintf("give a whole number of %d or more", least))
		return fallback
	}
	return n
}

// Float reads a number of at least least; fallback when it is not given.
func (r *Reader) Float(key string, fallback, least float64) float64 {
	if !r.Has(key) {
		return fallback
	}
	f, err := strconv.ParseFloat(r.text(key), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < least {
		r.Wrong(key, fmt.Sprintf("give a number of %v or more", least))
		return fallback
	}
	return f
}

// Bool reads true or false; fallback when it is not given.
func (r *Reader) Bool(key string, fallback bool) bool {
	if !r.Has(key) {
		return fallback
	}
	switch strings.ToLower(r.text(key)) {
	case "true":
		return true
	case "false":
		return false
	default:
		r.Wrong(key, "give true or false")
		return fallback
	}
}

// Duration reads a duration such as 30s or 1h30m, not below 0; fallback when it is not given.
func (r *Reader) Duration(key string, fallback time.Duration) time.Duration {
	if !r.Has(key) {
		return fallback
	}
	d, err := time.ParseDuration(r.text(key))
	if err != nil || d < 0 {
		r.Wrong(key, "give a duration such as 30s or 1h30m")
		return fallback
	}
	return d
}

// Text reads a text; fallback when it is not given.
func (r *Reader) Text(key, fallback string) string {
	if !r.Has(key) {
		return fallback
	}
	switch r.args[key].(type) {
	case nil, map[string]any, []any:
		r.Wrong(key, "give a text")
		return fallback
	}
	return r.text(key)
}

// Resources reads a comma list or a YAML list of names of resources, each once. A
// text without any is a list without any.
func (r *Reader) Resources(key string) []string {
	if !r.Has(key) {
		return nil
	}
	names, ok := []string(nil), true
	switch v := r.args[key].(type) {
	case []any:
		for _, item := range v {
			name, text := item.(string)
			names, ok = append(names, name), ok && text
		}
	case string:
		if strings.TrimSpace(v) != "" {
			names = strings.Split(v, ",")
		}
	default:
		ok = false
	}
	if !ok {
		r.Wrong(key, "give a list of resources, such as nvidia.com/gpu, vendor.com/nic")
		return nil
	}
	var good []string
	var remedy string // for the first name that can't be right
	for _, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			remedy = cmp.Or(remedy, "one of its names is empty: take a comma away")
		case !resource.IsName(name):
			remedy = cmp.Or(remedy, fmt.Sprintf("%q is no resource: give names such as nvidia.com/gpu", name))
		case slices.Contains(good, name):
			remedy = cmp.Or(remedy, fmt.Sprintf("it names %s twice: name it once", name))
		default:
			good = append(good, name)
		}
	}
	if remedy != "" {
		r.Wrong(key, remedy)
	}
	return good
}

// Map reads a nested block of arguments; nil when it is not given. Read it with a
// Reader of its own and hand that one's faults to [Reader.Inside].
func (r *Reader) Map(key string) Args {
	if !r.Has(key) {
		return nil
	}
	m, ok := r.args[key].(map[string]any)
	if !ok {
		r.Wrong(key, "give a block of arguments")
	}
	return m
}

// Inside takes over what is wrong within the block at key.
func (r *Reader) Inside(key string, err error) {
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", key, err))
	}
}

// ResourcesAfter lists the resources that given arguments name after prefix, in
// order. A word that is none is left to be called unknown.
func (r *Reader) ResourcesAfter(prefix string) []string {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(r.args)) {
		if name, ok := strings.CutPrefix(key, prefix); ok && resource.IsName(name) {
			names = append(names, name)
		}
	}
	return names
}

// After lists what follows prefix in the names of given arguments, in order.
func (r *Reader) After(prefix string) []string {
	var names []string
	for _, key := range slices.Sorted(maps.Keys(r.args)) {
		if name, ok := strings.CutPrefix(key, prefix); ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Err names everything that is wrong, arguments that were never read included.
func (r *Reader) Err() error {
	errs := slices.Clone(r.errs)
	known := slices.Sorted(maps.Keys(r.known))
	for _, key := range slices.Sorted(maps.Keys(r.args)) {
		if !r.known[key] {
			errs = append(errs, &UnknownError{What: "argument", Name: key, Near: Nearest(key, known), Known: known})
		}
	}
	return errors.Join(errs...)
}

func (r *Reader) text(key string) string { return strings.TrimSpace(fmt.Sprint(r.args[key])) }
