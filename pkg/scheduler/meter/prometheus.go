package meter

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// What a node exporter says, as parts of the whole. What follows "and" leaves out nodes of
// which nothing was heard for five minutes. Idle time is divided by all time of the first
// CPU: a rate divides by the whole range, so that a node that came a minute ago would
// else seem to have been busy before.
const (
	cpuQuery = `1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[` + over + `]))` +
		` / sum by (instance) (rate(node_cpu_seconds_total{cpu="0"}[` + over + `])) and on (instance) node_cpu_seconds_total{mode="idle"}`
	memoryQuery = `1 - avg_over_time(node_memory_MemAvailable_bytes[` + over + `]) / avg_over_time(node_memory_MemTotal_bytes[` + over + `]) and on (instance) node_memory_MemAvailable_bytes`
)

// prometheus asks a Prometheus for what node exporters say. A node is the label instance,
// without its port.
type prometheus struct{ api promv1.API }

func newPrometheus(from framework.Metrics) (source, error) {
	client, err := api.NewClient(api.Config{Address: from.Address, RoundTripper: bounded{transport(from)}})
	if err != nil {
		return nil, fmt.Errorf("metrics at %s: %w", shown(from.Address), err)
	}
	return prometheus{promv1.NewAPI(client)}, nil
}

func (p prometheus) cpu(ctx context.Context) (reading, error)    { return p.ask(ctx, cpuQuery) }
func (p prometheus) memory(ctx context.Context) (reading, error) { return p.ask(ctx, memoryQuery) }

func (p prometheus) ask(ctx context.Context, query string) (reading, error) {
	value, _, _, err := p.api.Query(ctx, query, time.Time{}, promv1.WithTimeout(timeout))
	if err != nil {
		return nil, plain(err)
	}
	samples, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("its answer is a %s, not a vector", value.Type())
	}
	r := reading{}
	for _, s := range samples {
		r.put(host(string(s.Metric["instance"])), float64(s.Value))
	}
	return r, nil
}

// host takes the port off a name.
func host(instance string) string {
	if name, _, err := net.SplitHostPort(instance); err == nil {
		return name
	}
	return instance
}
