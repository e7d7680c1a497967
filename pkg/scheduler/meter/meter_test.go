package meter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// vector is an answer of Prometheus' query API, in its own words.
func vector(samples ...string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(samples, ",") + `]}}`
}

func sample(instance, value string) string {
	return fmt.Sprintf(`{"metric":{"instance":%q,"job":"node"},"value":[1767225600.5,%q]}`, instance, value)
}

// prom is a server that speaks Prometheus' query API.
func prom(cpu, memory string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.FormValue("query")
		switch {
		case r.URL.Path != "/prom/api/v1/query":
			http.NotFound(w, r)
		case strings.Contains(query, "node_cpu_seconds_total"):
			fmt.Fprint(w, cpu)
		case strings.Contains(query, "node_memory_MemAvailable_bytes"):
			fmt.Fprint(w, memory)
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"parse error"}`)
		}
	}
}

func TestPrometheusIsRead(t *testing.T) {
	full := vector(sample("n1", "0.5"), sample("n2:9100", "0.25"))
	tests := map[string]struct {
		cpu, memory string
		want        []framework.NodeUsage
		fault       string
	}{
		"nodes with and without a port": {full, vector(sample("n2:9100", "0.999"), sample("n1", "0.104")), []framework.NodeUsage{{Name: "n1", CPU: 50, Memory: 10}, {Name: "n2", CPU: 25, Memory: 100}}, ""},
		"of two series the larger":      {vector(sample("n1:1", "0.2"), sample("n1:2", "0.4")), vector(sample("n1", "0")), []framework.NodeUsage{{Name: "n1", CPU: 40}}, ""},
		"what is no number is left out": {vector(sample("n1", "NaN"), sample("n2", "+Inf"), sample("n3", "-0.1")), vector(sample("n1", "0"), sample("n2", "0"), sample("n3", "1.2")), []framework.NodeUsage{{Name: "n3", CPU: 0, Memory: 100}}, ""},
		"nothing":                       {vector(), vector(), nil, "it knows no node's use of both CPU and memory (of CPU 0, of memory 0): are its labels the names of nodes?"},
		"other nodes each time":         {vector(sample("n1", "0.5")), vector(sample("n2", "0.5")), nil, "it knows no node's use of both CPU and memory (of CPU 1, of memory 1): are its labels the names of nodes?"},
		"an error":                      {`{"status":"error","errorType":"execution","error":"too many samples"}`, full, nil, "read the use of CPU: execution: too many samples"},
		"no vector":                     {full, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`, nil, "read the use of memory: its answer is a scalar, not a vector"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(prom(tt.cpu, tt.memory))
			defer server.Close()
			src, err := Cluster{}.source(framework.Metrics{Type: "prometheus", Address: server.URL + "/prom"})
			if err != nil {
				t.Fatal(err)
			}
			usage, err := read(t.Context(), src)
			compare(t, usage, err, tt.want, tt.fault)
		})
	}
}

func compare(t *testing.T, usage *framework.Usage, err error, want []framework.NodeUsage, fault string) {
	t.Helper()
	switch {
	case err != nil && (fault == "" || err.Error() != fault):
		t.Errorf("fault %v, want %q", err, fault)
	case err == nil && fault != "":
		t.Errorf("read %v, want fault %q", usage.Nodes, fault)
	case err == nil:
		if diff := cmp.Diff(want, usage.Nodes); diff != "" {
			t.Error(diff)
		}
	}
}

func TestASourceThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	src, err := Cluster{}.source(framework.Metrics{Type: "prometheus", Address: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(ctx, src); err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("%v", err)
	}
}

func TestAPasswordIsNotInTheFault(t *testing.T) {
	src, err := Cluster{}.source(framework.Metrics{Type: "prometheus", Address: "http://me:secret@127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context(), src); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestItIsReadAgainAndAgain: each time its interval has passed, faults or not, until the end.
func TestItIsReadAgainAndAgain(t *testing.T) {
	down := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("query") == cpuQuery && down {
			down = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		one := vector(sample("n1", "0.5"))
		prom(one, one)(w, r)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	Cluster{}.Run(ctx, framework.Metrics{Type: "prometheus", Address: server.URL + "/prom", Interval: time.Second}, func(u *framework.Usage, err error) {
		if err != nil {
			told = append(told, "fault")
			return
		}
		told = append(told, fmt.Sprint(u.Nodes))
		if time.Since(u.At) > time.Minute {
			t.Errorf("it was read at %s", u.At)
		}
		cancel()
	})
	if diff := cmp.Diff([]string{"fault", "[{n1 50 50}]"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestCustomMetricsAreRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := map[string]string{
			"/apis/custom.metrics.k8s.io/v1beta1/nodes/*/node_cpu_usage_avg":    "250m",
			"/apis/custom.metrics.k8s.io/v1beta1/nodes/*/node_memory_usage_avg": "1",
		}
		value, ok := values[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"kind":"MetricValueList","items":[{"describedObject":{"kind":"Node","name":"n1"},"metricName":"m","value":%q}]}`, value)
	}))
	defer server.Close()
	src, err := Cluster{Client: server.Client(), Address: server.URL}.source(framework.Metrics{Type: "prometheus_adaptor"})
	if err != nil {
		t.Fatal(err)
	}
	usage, err := read(t.Context(), src)
	compare(t, usage, err, []framework.NodeUsage{{Name: "n1", CPU: 25, Memory: 100}}, "")
}

func TestElasticsearchIsRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		var question struct {
			Aggs struct {
				Hosts struct {
					Terms struct{ Field string }
					Aggs  struct {
						Used struct{ Avg struct{ Field string } }
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil || r.URL.Path != "/metricbeat-*/_search" || user != "me" || password != "secret" || question.Aggs.Hosts.Terms.Field != "host.name" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		value := map[string]string{"host.cpu.usage": "0.5", "system.memory.actual.used.pct": "null"}[question.Aggs.Hosts.Aggs.Used.Avg.Field]
		fmt.Fprintf(w, `{"aggregations":{"hosts":{"sum_other_doc_count":0,"buckets":[{"key":"n1","doc_count":9,"used":{"value":0.75}},{"key":"n2","doc_count":9,"used":{"value":%s}}]}}}`, value)
	}))
	defer server.Close()
	src, err := Cluster{}.source(framework.Metrics{Type: "elasticsearch", Address: server.URL, Index: "metricbeat-*", Username: "me", Password: "secret", HostField: "host.name"})
	if err != nil {
		t.Fatal(err)
	}
	usage, err := read(t.Context(), src)
	compare(t, usage, err, []framework.NodeUsage{{Name: "n1", CPU: 75, Memory: 75}}, "")
}

func TestUnknownSourcesAreRefused(t *testing.T) {
	var told error
	Cluster{}.Run(t.Context(), framework.Metrics{Type: "influx"}, func(_ *framework.Usage, err error) { told = err })
	if told == nil || !strings.Contains(told.Error(), "influx") {
		t.Errorf("%v", told)
	}
	if got := shown((&url.URL{Scheme: "http", Host: "x", User: url.UserPassword("me", "secret")}).String()); strings.Contains(got, "secret") {
		t.Error(got)
	}
}
