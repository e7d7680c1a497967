package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// adaptor asks for custom metrics through the API server: node_cpu_usage_avg and
// node_memory_usage_avg of nodes, as parts of the whole.
type adaptor struct{ Cluster }

func (a adaptor) cpu(ctx context.Context) (reading, error) { return a.ask(ctx, "node_cpu_usage_avg") }

func (a adaptor) memory(ctx context.Context) (reading, error) {
	return a.ask(ctx, "node_memory_usage_avg")
}

// metricValues is what counts of a MetricValueList.
type metricValues struct {
	Items []struct {
		DescribedObject struct{ Name string }
		Value           apiresource.Quantity
	}
}

func (a adaptor) ask(ctx context.Context, metric string) (reading, error) {
	if a.Client == nil {
		return nil, errors.New("there is no API server to ask for custom metrics")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Address+"/apis/custom.metrics.k8s.io/v1beta1/nodes/*/"+metric, nil)
	if err != nil {
		return nil, err
	}
	var answer metricValues
	if err := fetch(a.Client, req, &answer); err != nil {
		return nil, err
	}
	r := reading{}
	for _, item := range answer.Items {
		r.put(item.DescribedObject.Name, item.Value.AsApproximateFloat64())
	}
	return r, nil
}

// elastic asks an Elasticsearch for what Metricbeat wrote.
type elastic struct {
	from   framework.Metrics
	client *http.Client
}

func (e elastic) cpu(ctx context.Context) (reading, error) { return e.ask(ctx, "host.cpu.usage") }

func (e elastic) memory(ctx context.Context) (reading, error) {
	return e.ask(ctx, "system.memory.actual.used.pct")
}

// buckets is what counts of an answer: the average of each host.
type buckets struct {
	Aggregations struct {
		Hosts struct {
			Buckets []struct {
				Key  string
				Used struct{ Value *float64 }
			}
			Rest int64 `json:"sum_other_doc_count"`
		}
	}
}

// mostHosts is how many hosts Elasticsearch tells of at once.
const mostHosts = 10_000

func (e elastic) ask(ctx context.Context, field string) (reading, error) {
	question, err := json.Marshal(map[string]any{
		"size":  0,
		"query": map[string]any{"range": map[string]any{"@timestamp": map[string]any{"gte": "now-" + over, "lt": "now"}}},
		"aggs": map[string]any{"hosts": map[string]any{
			"terms": map[string]any{"field": e.from.HostField, "size": mostHosts},
			"aggs":  map[string]any{"used": map[string]any{"avg": map[string]any{"field": field}}},
		}},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.from.Address+"/"+e.from.Index+"/_search", bytes.NewReader(question))
	if err != nil {
		return nil, plain(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if e.from.Username != "" {
		req.SetBasicAuth(e.from.Username, e.from.Password)
	}
	var answer buckets
	if err := fetch(e.client, req, &answer); err != nil {
		return nil, err
	}
	if rest := answer.Aggregations.Hosts.Rest; rest > 0 {
		return nil, fmt.Errorf("it knows more than %d hosts; read Prometheus instead", mostHosts)
	}
	r := reading{}
	for _, b := range answer.Aggregations.Hosts.Buckets {
		if b.Used.Value != nil {
			r.put(b.Key, *b.Used.Value)
		}
	}
	return r, nil
}
