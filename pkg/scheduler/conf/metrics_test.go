package conf_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

func TestTheSourceOfMetricsIsRead(t *testing.T) {
	tests := map[string]struct {
		text string
		want framework.Metrics
	}{
		"none": {"actions: allocate\n", framework.Metrics{}},
		"as upstream documents it": {
			"metrics:\n  type: prometheus\n  address: https://prometheus:9090\n  interval: 60s\n  tls:\n    insecureSkipVerify: \"true\"\n",
			framework.Metrics{Type: "prometheus", Address: "https://prometheus:9090", Interval: time.Minute, Insecure: true, Index: "metricbeat-*", HostField: "host.hostname"},
		},
		"custom metrics of the cluster": {
			"metrics:\n  type: prometheus_adaptor\n",
			framework.Metrics{Type: "prometheus_adaptor", Interval: 30 * time.Second, Index: "metricbeat-*", HostField: "host.hostname"},
		},
		"Elasticsearch": {
			"metrics:\n  type: elasticsearch\n  address: http://es:9200\n  elasticsearch:\n    index: beats\n    username: me\n    password: secret\n    hostnameFieldName: host.name\n",
			framework.Metrics{Type: "elasticsearch", Address: "http://es:9200", Interval: 30 * time.Second, Index: "beats", Username: "me", Password: "secret", HostField: "host.name"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, config.Metrics); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
