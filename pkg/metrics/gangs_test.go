package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/pkg/metrics"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/live"
)

// TestWhatTakesALookAtAllIsShown: of each PodGroup, and what queues can come to.
func TestWhatTakesALookAtAllIsShown(t *testing.T) {
	last := &live.Snapshot{
		Gangs: []live.GangUse{
			{Namespace: "ml", Name: "bert-1", Job: "bert", Queue: "q", Pending: 31 * time.Minute, Waiting: 4, Told: 2},
			{Namespace: "ml", Name: "done", Job: "done", Queue: "q", Placed: 1500 * time.Millisecond},
			{Namespace: "ml", Name: "done-too", Job: "done", Queue: "q", Placed: time.Second},
		},
		Figures: engine.Figures{
			Shares: []engine.GangShare{{Gang: "ml/done", Share: 0.25}},
			Real:   []engine.RealCapacity{{Queue: "q", Resource: "cpu", Amount: 1500}, {Queue: "q", Resource: "nvidia.com/gpu", Amount: 12}},
		},
	}
	got := slices.DeleteFunc(scrape(t, func() *live.Snapshot { return last }), func(line string) bool {
		return !strings.Contains(line, "job_") && !strings.Contains(line, "queue_name=")
	})
	if diff := cmp.Diff([]string{
		"volcano_e2e_job_scheduling_duration{job_name=done,job_namespace=ml,queue=q} 1500",
		"volcano_job_pending_duration_seconds{job_name=bert,job_namespace=ml,podgroup=bert-1,queue=q} 1860",
		"volcano_job_retry_counts{job_id=ml/bert-1} 2", "volcano_job_share{job_id=done,job_ns=ml} 0.25",
		"volcano_queue_real_capacity_milli_cpu{queue_name=q} 1500", "volcano_queue_real_capacity_scalar_resources{queue_name=q,resource=nvidia.com/gpu} 12",
		"volcano_unschedule_job_count{} 0", "volcano_unschedule_task_count{job_id=ml/bert-1} 4",
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWhatIsTimedIsCounted: each span of time in its histogram, in milliseconds.
func TestWhatIsTimedIsCounted(t *testing.T) {
	c := metrics.New(func() *live.Snapshot { return nil })
	for span, of := range map[live.Span]string{
		live.Cycle: "", live.Opening: "", live.Placing: "", live.Beginning: "drf", live.Acting: "allocate", live.Watched: "", live.Assumed: "", live.Bound: "",
	} {
		c.Took(span, of, 1500*time.Millisecond)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			got = append(got, fmt.Sprintf("%s{%s} %d, %v in all", f.GetName(), strings.Join(labels, ","), m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()))
		}
	}
	want := []string{
		"volcano_action_scheduling_latency_milliseconds{action=allocate} 1, 1500 in all",
		"volcano_e2e_job_scheduling_latency_milliseconds{} 1, 1500 in all",
		"volcano_e2e_scheduling_latency_milliseconds{} 1, 1500 in all",
		"volcano_open_session_duration_milliseconds{} 1, 1500 in all",
		"volcano_plugin_scheduling_latency_milliseconds{OnSession=OnSessionOpen,plugin=drf} 1, 1500 in all",
		"volcano_task_scheduling_latency_milliseconds{stage=Assumed} 1, 1500 in all",
		"volcano_task_scheduling_latency_milliseconds{stage=Bound} 1, 1500 in all",
		"volcano_task_scheduling_latency_milliseconds{stage=Watched} 1, 1500 in all",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
