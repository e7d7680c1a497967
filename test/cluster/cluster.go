// Package cluster brings up a real Kubernetes control plane on loopback for
// tests, demonstrations and trying things out: etcd, kube-apiserver,
// kube-controller-manager, nodes simulated by kwok, and on request the real
// Kubeflow operators. All of it is built from Go modules, once per machine.
//
// The scheduler is left out: that is what Muster is. Everything listens on free
// ports of 127.0.0.1 and ends with the process that started it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config says what to bring up. The zero value is a control plane without nodes.
type Config struct {
	Name      string      // clusters of different names stand side by side; empty: one that leaves no trace
	Nodes     int         // simulated nodes
	Node      NodeProfile // what each node has
	Operators []Operator  // real operators to start
	CRDs      []string    // files or folders with CRDs, applied before operators start
	Muster    string      // muster's binary, started last as by [Cluster.StartMuster]; empty: none
	Conf      string      // whole path of a volcano-scheduler.conf for it; empty: the default
	Progress  io.Writer   `json:"-"` // told what goes on; nil: nobody
}

// NodeProfile is what a simulated node has. The zero value of each field is replaced by the value in brackets.
type NodeProfile struct {
	GPUs    int    // nvidia.com/gpu (8; negative: none)
	Product string // label nvidia.com/gpu.product (NVIDIA-H100-80GB-HBM3)
	CPU     string // (96)
	Memory  string // (1Ti)
	Pods    string // (110)
	Racks   int    // racks that nodes are spread over, label muster.sh/rack (4)
}

// Operator is a real operator: "training" (training-operator) or "mpi"
// (mpi-operator), with or without its gang flag for Volcano.
type Operator struct {
	Name string
	Gang bool
}

// Cluster is a running control plane. Its methods may be used concurrently.
type Cluster struct {
	config     Config
	dir        string
	release    func() // gives the name back
	kubeconfig string
	rest       *rest.Config
	client     kubernetes.Interface
	nursery    *nursery // nil: another process owns the cluster
	progress   *progress
	ports      ports

	mu        sync.Mutex
	processes map[string]*process
	specs     map[string]spec
	nodes     int
	muster    string // host:port of its metrics
	ready     bool   // all that was asked for is up
}

// readyWithin bounds how long any one component may take to be ready.
const readyWithin = 60 * time.Second

// Up brings a cluster up. Its children die with this process, however it ends.
func Up(ctx context.Context, cfg Config) (*Cluster, error) {
	if err := cfg.build(ctx); err != nil {
		return nil, err
	}
	sweep()
	c := &Cluster{
		config: cfg, progress: newProgress(cfg.Progress), nursery: newNursery(),
		processes: map[string]*process{}, specs: map[string]spec{},
	}
	err := c.claim()
	if err == nil {
		err = c.up(ctx)
	}
	if err == nil {
		c.ready = true
		err = c.save()
	}
	if err != nil {
		return nil, errors.Join(err, c.Down(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// build builds what this machine does not have yet, so that nothing half started
// waits for a compiler, or for a binary that is not there.
func (cfg Config) build(ctx context.Context) error {
	if cfg.Muster != "" {
		if _, err := musterBinary(cfg.Muster); err != nil {
			return err
		}
	}
	names := []string{ControlPlane}
	for _, o := range cfg.Operators {
		name, err := operatorBinary(o.Name)
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	return Build(ctx, cfg.Progress, names...)
}

func (c *Cluster) up(ctx context.Context) error {
	begin := time.Now()
	binary, err := Binary(ctx, ControlPlane, c.config.Progress)
	if err != nil {
		return err
	}
	for range 3 {
		if err = c.controlPlane(ctx, binary); !portTaken(err) {
			break
		}
		c.stopAll()
	}
	if err != nil {
		return err
	}
	if c.config.Nodes > 0 {
		if err := c.AddNodes(ctx, c.config.Nodes, c.config.Node); err != nil {
			return err
		}
	}
	c.progress.say("the cluster is up after %.1f s", time.Since(begin).Seconds())
	for _, o := range c.config.Operators {
		if err := c.StartOperator(ctx, o); err != nil {
			return err
		}
	}
	if c.config.Muster != "" {
		var flags []string
		if c.config.Conf != "" {
			flags = append(flags, "--scheduler-conf="+c.config.Conf)
		}
		return c.StartMuster(ctx, c.config.Muster, flags...)
	}
	return nil
}

// connect makes the admin's clients from the kubeconfig.
func (c *Cluster) connect() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return fmt.Errorf("read own kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = -1, -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	c.rest, c.client = cfg, client
	return nil
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// RESTConfig is the administrator's client configuration, without a rate limit. It is a copy.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.rest) }

// Down ends all components. A cluster without a name leaves nothing behind, one
// with a name its logs.
func (c *Cluster) Down(ctx context.Context) error {
	if c.nursery == nil {
		return End(ctx, c.config.Name)
	}
	c.stopAll()
	c.nursery.close()
	if c.dir == "" {
		return nil
	}
	err := os.RemoveAll(c.etcdDir())
	if c.config.Name == "" {
		err = errors.Join(err, os.RemoveAll(c.dir))
	} else {
		err = errors.Join(err, os.RemoveAll(c.file(stateFile)))
	}
	if c.release != nil {
		c.release()
	}
	return err
}

// stopAll lets clients of the API server finish what they do. The rest may be
// ended at once: nobody will look at its data again.
func (c *Cluster) stopAll() {
	c.mu.Lock()
	processes := maps.Clone(c.processes)
	clear(c.processes)
	c.mu.Unlock()
	var wait sync.WaitGroup
	for name, p := range processes {
		if name != etcd && name != apiServer {
			wait.Go(p.stop)
		}
	}
	wait.Wait()
	for _, name := range []string{apiServer, etcd} {
		if p := processes[name]; p != nil {
			p.kill()
		}
	}
}

// Logs is the path of a component's log.
func (c *Cluster) Logs(component string) string { return filepath.Join(c.dir, component+".log") }

// Tail returns the last lines of a component's log.
func (c *Cluster) Tail(component string) string { return tail(c.Logs(component)) }

// takeOut gives up a component that is about to be ended.
func (c *Cluster) takeOut(component string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[component]
	if p == nil {
		return nil, fmt.Errorf("component %q does not run", component)
	}
	delete(c.processes, component)
	return p, nil
}

// Kill ends a component at once, as a crash would.
func (c *Cluster) Kill(component string) error {
	p, err := c.takeOut(component)
	if err != nil {
		return err
	}
	p.kill()
	return c.save()
}

// Signal sends a signal to a component, which goes on.
func (c *Cluster) Signal(component string, signal os.Signal) error {
	c.mu.Lock()
	p := c.processes[component]
	c.mu.Unlock()
	if p == nil {
		return fmt.Errorf("component %q does not run", component)
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("signal %s: %w", component, err)
	}
	return nil
}

// Terminate asks a component to end and waits until it has, however long that takes.
func (c *Cluster) Terminate(ctx context.Context, component string) error {
	p, err := c.takeOut(component)
	if err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("end %s: %w", component, err)
	}
	select {
	case <-p.done:
		return c.save()
	case <-ctx.Done():
		p.kill()
		return errors.Join(ctx.Err(), c.save())
	}
}

// Restart starts a component that was killed with the same flags, and waits until it is ready.
func (c *Cluster) Restart(ctx context.Context, component string) error {
	c.mu.Lock()
	s, ok := c.specs[component]
	c.mu.Unlock()
	if !ok {
		return fmt.Errorf("component %q was never started", component)
	}
	return c.launch(ctx, s)
}
