package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/pkg/scheduler/live"
)

// gangs sends what there is to say of each PodGroup. Series end with it.
func gangs(out chan<- prometheus.Metric, s *live.Snapshot) {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("volcano_"+name, help, labels, nil)
	}
	pending := describe("job_pending_duration_seconds", "How long the PodGroup of a job has been there without nodes for its minimum.", "job_name", "job_namespace", "queue", "podgroup")
	took := describe("e2e_job_scheduling_duration", "From when the PodGroup of a job was made until its minimum had nodes, in milliseconds.", "job_name", "queue", "job_namespace")
	tasks := describe("unschedule_task_count", "Tasks of a PodGroup that waits for a reason which have no node.", "job_id")
	told := describe("job_retry_counts", "How often it was said anew why a PodGroup waits.", "job_id")
	seen := map[[3]string]bool{}
	for _, g := range s.Gangs {
		id := g.Namespace + "/" + g.Name
		if g.Pending > 0 {
			out <- prometheus.MustNewConstMetric(pending, prometheus.GaugeValue, g.Pending.Seconds(), g.Job, g.Namespace, g.Queue, g.Name)
		}
		if key := [3]string{g.Job, g.Queue, g.Namespace}; g.Placed > 0 && !seen[key] {
			seen[key] = true // a job may have several
			out <- prometheus.MustNewConstMetric(took, prometheus.GaugeValue, float64(g.Placed.Milliseconds()), key[:]...)
		}
		if g.Waiting > 0 {
			out <- prometheus.MustNewConstMetric(tasks, prometheus.GaugeValue, float64(g.Waiting), id)
		}
		if g.Told > 0 {
			out <- prometheus.MustNewConstMetric(told, prometheus.CounterValue, float64(g.Told), id)
		}
	}
	share := describe("job_share", "The greatest part that a PodGroup takes of any resource of the cluster.", "job_ns", "job_id")
	for _, g := range s.Figures.Shares {
		namespace, name, _ := strings.Cut(g.Gang, "/")
		out <- prometheus.MustNewConstMetric(share, prometheus.GaugeValue, g.Share, namespace, name)
	}
}
