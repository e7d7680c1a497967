package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations on pods that simulated nodes obey. Without them a pod runs until it is deleted.
const (
	// RunForAnnotation is how long a pod runs, for example "3s".
	RunForAnnotation = "muster.sh/run-for"
	// ExitCodeAnnotation is the exit code with which it then ends, for example "1"; none: 0.
	ExitCodeAnnotation = "muster.sh/exit-code"
)

// RackLabel on a node names its rack.
const RackLabel = "muster.sh/rack"

// AddNodes adds n simulated nodes and waits until they are ready.
func (c *Cluster) AddNodes(ctx context.Context, n int, profile NodeProfile) error {
	begin := time.Now()
	c.mu.Lock()
	first := c.nodes
	c.nodes += n
	c.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			node := profile.node(first + i)
			if _, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create node %s: %w", node.Name, err)
			}
			return c.whileRuns(ctx, kwok, func(ctx context.Context) error { return c.nodeReady(ctx, node.Name) })
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("add nodes: %w; the end of kwok's log:\n%s", err, tail(c.Logs(kwok)))
	}
	c.progress.say("%d nodes are ready after %.1f s", n, time.Since(begin).Seconds())
	return nil
}

func (c *Cluster) nodeReady(ctx context.Context, name string) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready, or still tainted", name)
}

func (p NodeProfile) node(i int) *corev1.Node {
	gpus := cmp.Or(p.GPUs, 8)
	product := cmp.Or(p.Product, "NVIDIA-H100-80GB-HBM3")
	racks := cmp.Or(p.Racks, 4)
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cmp.Or(p.CPU, "96")),
		corev1.ResourceMemory: resource.MustParse(cmp.Or(p.Memory, "1Ti")),
		corev1.ResourcePods:   resource.MustParse(cmp.Or(p.Pods, "110")),
	}
	name := fmt.Sprintf("node-%03d", i)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
				corev1.LabelTopologyZone: "zone-a", RackLabel: fmt.Sprintf("rack-%d", i%racks), "type": "kwok",
			},
		},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Phase: corev1.NodeRunning},
	}
	if gpus > 0 {
		room["nvidia.com/gpu"] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
		node.Labels["nvidia.com/gpu.product"] = product
		node.Labels["nvidia.com/gpu.count"] = fmt.Sprint(gpus)
	}
	return node
}

// poll asks every 50 ms until what is asked for holds, at most [readyWithin].
func poll(ctx context.Context, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}
