package conf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a configuration.
type Fault struct {
	Key  string // the ConfigMap's key whose text it is in; empty when the text came alone
	Line int    // in the text, from 1; 0 when it is the text as a whole
	Err  error  // what is wrong and what would be right
}

func (f Fault) Error() string {
	text := inShort(f.Err.Error())
	if f.Line > 0 {
		text = fmt.Sprintf("line %d: %s", f.Line, text)
	}
	if f.Key != "" {
		text = f.Key + ": " + text
	}
	return text
}

// inShort leaves out the middle of what is too long to be read, mostly a name or value of
// the text: what is wrong stands before that, and what would be right behind it.
func inShort(text string) string {
	const half = 400 // letters
	if letters := []rune(text); len(letters) > 2*half {
		return string(letters[:half]) + " … " + string(letters[len(letters)-half:])
	}
	return text
}

// Unwrap returns what is wrong, without its place.
func (f Fault) Unwrap() error { return f.Err }

// Faults is all that is wrong with a configuration, by line.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each fault.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i := range f {
		errs[i] = f[i]
	}
	return errs
}

// faultLimit bounds how many faults are told of one text, which may be far from what it should be.
const faultLimit = 50

// err returns the faults by line; nil when there are none.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	if more := len(f) - faultLimit; more > 0 {
		f = append(f[:faultLimit:faultLimit], Fault{Err: fmt.Errorf("there are %d more faults", more)})
	}
	return f
}
