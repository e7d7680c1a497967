package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// spec says how to start a component and when it is ready.
type spec struct {
	name  string
	path  string
	args  []string
	env   []string // in addition to the caller's
	ready func(context.Context) error
}

// process is a component that runs, or ran.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// nursery starts children from one OS thread that lives as long as the cluster:
// the kernel sends a child its parent-death signal when the *thread* that made
// it ends, and Go ends threads as it likes.
type nursery struct{ births chan func() }

func newNursery() *nursery {
	n := &nursery{births: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for birth := range n.births {
			birth()
		}
	}()
	return n
}

func (n *nursery) close() { close(n.births) }

func (n *nursery) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	result := make(chan error, 1)
	n.births <- func() { result <- cmd.Start() }
	return <-result
}

// launch starts a component and waits until it is ready. Its log is appended to.
func (c *Cluster) launch(ctx context.Context, s spec) error {
	if c.nursery == nil {
		return fmt.Errorf("start %s: cluster %q is owned by another process", s.name, c.config.Name)
	}
	if p := c.process(s.name); p != nil && !p.ended() {
		return fmt.Errorf("start %s: it runs already", s.name)
	}
	log, err := os.OpenFile(c.Logs(s.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", s.name, err)
	}
	defer log.Close()
	begin := time.Now()
	cmd := exec.Command(s.path, s.args...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Dir = c.dir
	cmd.Stdout, cmd.Stderr = log, log
	if err := c.nursery.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	c.mu.Lock()
	c.processes[s.name], c.specs[s.name] = p, s
	c.mu.Unlock()
	go func() {
		_ = cmd.Wait()
		close(p.done)
		if c.process(s.name) == p {
			c.progress.say("%s ended by itself: %s; its log is %s", s.name, cmd.ProcessState, c.Logs(s.name))
		}
	}()
	if err := c.save(); err != nil {
		return err
	}
	if err := p.await(ctx, s.ready); err != nil {
		return fmt.Errorf("%s is not ready: %w; the end of %s:\n%s", s.name, err, c.Logs(s.name), tail(c.Logs(s.name)))
	}
	c.progress.say("%s is ready after %.1f s", s.name, time.Since(begin).Seconds())
	return nil
}

// process returns a component's process, nil if it was not started or was ended.
func (c *Cluster) process(component string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[component]
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// errEnded says that a component ended by itself.
var errEnded = errors.New("it ended")

// await polls ready until it holds, the process ends, or time is over.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	pause, last := 50*time.Millisecond, error(nil)
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%w: %s", errEnded, p.cmd.ProcessState)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), last)
		case <-time.After(pause):
			if last = ready(ctx); last == nil {
				return nil
			}
			pause = min(pause*21/20, time.Second) // components log each question
		}
	}
}

// whileRuns polls as [poll] does, but only as long as a component of ours runs.
func (c *Cluster) whileRuns(ctx context.Context, component string, holds func(context.Context) error) error {
	if p := c.process(component); p != nil {
		return p.await(ctx, holds)
	}
	return poll(ctx, holds)
}

// stop asks the process to end and, after five seconds, no longer asks.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// portTaken reports whether a component found its port in use: somebody took it
// between our choosing it and the component's start.
func portTaken(err error) bool {
	return errors.Is(err, errEnded) && strings.Contains(err.Error(), "address already in use")
}

// tail returns the last lines of a file.
func tail(path string) string {
	const size = 4096
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > size {
		_, _ = f.Seek(-size, io.SeekEnd)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
