package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Files of a named cluster's state folder that outlive the cluster.
const (
	lockFile      = "lock"       // locked by the process that owns the cluster, and holds its id
	stateFile     = "state.json" // what [Find] reads
	supervisorLog = "supervisor.log"
)

// Running is a named cluster that somebody brought up.
type Running struct {
	Name       string
	PID        int    // of the process that owns it
	Kubeconfig string // empty as long as there is none
	Ready      bool   // all that was asked for is up
	Components map[string]int
}

// Alive reports whether a component runs.
func (r Running) Alive(component string) bool {
	return r.Components[component] != 0 && alive(r.Components[component])
}

// Names are the names of the components, sorted.
func (r Running) Names() []string { return slices.Sorted(maps.Keys(r.Components)) }

// ErrNotRunning says that there is no such cluster to end.
var ErrNotRunning = errors.New("does not run")

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// stateDir is where a cluster of that name keeps its state; without a name, where all do.
func stateDir(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	return filepath.Join(cache, "muster", "clusters", name), nil
}

// claim makes the state folder and takes the cluster's name until [Cluster.Down].
func (c *Cluster) claim() error {
	name := c.config.Name
	if name == "" {
		dir, err := os.MkdirTemp("", fmt.Sprintf("muster-cluster-%d-", os.Getpid()))
		if err != nil {
			return fmt.Errorf("make state folder: %w", err)
		}
		c.dir = dir
		return nil
	}
	if !validName.MatchString(name) {
		return fmt.Errorf("name %q: use lower-case letters, digits and dashes", name)
	}
	dir, err := stateDir(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	held, err := tryLock(filepath.Join(dir, lockFile))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("cluster %q runs already, owned by process %d", name, owner(dir))
	}
	if err != nil {
		return fmt.Errorf("lock state folder: %w", err)
	}
	if err := errors.Join(held.Truncate(0), tidy(dir)); err != nil {
		return errors.Join(fmt.Errorf("clear state folder: %w", err), held.Close())
	}
	if _, err := fmt.Fprintln(held, os.Getpid()); err != nil {
		return errors.Join(fmt.Errorf("write lock: %w", err), held.Close())
	}
	c.dir, c.release = dir, func() { _ = held.Close() }
	return nil
}

// tidy removes what an earlier cluster of the same name left.
func tidy(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != lockFile && e.Name() != supervisorLog {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// owner is the process id in a lock file, 0 if there is none.
func owner(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, lockFile))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// save writes down what runs, for [Find].
func (c *Cluster) save() error {
	if c.config.Name == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Running{Name: c.config.Name, PID: os.Getpid(), Kubeconfig: c.kubeconfig, Ready: c.ready, Components: map[string]int{}}
	for name, p := range c.processes {
		r.Components[name] = p.cmd.Process.Pid
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	if err := os.WriteFile(c.file("state.new"), data, 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return os.Rename(c.file("state.new"), c.file(stateFile))
}

// Find returns the named cluster if it runs. Its owner holds the lock, so the
// process id is no other program's.
func Find(name string) (Running, bool, error) {
	dir, err := stateDir(name)
	if err != nil {
		return Running{}, false, err
	}
	held, err := tryLock(filepath.Join(dir, lockFile))
	if err == nil {
		return Running{}, false, held.Close()
	}
	if errors.Is(err, os.ErrNotExist) {
		return Running{}, false, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return Running{}, false, fmt.Errorf("look at cluster %q: %w", name, err)
	}
	r := Running{Name: name, PID: owner(dir)}
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return r, true, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, true, fmt.Errorf("read state of cluster %q: %w", name, err)
	}
	return r, true, nil
}

// List returns the named clusters that run, by name.
func List() ([]Running, error) {
	all, err := stateDir("")
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	var found []Running
	for _, e := range entries {
		r, runs, err := Find(e.Name())
		if err != nil {
			return nil, err
		}
		if runs {
			found = append(found, r)
		}
	}
	return found, nil
}

// End takes a named cluster down that another process owns, and waits until nothing of it runs.
func End(ctx context.Context, name string) error {
	r, runs, err := Find(name)
	if err != nil {
		return err
	}
	if !runs {
		return fmt.Errorf("cluster %q: %w", name, ErrNotRunning)
	}
	if r.PID == 0 {
		return fmt.Errorf("cluster %q: its lock names no process", name)
	}
	gone := func(context.Context) error {
		_, runs, err := Find(name)
		left := slices.ContainsFunc(r.Names(), r.Alive)
		if err == nil && (runs || left) {
			err = fmt.Errorf("cluster %q still runs, owned by process %d", name, r.PID)
		}
		return err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(r.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end process %d: %w", r.PID, err)
		}
		patience, cancel := context.WithTimeout(ctx, 20*time.Second)
		err = poll(patience, gone)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

// sweep removes what clusters without a name left whose process was killed: it
// could not tidy up, and data in memory takes room.
func sweep() {
	for _, pattern := range []string{filepath.Join(os.TempDir(), "muster-cluster-*"), filepath.Join(inMemory, "muster-etcd-*")} {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		for _, folder := range folders {
			parts := strings.Split(filepath.Base(folder), "-")
			if pid, err := strconv.Atoi(parts[2]); err == nil && !alive(pid) {
				_ = os.RemoveAll(folder)
			}
		}
	}
}

// alive reports whether a process runs. One that ended and was not yet waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// LogOf returns the path of a component's log in a named cluster, which may be down.
func LogOf(name, component string) (string, error) {
	dir, err := stateDir(name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, component+".log")
	if _, err := os.Stat(path); err != nil {
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for i := range logs {
			logs[i] = strings.TrimSuffix(filepath.Base(logs[i]), ".log")
		}
		return "", fmt.Errorf("cluster %q has no log of %q; it has %s", name, component, strings.Join(logs, ", "))
	}
	return path, nil
}
