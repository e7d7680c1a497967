package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Summary is what a replay saw.
type Summary struct {
	Events, Runs, Decisions int
}

// DifferenceError says where a replay decided otherwise than the recording.
type DifferenceError struct {
	Line      int // of the recording
	Want, Got string
}

func (e *DifferenceError) Error() string {
	return fmt.Sprintf("line %d: recorded %s, now decided %s", e.Line, e.Want, e.Got)
}

// Replay plays a recording to a new engine and compares its decisions, byte for
// byte. parse reads the configurations in it. The error names the line.
func Replay(in io.Reader, parse func(conf string) (engine.Config, error), registry framework.Registry) (Summary, error) {
	p := player{parse: parse, registry: registry}
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(bytes.TrimSpace(text)) > 0 {
				return p.Summary, fmt.Errorf("line %d: it is cut off", n)
			}
			if n == 1 {
				return p.Summary, errors.New("the recording is empty")
			}
			return p.Summary, nil
		}
		if err != nil {
			return p.Summary, fmt.Errorf("line %d: %w", n, err)
		}
		if err := p.play(n, text); err != nil {
			return p.Summary, err
		}
	}
}

type player struct {
	Summary
	parse    func(string) (engine.Config, error)
	registry framework.Registry
	engine   *engine.Engine
	heard    answers // of the run that follows
}

func (p *player) play(n int, text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	if n == 1 && l.Version != Version {
		return fmt.Errorf("line 1: version %q, this program reads %q", l.Version, Version)
	}
	if l.Conf != nil {
		if err := p.configure(*l.Conf); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if p.engine == nil {
		return fmt.Errorf("line %d: there is no configuration before it", n)
	}
	for _, t := range l.Events {
		ev, err := event(t)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		p.engine.Apply(ev)
		p.Events++
	}
	if l.Asked != "" {
		p.engine.Explain(l.Asked)
	}
	if l.Heard != nil {
		p.heard = l.Heard
	}
	if l.Run == nil {
		return nil
	}
	p.Runs++
	if err := p.engine.Recall(p.heard); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	p.heard = nil
	return p.compare(n, l)
}

func (p *player) configure(text string) error {
	config, err := p.parse(text)
	if err != nil {
		return err
	}
	if p.engine != nil {
		return p.engine.Reconfigure(config)
	}
	p.engine, err = engine.New(config, p.registry)
	return err
}

// compare runs the engine and compares what it decides.
func (p *player) compare(n int, l line) error {
	var w Writer
	got := w.decisions(p.engine.Run(*l.Run))
	if w.err != nil {
		return w.err
	}
	if _, err := p.engine.Heard(); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	p.Decisions += len(got)
	for i := range max(len(got), len(l.Decisions)) {
		want, now := show(l.Decisions, i), show(got, i)
		if want != now {
			return &DifferenceError{Line: n, Want: want, Got: now}
		}
	}
	return nil
}

func show(decisions []tagged, i int) string {
	if i >= len(decisions) {
		return "nothing more"
	}
	return decisions[i].Type + " " + string(decisions[i].Value)
}
