package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/pkg/metrics"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/live"
)

// scrape returns what a scrape finds, one line per series.
func scrape(t *testing.T, last func() *live.Snapshot) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(metrics.New(last)); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			lines = append(lines, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, ","), value))
		}
	}
	return lines
}

func TestAScrapeShowsTheLastSnapshot(t *testing.T) {
	tests := map[string]struct {
		last *live.Snapshot
		has  string // prefix of the series to look at
		want []string
	}{
		"nothing before the first cycle": {nil, "", nil},
		"counters and what waits": {
			&live.Snapshot{
				Cycles: 7, CycleSeconds: 0.5, Tried: 5, Plans: 3, Victims: 6, Evictions: map[reason.Code]int64{reason.Preempted: 5, reason.Reclaimed: 3, reason.Shuffled: 1}, EvictErrors: 1, Placed: 4, Binds: 3, BindErrors: 1, Waiting: 2, Faults: 6,
				ConfigReloads: 3, ConfigErrors: 1, ConfigInvalid: true,
				Transactions: map[string]int64{"preempt": 2, "reclaim": 1},
				Missed:       6, Objectives: []engine.Objective{{Gang: "ml/bert", Queue: "ai", Kind: "deadline", Urgency: 0.5}},
			}, "",
			[]string{
				"volcano_bind_errors_total{} 1", "volcano_binds_total{} 3",
				"volcano_config_reload_total{result=error} 1", "volcano_config_reload_total{result=success} 3", "volcano_config_valid{} 0",
				"volcano_eviction_errors_total{} 1", "volcano_eviction_transactions_total{action=preempt} 2", "volcano_eviction_transactions_total{action=reclaim} 1",
				"volcano_evictions_total{reason=Preempted} 5", "volcano_evictions_total{reason=Reclaimed} 3", "volcano_evictions_total{reason=Shuffled} 1", "volcano_faults_total{} 6", "volcano_pod_preemption_victims{} 6",
				"volcano_schedule_attempts_total{result=attempted} 5", "volcano_schedule_attempts_total{result=placed} 4",
				"volcano_scheduling_cycle_seconds_total{} 0.5", "volcano_scheduling_cycles_total{} 7",
				"volcano_slo_missed_total{} 6", "volcano_slo_urgency{job_id=bert,job_ns=ml,queue_name=ai,slo=deadline} 0.5",
				"volcano_total_preemption_attempts{} 3", "volcano_unschedule_job_count{} 2",
			},
		},
		"what was read of nodes": {
			&live.Snapshot{MetricsReads: 5, MetricsErrors: 2}, "volcano_metrics_",
			[]string{"volcano_metrics_reads_total{result=error} 2", "volcano_metrics_reads_total{result=success} 5"},
		},
		"a queue's amounts in the units of their names, a ceiling only where there is one": {
			&live.Snapshot{Queues: []engine.QueueUse{{Name: "q", Known: true, Weight: 3, Share: quota.Share{Used: 8, Part: 32}, Sums: []engine.Sum{
				{Resource: "cpu", Used: 1500, Capability: 4000, Deserved: -1},
				{Resource: "memory", Used: 10, Capability: -1, Deserved: -1},
				{Resource: "nvidia.com/gpu", Used: 8, Wanted: 5, Promised: 2, Capability: 32, Deserved: 21},
			}}}}, "volcano_queue_",
			[]string{
				"volcano_queue_allocated{nvidia_com_gpu=,queue_name=q,resource=cpu} 1.5", "volcano_queue_allocated{nvidia_com_gpu=,queue_name=q,resource=memory} 10",
				"volcano_queue_allocated{nvidia_com_gpu=true,queue_name=q,resource=nvidia.com/gpu} 8",
				"volcano_queue_allocated_memory_bytes{queue_name=q} 10", "volcano_queue_allocated_milli_cpu{queue_name=q} 1500",
				"volcano_queue_allocated_scalar_resources{queue_name=q,resource=nvidia.com/gpu} 8",
				"volcano_queue_capability{nvidia_com_gpu=,queue_name=q,resource=cpu} 4", "volcano_queue_capability{nvidia_com_gpu=true,queue_name=q,resource=nvidia.com/gpu} 32",
				"volcano_queue_capacity_milli_cpu{queue_name=q} 4000",
				"volcano_queue_capacity_scalar_resources{queue_name=q,resource=nvidia.com/gpu} 32",
				"volcano_queue_deserved_scalar_resources{queue_name=q,resource=nvidia.com/gpu} 21",
				"volcano_queue_inqueue_memory_bytes{queue_name=q} 0", "volcano_queue_inqueue_milli_cpu{queue_name=q} 0",
				"volcano_queue_inqueue_scalar_resources{queue_name=q,resource=nvidia.com/gpu} 2",
				"volcano_queue_overused{queue_name=q} 0",
				"volcano_queue_request_memory_bytes{queue_name=q} 10", "volcano_queue_request_milli_cpu{queue_name=q} 1500",
				"volcano_queue_request_scalar_resources{queue_name=q,resource=nvidia.com/gpu} 13",
				"volcano_queue_share{queue_name=q} 0.25", "volcano_queue_weight{queue_name=q} 3",
			},
		},
		"PodGroups of a queue by phase": {
			&live.Snapshot{Queues: []engine.QueueUse{{Name: "q", Known: true, Phases: map[model.Phase]int{model.Running: 3}}}}, "volcano_queue_pod_group_running",
			[]string{"volcano_queue_pod_group_running_count{queue_name=q} 3"},
		},
		"a queue that is only named is not there": {
			&live.Snapshot{Queues: []engine.QueueUse{{Name: "ghost"}}}, "volcano_queue_", nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := slices.DeleteFunc(scrape(t, func() *live.Snapshot { return tt.last }), func(line string) bool {
				other := tt.has != "volcano_queue_pod_group_running" && strings.HasPrefix(line, "volcano_queue_pod_group_")
				return !strings.HasPrefix(line, tt.has) || other
			})
			if diff := cmp.Diff(tt.want, got); diff != "" && len(tt.want)+len(got) > 0 {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
