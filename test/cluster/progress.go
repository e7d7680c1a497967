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
	out   io.Writer // nil: nobody listens
	start time.Time
	mu    sync.Mutex
}

func (p *progress) say(format string, args ...any) {
	if p == nil || p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "  "+format+"\n", args...)
}

// tick says what is being done and for how long, again and again until stopped.
func (p *progress) tick(what string) (stop func()) {
	if p.out == nil {
		return func() {}
	}
	terminal := isTerminal(p.out)
	every, line := 15*time.Second, "  %s … %.0f s\n"
	if terminal {
		every, line = time.Second, "\r  %s … %.0f s"
	}
	say := func() { _, _ = fmt.Fprintf(p.out, line, what, time.Since(p.start).Seconds()) }
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
				if terminal {
					_, _ = fmt.Fprintln(p.out)
				}
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
