// Package meter reads how busy nodes are from a source of metrics, in the background,
// and tells it as facts. It decides nothing: what is too old, and what follows from it,
// others say.
package meter

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Bounds of one reading.
const (
	timeout   = 10 * time.Second
	mostBytes = 64 << 20 // of an answer
	mostNodes = 100_000
)

// over is how long usage is averaged.
const over = "10m"

// reading is part of what each node uses of what it has, by name of node.
type reading map[string]float64

// source reads the two things that count.
type source interface {
	cpu(ctx context.Context) (reading, error)
	memory(ctx context.Context) (reading, error)
}

// Run reads from a source at once, and then each time its interval has passed, until ctx
// ends. It tells what it read, or why it could not; never both, and never two at once.
func (c Cluster) Run(ctx context.Context, from framework.Metrics, tell func(*framework.Usage, error)) {
	src, err := c.source(from)
	if err != nil {
		tell(nil, err)
		return
	}
	ticker := time.NewTicker(max(from.Interval, time.Second))
	defer ticker.Stop()
	for {
		usage, err := read(ctx, src)
		if ctx.Err() != nil {
			return
		}
		tell(usage, err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// read reads once, within the time there is.
func read(ctx context.Context, src source) (*framework.Usage, error) {
	at := time.Now().Round(0)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cpu, err := src.cpu(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the use of CPU: %w", err)
	}
	memory, err := src.memory(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the use of memory: %w", err)
	}
	usage := &framework.Usage{ObjectMeta: metav1.ObjectMeta{Name: framework.UsageName}, At: at}
	for name, used := range cpu {
		if of, ok := memory[name]; ok {
			usage.Nodes = append(usage.Nodes, framework.NodeUsage{Name: name, CPU: percent(used), Memory: percent(of)})
		}
	}
	switch {
	case len(usage.Nodes) == 0:
		return nil, fmt.Errorf("it knows no node's use of both CPU and memory (of CPU %d, of memory %d): are its labels the names of nodes?", len(cpu), len(memory))
	case len(usage.Nodes) > mostNodes:
		return nil, fmt.Errorf("it speaks of %d nodes, more than %d: is it the right source?", len(usage.Nodes), mostNodes)
	}
	slices.SortFunc(usage.Nodes, func(a, b framework.NodeUsage) int { return cmp.Compare(a.Name, b.Name) })
	return usage, nil
}

// percent rounds a part of the whole.
func percent(part float64) int32 { return int32(math.Round(100 * min(max(part, 0), 1))) }

// put notes what a node uses. What is no number is left out; of two the larger counts.
func (r reading) put(node string, part float64) {
	if node != "" && !math.IsNaN(part) && !math.IsInf(part, 0) {
		r[node] = max(r[node], part)
	}
}
