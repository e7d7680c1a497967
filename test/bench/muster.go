package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// scheduler is a `muster scheduler` that this program started.
type scheduler struct {
	cmd     *exec.Cmd
	address string // of its metrics
	client  *http.Client
	log     io.Closer
	done    chan struct{}
}

// startScheduler starts muster and does not wait for it.
func (b *bench) startScheduler() (*scheduler, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	args := append([]string{
		"scheduler", "--kubeconfig=" + b.cluster.Kubeconfig(), "--leader-elect=false", "--profiling",
		"--health-probe-bind-address=", "--metrics-bind-address=" + address,
	}, b.flags...)
	path := b.logs
	if path == "" {
		path = os.DevNull
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--muster-log: %w", err)
	}
	s := &scheduler{
		cmd: exec.Command(b.muster, args...), address: address, log: log,
		client: &http.Client{Transport: &http.Transport{DisableCompression: true}}, done: make(chan struct{}),
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		closing(log)
		return nil, fmt.Errorf("start muster: %w; build it with `make build`", err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	return s, nil
}

// stop ends the process, and waits until it has ended.
func (s *scheduler) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	closing(s.log)
}

var errEnded = errors.New("muster ended by itself; --muster-log=FILE keeps what it says")

// metric reads one value, or the sum of those with labels that have all the given words in them; 0 while it is not served.
func (s *scheduler) metric(ctx context.Context, name string, words ...string) (sum float64, err error) {
	body, err := s.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	defer closing(body)
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		series, text, ok := strings.Cut(lines.Text(), " ")
		if !ok || !(series == name || strings.HasPrefix(series, name+"{")) {
			continue
		}
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(series, w) }) {
			continue
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += n
	}
	return sum, lines.Err()
}

// requests are how many writes muster sent: bindings and events, and changes of status.
func (s *scheduler) requests(ctx context.Context) (posts, patches float64, err error) {
	posts, err = s.metric(ctx, "rest_client_requests_total", `method="POST"`)
	if err != nil {
		return 0, 0, err
	}
	patches, err = s.metric(ctx, "rest_client_requests_total", `method="PATCH"`)
	return posts, patches, err
}

func (s *scheduler) get(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		closing(resp.Body)
		return nil, fmt.Errorf("%s answers %s", path, resp.Status)
	}
	return resp.Body, nil
}

// awaitBinds waits until muster has bound so many pods. It returns when the first was seen bound.
func (s *scheduler) awaitBinds(ctx context.Context, want int) (first time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		bound, err := s.metric(ctx, "volcano_binds_total")
		if bound > 0 && first.IsZero() {
			first = time.Now()
		}
		if err == nil && int(bound) >= want {
			return first, nil
		}
		pause := 20 * time.Millisecond
		if bound > 0 && int(bound) < want*9/10 {
			pause = 200 * time.Millisecond // to be asked is work for muster, too
		}
		select {
		case <-s.done:
			return first, errEnded
		case <-ctx.Done():
			return first, errors.Join(fmt.Errorf("%v of %d pods are bound: %w", bound, want, context.Cause(ctx)), err)
		case <-time.After(pause):
		}
	}
}

// profile writes a CPU profile of the next seconds to a file.
func (s *scheduler) profile(ctx context.Context, seconds int, path string) error {
	body, err := s.get(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds))
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer closing(body)
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}
