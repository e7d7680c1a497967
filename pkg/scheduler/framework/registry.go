package framework

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Env is what a plugin may know of the world that it is made for.
type Env struct {
	// Dim numbers a resource name.
	Dim func(name string) int
	// Idle is told of arguments that mean nothing here, and why; nil: nobody is.
	Idle func(key, because string)
}

// New makes a plugin, or says which argument is wrong and what would be right.
type New func(args Args, env Env) (Plugin, error)

// Registry names the plugins that a configuration may use.
type Registry map[string]New

// Build makes the plugin called name.
func (r Registry) Build(name string, args Args, env Env) (Plugin, error) {
	build, ok := r[name]
	if !ok {
		names := slices.Sorted(maps.Keys(r))
		return nil, &UnknownError{What: "plugin", Name: name, Near: Nearest(name, names), Known: names}
	}
	p, err := build(args, env)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", name, err)
	}
	return p, nil
}

// UnknownError says that a name means nothing here.
type UnknownError struct {
	What  string // plugin, action, argument …
	Name  string
	Near  string   // what was probably meant; empty when nothing is near
	Known []string // what there is
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("%s %q is unknown", e.What, e.Name)
	switch {
	case e.Near != "":
		return text + fmt.Sprintf("; did you mean %q?", e.Near)
	case len(e.Known) > 0:
		return text + "; there are " + strings.Join(e.Known, ", ")
	default:
		return text + "; there are none"
	}
}

// Nearest returns the candidate that differs from name in the fewest letters;
// empty when even that one differs in more than a third of them. Case, and the
// difference between "-", "_" and ".", count for nothing.
func Nearest(name string, candidates []string) string {
	best, least := "", len(name)/3+1
	for _, c := range candidates {
		if apart := len(name) - len(c); apart > least || -apart > least {
			continue
		}
		if d := distance(plain(name), plain(c)); d < least || (d == least && best == "") {
			best, least = c, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '.':
			return '-'
		default:
			return r
		}
	}, strings.ToLower(s))
}

// distance is the number of letters to insert, drop or change (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
