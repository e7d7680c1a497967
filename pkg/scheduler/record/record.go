// Package record writes what an engine was told and what it decided as lines of
// JSON, and plays such lines to another engine to see whether it decides the same,
// byte for byte. A recording is a bug report that runs. It opens no file.
package record

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// Version is in the first line of every recording.
const Version = "muster/1"

// line is one line of a recording: a configuration, facts, a question, or a run.
type line struct {
	Version   string     `json:"version,omitempty"`
	Conf      *string    `json:"conf,omitempty"` // volcano-scheduler.conf from here on
	Events    []tagged   `json:"events,omitempty"`
	Asked     string     `json:"asked,omitempty"`     // why the gang of that name waits
	Heard     answers    `json:"heard,omitempty"`     // what servers outside answered in the run that follows
	Run       *time.Time `json:"run,omitempty"`       // the engine was run at this time,
	Decisions []tagged   `json:"decisions,omitempty"` // and decided this
}

// answers are what plugins were answered, by name.
type answers map[string]json.RawMessage

// tagged is a value with the name of its type.
type tagged struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// Writer writes a recording. Use it from one goroutine.
type Writer struct {
	out io.Writer
	err error
}

// NewWriter begins a recording of an engine with that configuration.
func NewWriter(out io.Writer, conf string) *Writer {
	w := &Writer{out: out}
	w.put(line{Version: Version, Conf: &conf})
	return w
}

// Configured notes another configuration.
func (w *Writer) Configured(conf string) { w.put(line{Conf: &conf}) }

// Applied notes facts. Pods and nodes are cut to what decisions depend on.
func (w *Writer) Applied(events []engine.Event) {
	if len(events) == 0 {
		return
	}
	l := line{Events: make([]tagged, len(events))}
	for i, ev := range events {
		l.Events[i] = w.tag(cut(ev))
	}
	w.put(l)
}

// Asked notes that somebody asked why a gang waits: to answer, the engine looks at
// nodes, and in which order it rates them counts where not all of them are rated.
func (w *Writer) Asked(gang string) { w.put(line{Asked: gang}) }

// Heard notes what servers outside answered in the run that is noted next; an error
// in telling that ends the recording.
func (w *Writer) Heard(heard map[string]json.RawMessage, err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("record: %w", err)
	}
	if len(heard) > 0 {
		w.put(line{Heard: heard})
	}
}

// Ran notes a run and what it decided.
func (w *Writer) Ran(now time.Time, report engine.Report) {
	w.put(line{Run: &now, Decisions: w.decisions(report)})
}

// Err is the first error; after it nothing is written any more.
func (w *Writer) Err() error { return w.err }

func (w *Writer) decisions(report engine.Report) []tagged {
	out := make([]tagged, len(report.Decisions))
	for i, d := range report.Decisions {
		out[i] = w.tag(d)
	}
	return out
}

func (w *Writer) tag(v any) tagged {
	text, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("record %T: %w", v, err)
	}
	return tagged{Type: name(v), Value: text}
}

func (w *Writer) put(l line) {
	if w.err != nil {
		return
	}
	text, err := json.Marshal(l)
	if err != nil {
		w.err = fmt.Errorf("record: %w", err)
		return
	}
	if _, err := w.out.Write(append(text, '\n')); err != nil {
		w.err = fmt.Errorf("record: %w", err)
	}
}
