package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// serveVariable, in the environment, makes [Serve] bring a cluster up.
const serveVariable = "MUSTER_CLUSTER_SERVE"

// Detach brings a named cluster up that outlives this process: it is owned by a
// second copy of this program in the background. So this program's main must
// call [Serve] before all else. [End] takes the cluster down.
func Detach(ctx context.Context, cfg Config) (*Cluster, error) {
	if err := cfg.build(ctx); err != nil {
		return nil, err
	}
	if r, runs, err := Find(cfg.Name); err != nil || runs {
		return nil, errors.Join(err, fmt.Errorf("cluster %q runs already, owned by process %d", cfg.Name, r.PID))
	}
	dir, err := stateDir(cfg.Name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state folder: %w", err)
	}
	log, err := os.Create(filepath.Join(dir, supervisorLog))
	if err != nil {
		return nil, fmt.Errorf("make supervisor's log: %w", err)
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own program: %w", err)
	}
	data, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveVariable+"="+string(data))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	if err := follow(ctx, cfg, log.Name(), ended); err != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM) // unless it has ended
		return nil, err
	}
	return Connect(cfg.Name)
}

// follow passes the supervisor's log on until the cluster is ready, or can't be.
func follow(ctx context.Context, cfg Config, log string, ended <-chan struct{}) error {
	f, err := os.Open(log)
	if err != nil {
		return fmt.Errorf("follow supervisor: %w", err)
	}
	defer f.Close()
	out := cfg.Progress
	if out == nil {
		out = io.Discard
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.Copy(out, f); err != nil {
			return fmt.Errorf("follow supervisor: %w", err)
		}
		if r, _, err := Find(cfg.Name); err == nil && r.Ready {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("cluster %q did not come up; the end of %s:\n%s", cfg.Name, log, tail(log))
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Serve does nothing in a program that was started by a person. In the copy that
// [Detach] starts it brings the cluster up, waits for a signal to end, takes the
// cluster down, and reports true: the program is to end with the error.
func Serve(ctx context.Context) (served bool, err error) {
	text, asked := os.LookupEnv(serveVariable)
	if !asked {
		return false, nil
	}
	var cfg Config
	if err := errors.Join(json.Unmarshal([]byte(text), &cfg), os.Unsetenv(serveVariable)); err != nil {
		return true, fmt.Errorf("decode configuration: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	cfg.Progress = os.Stdout
	c, err := Up(ctx, cfg)
	if err != nil {
		return true, err
	}
	<-ctx.Done()
	return true, c.Down(context.WithoutCancel(ctx))
}

// Connect returns a named cluster that another process owns. Its components
// can't be started or killed from here.
func Connect(name string) (*Cluster, error) {
	r, runs, err := Find(name)
	if err != nil {
		return nil, err
	}
	if !runs || r.Kubeconfig == "" {
		return nil, fmt.Errorf("cluster %q: %w", name, ErrNotRunning)
	}
	dir, err := stateDir(name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{config: Config{Name: name}, dir: dir, kubeconfig: r.Kubeconfig, progress: newProgress(nil)}
	return c, c.connect()
}
