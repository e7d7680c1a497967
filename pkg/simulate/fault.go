package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// place is where something was read.
type place struct {
	file string
	line int // from 1; 0: the file as a whole
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return p.file + ":" + strconv.Itoa(p.line)
}

// Fault is one thing that is wrong with a file: where, what and what would be right.
type Fault struct {
	File   string
	Line   int    // from 1; 0: the file as a whole
	Field  string // path of a key, or name of a column; empty: none in particular
	Value  string // as written; empty: nothing, or not a matter of one value
	What   string // what is wrong, when Value does not say it
	Remedy string
}

func (f Fault) Error() string {
	text := place{f.File, f.Line}.String() + ": "
	switch {
	case f.Field == "" && f.What == "":
		text += "this is " + strconv.Quote(shorten(f.Value))
	case f.Field == "":
		text += f.What
	case f.What != "":
		text += f.Field + " " + f.What
	case f.Value == "":
		text += f.Field + " is empty"
	default:
		text += f.Field + " is " + strconv.Quote(shorten(f.Value))
	}
	return text + ": " + f.Remedy
}

// Faults is all that is wrong with the files.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	const most = 50
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("there are %d more faults", more))
	}
	return strings.Join(lines, "\n")
}

// Err returns the faults in order of file and line; nil when there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Fault) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return f
}

// shorten bounds what is repeated of a value.
func shorten(text string) string { return reason.Clip(text, 60) }

// unknown says that a name means nothing here.
func unknown(at place, what, name string, known []string) Fault {
	f := Fault{File: at.file, Line: at.line, What: fmt.Sprintf("there is no %s %q", what, shorten(name)), Remedy: "there are " + strings.Join(known, ", ")}
	if near := framework.Nearest(name, known); near != "" {
		f.Remedy = fmt.Sprintf("did you mean %q? %s", near, f.Remedy)
	}
	return f
}

// clock says how long after the start an instant is, as in 1d02h03m04s.
func clock(ms int64) string {
	if ms < 60_000 {
		return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) + "s"
	}
	s := (ms + 500) / 1000
	days, hours, minutes := s/86_400, s/3600%24, s/60%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%02dh%02dm", days, hours, minutes)
	case hours > 0:
		return fmt.Sprintf("%dh%02dm%02ds", hours, minutes, s%60)
	default:
		return fmt.Sprintf("%dm%02ds", minutes, s%60)
	}
}
