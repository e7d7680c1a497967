package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/test/cluster"
)

// exporter says of nodes what node exporters would, on loopback. How busy each is, is set.
type exporter struct {
	server *httptest.Server

	mu    sync.Mutex
	nodes map[string]*busy
	names []string
}

// busy is a node's counters: seconds that one core was idle and not, as of an instant.
type busy struct {
	cpu, memory float64 // parts of the whole that are used now
	idle, used  float64
	at          time.Time
}

// newExporter starts an exporter of idle nodes.
func newExporter(t *testing.T, nodes ...string) *exporter {
	e := &exporter{nodes: map[string]*busy{}, names: nodes}
	for _, name := range nodes {
		e.nodes[name] = &busy{at: time.Now()}
	}
	e.server = httptest.NewServer(e)
	t.Cleanup(e.server.Close)
	return e
}

// use sets which parts of a node's CPU and memory are used from now on.
func (e *exporter) use(node string, cpu, memory float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.nodes[node]
	n.pass()
	n.cpu, n.memory = cpu, memory
}

func (n *busy) pass() {
	now := time.Now()
	gone := now.Sub(n.at).Seconds()
	n.idle, n.used, n.at = n.idle+gone*(1-n.cpu), n.used+gone*n.cpu, now
}

// ServeHTTP says what one node's exporter would.
func (e *exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.nodes[strings.TrimPrefix(r.URL.Path, "/")]
	if n == nil {
		http.NotFound(w, r)
		return
	}
	n.pass()
	const memory = 1 << 40
	fmt.Fprintf(w, "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} %f\n", n.idle)
	fmt.Fprintf(w, "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} %f\n", n.used)
	fmt.Fprintf(w, "node_memory_MemTotal_bytes %d\n", memory)
	fmt.Fprintf(w, "node_memory_MemAvailable_bytes %f\n", memory*(1-n.memory))
}

// config has Prometheus read it every second.
func (e *exporter) config() string {
	var text strings.Builder
	text.WriteString("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: node\n  fallback_scrape_protocol: PrometheusText0.0.4\n  static_configs:\n")
	for _, name := range e.names {
		fmt.Fprintf(&text, "  - {targets: [%q], labels: {instance: %q, __metrics_path__: %q}}\n", e.server.Listener.Addr(), name+":9100", "/"+name)
	}
	return text.String()
}

// confUsage looks at how busy nodes are, as the Prometheus at %s says.
const confUsage = `actions: "enqueue, allocate, shuffle"
metrics: {type: prometheus, address: "%s", interval: 1s}
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins:
  - name: predicates
  - name: usage
    arguments: {thresholds: {cpu: 80, mem: 80}}
  - name: rescheduling
    arguments:
      interval: 1h
      strategies: [{name: lowNodeUtilization, params: {thresholds: {cpu: 20, memory: 20}, targetThresholds: {cpu: 50, memory: 60}}}]
`

// TestBusyNodesAreLeft has a real Prometheus read nodes of which one is too busy for
// anything new, and another busier than it should be, so that pods leave it.
func TestBusyNodesAreLeft(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 3})
	ns := w.Namespace(t)
	nodes := newExporter(t, "node-000", "node-001", "node-002")
	nodes.use("node-000", 0.85, 0.1)
	nodes.use("node-001", 0.6, 0.1)
	address, err := w.StartPrometheus(t.Context(), nodes.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Kill(cluster.Prometheus) })
	w.cordon(t, true, "node-000", "node-002")
	w.podGroup(t, ns, "loose", 1, "default")
	for i := range 4 {
		p := member(ns, "loose", i, 1)
		p.Spec.Containers[0].Resources.Requests = cpu("24").Requests
		p.Finalizers = []string{"example.com/slow"}
		w.create(t, ns, p)
	}
	t.Cleanup(func() { w.unfinalize(t, ns) })
	w.allBound(t, ns, "loose", 4)
	w.cordon(t, false, "node-000", "node-002")

	eventually(t, func(ctx context.Context) error { return metered(ctx, address, 3) })
	left := w.disrupted(t, ns, evictedByScheduler, "plugin rescheduling has it leave node node-001: it uses 60% of its cpu, more than 50%, and node node-002 is idle")
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	replace(t, path, fmt.Sprintf(confUsage, address))
	w.restart(t, "--scheduler-conf="+path)
	eventually(t, func(context.Context) error {
		if n := left(); n != 1 { // of 60% each of the four asks for 25%
			return fmt.Errorf("%d pods left node-001", n)
		}
		return nil
	})

	const busy = "uses more than 80% of its CPU"
	w.podGroup(t, ns, "pinned", 1, "default")
	w.create(t, ns, on(member(ns, "pinned", 0, 1), "node-000"))
	w.saysWhy(t, ns, "pinned", "1 "+busy)
	nodes.use("node-000", 0, 0.1)
	w.allBound(t, ns, "pinned", 1)
	if n := left(); n != 1 {
		t.Errorf("%d pods left node-001 in one round", n)
	}
}

// metered returns nil when Prometheus can tell the use of so many nodes.
func metered(ctx context.Context, address string, nodes int) error {
	text, err := fetch(ctx, address+"/api/v1/query?query=count(rate(node_cpu_seconds_total{mode=%22idle%22}[10m]))")
	if err == nil && !strings.Contains(text, fmt.Sprintf("%q]", fmt.Sprint(nodes))) {
		err = fmt.Errorf("Prometheus says %s", text)
	}
	return err
}

// on has a pod ask for one node.
func on(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	return p
}

// cordon keeps pods off nodes, or lets them on again.
func (w *world) cordon(t *testing.T, shut bool, nodes ...string) {
	t.Helper()
	for _, node := range nodes {
		w.patchNode(t, node, fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, shut))
	}
}

func (w *world) patchNode(t *testing.T, node, patch string) {
	t.Helper()
	_, err := w.core.CoreV1().Nodes().Patch(context.WithoutCancel(t.Context()), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
