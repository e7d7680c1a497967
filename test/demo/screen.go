package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-sh/muster/test/cluster"
)

// screen writes for people: in place on a terminal, in plain lines elsewhere.
type screen struct {
	out      *os.File
	terminal bool
	last     string // what the last plain line said
}

func newScreen(out *os.File) *screen { return &screen{out: out, terminal: cluster.IsTerminal(out)} }

func (s *screen) title(format string, args ...any) {
	fmt.Fprintf(s.out, "\n"+format+"\n", args...)
	s.last = ""
}

func (s *screen) say(format string, args ...any) { fmt.Fprintf(s.out, "  "+format+"\n", args...) }

// live shows a line that replaces the one before. Where lines can't be replaced
// it is written only when the milestone differs from the one before.
func (s *screen) live(milestone, line string) {
	switch {
	case s.terminal:
		fmt.Fprintf(s.out, "\r\x1b[K  %s", line)
	case milestone != s.last:
		s.say("%s", line)
	}
	s.last = milestone
}

// settle ends a live line.
func (s *screen) settle() {
	if s.terminal {
		fmt.Fprintln(s.out)
	}
	s.last = ""
}

// row is a line of the summary.
type row struct {
	what string
	took time.Duration
	more string
}

func (s *screen) table(rows []row) {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", r.what, seconds(r.took), r.more)
	}
	_ = w.Flush()
}

// seconds writes a duration as people read it.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// wrap breaks text into lines of at most so many letters, each indented.
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n    ")
}
