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
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config says what to bring up. The zero value is a control plane without nodes.
type Config struct {
	Name      string      // folder of the cluster's state; empty: a temporary one
	Nodes     int         // simulated nodes
	Node      NodeProfile // what each node has
	Operators []Operator  // real operators to start
	CRDs      []string    // files or folders with CRDs, applied before operators start
	Progress  io.Writer   // told what goes on; nil: nobody
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
	temporary  bool
	kubeconfig string
	rest       *rest.Config
	client     kubernetes.Interface
	nursery    *nursery
	progress   *progress
	ports      ports

	mu        sync.Mutex
	processes map[string]*process
	specs     map[string]spec
	nodes     int
	muster    string // host:port of its metrics
}

// readyWithin bounds how long any one component may take to be ready.
const readyWithin = 60 * time.Second

// Up brings a cluster up. Its children die with this process, however it ends.
func Up(ctx context.Context, cfg Config) (*Cluster, error) {
	p := &progress{out: cfg.Progress, start: time.Now()}
	binary, err := Binary(ctx, ControlPlane, cfg.Progress)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		config: cfg, progress: p, nursery: newNursery(),
		processes: map[string]*process{}, specs: map[string]spec{},
	}
	if err := c.up(ctx, binary); err != nil {
		return nil, errors.Join(err, c.Down(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) up(ctx context.Context, binary string) error {
	if err := c.makeDir(); err != nil {
		return err
	}
	var err error
	for range 3 {
		if err = c.controlPlane(ctx, binary); err == nil || !portTaken(err) {
			break
		}
		c.stopAll()
	}
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, c.config.CRDs...); err != nil {
		return err
	}
	if c.config.Nodes > 0 {
		if err := c.AddNodes(ctx, c.config.Nodes, c.config.Node); err != nil {
			return err
		}
	}
	for _, o := range c.config.Operators {
		if err := c.StartOperator(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) makeDir() error {
	if c.config.Name == "" {
		dir, err := os.MkdirTemp("", "muster-cluster-")
		if err != nil {
			return fmt.Errorf("make state folder: %w", err)
		}
		c.dir, c.temporary = dir, true
		return nil
	}
	dir, err := StateDir(c.config.Name)
	if err != nil {
		return err
	}
	c.dir = dir
	if err := os.RemoveAll(filepath.Join(dir, "etcd")); err != nil {
		return fmt.Errorf("clear state folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	return nil
}

// StateDir is where a cluster of that name keeps its state.
func StateDir(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	return filepath.Join(cache, "muster", "clusters", name), nil
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

// Down ends all components and removes a temporary cluster's state.
func (c *Cluster) Down(context.Context) error {
	c.stopAll()
	c.nursery.close()
	if scratch := c.etcdDir(); scratch != "" {
		_ = os.RemoveAll(scratch)
	}
	if c.temporary {
		return os.RemoveAll(c.dir)
	}
	return nil
}

func (c *Cluster) stopAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wait sync.WaitGroup
	for name, p := range c.processes {
		if name != etcd {
			wait.Go(p.stop)
		}
	}
	wait.Wait()
	if p := c.processes[etcd]; p != nil {
		p.stop()
	}
	clear(c.processes)
}

// Logs is the path of a component's log.
func (c *Cluster) Logs(component string) string { return filepath.Join(c.dir, component+".log") }

// Kill ends a component at once, as a crash would.
func (c *Cluster) Kill(component string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[component]
	if p == nil {
		return fmt.Errorf("component %q does not run", component)
	}
	p.kill()
	delete(c.processes, component)
	return nil
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
