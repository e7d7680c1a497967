package cluster

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress tells people what goes on.
type progress struct {
	mu  sync.Mutex
	out io.Writer // nil: nobody listens
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out != nil {
		_, _ = fmt.Fprintf(p.out, "  "+format+"\n", args...)
	}
}

// silence ends the talking, for a cluster that outlives its listener.
func (p *progress) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = nil
}

// tick says again and again, until stopped, what is being done and for how long:
// each second in place on a terminal, every 15 seconds on a new line elsewhere.
func (p *progress) tick(what func() string) (stop func()) {
	every, line, last := 15*time.Second, "  %s, %v\n", ""
	if IsTerminal(p.out) {
		every, line, last = time.Second, "\r\x1b[K  %s, %v", "\n"
	}
	begin := time.Now()
	say := func() {
		if p.out != nil {
			_, _ = fmt.Fprintf(p.out, line, what(), time.Since(begin).Round(time.Second))
		}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	say()
	go func() {
		defer close(ended)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				say()
			case <-end:
				say()
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		if p.out != nil {
			_, _ = fmt.Fprint(p.out, last)
		}
	}
}

// IsTerminal reports whether a writer is a terminal, where lines can be rewritten.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
