// Package metrics shows what the scheduler did, under Volcano's names, so that
// its users' dashboards and alerts work. Values are read from the scheduler's
// last snapshot when somebody scrapes; nothing is counted twice or kept stale. Only
// how long things take is counted here, as it is told.
package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/live"
)

// New returns a collector over snapshots; last may return nil before the first cycle.
func New(last func() *live.Snapshot) *Collector { return &Collector{last: last, spans: spans()} }

// Collector collects what a scheduler did.
type Collector struct {
	last  func() *live.Snapshot
	spans map[live.Span]span
}

// Describe sends nothing: the series depend on the queues there are.
func (*Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the last snapshot.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	c.collectSpans(out)
	s := c.last()
	if s == nil {
		return
	}
	send := func(name, help string, kind prometheus.ValueType, value float64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("volcano_"+name, help, nil, nil), kind, value)
	}
	send("scheduling_cycles_total", "Scheduling cycles run.", prometheus.CounterValue, float64(s.Cycles))
	send("scheduling_cycle_seconds_total", "Time spent in scheduling cycles, in seconds.", prometheus.CounterValue, s.CycleSeconds)
	send("binds_total", "Bindings that the API server took.", prometheus.CounterValue, float64(s.Binds))
	send("bind_errors_total", "Bindings that the API server refused.", prometheus.CounterValue, float64(s.BindErrors))
	send("total_preemption_attempts", "Times that victims were looked for.", prometheus.CounterValue, float64(s.Plans))
	send("pod_preemption_victims", "Pods that were told to go to make room when victims were last looked for.", prometheus.GaugeValue, float64(s.Victims))
	idle := prometheus.NewDesc("volcano_preemption_idle_seconds_total", "Room that was made for gangs, times the seconds until they were placed in it, by resource.", []string{"resource"}, nil)
	for name, seconds := range s.Idle {
		out <- prometheus.MustNewConstMetric(idle, prometheus.CounterValue, seconds, name)
	}
	evictions := prometheus.NewDesc("volcano_evictions_total", "Pods that were told to go, by why: Preempted, Swapped, Reclaimed and MoreUrgent make room, Unrepaired and Shuffled do not.", []string{"reason"}, nil)
	for code, n := range s.Evictions {
		out <- prometheus.MustNewConstMetric(evictions, prometheus.CounterValue, float64(n), string(code))
	}
	send("eviction_errors_total", "Evictions that were given up.", prometheus.CounterValue, float64(s.EvictErrors))
	transactions := prometheus.NewDesc("volcano_eviction_transactions_total", "How often pods were told to go for one gang, by action.", []string{"action"}, nil)
	for action, n := range s.Transactions {
		out <- prometheus.MustNewConstMetric(transactions, prometheus.CounterValue, float64(n), action)
	}
	send("unschedule_job_count", "PodGroups that wait for a reason.", prometheus.GaugeValue, float64(s.Waiting))
	send("faults_total", "How often something broke over one gang, node, object or plugin, which was left out so that the others go on.", prometheus.CounterValue, float64(s.Faults))
	attempts := prometheus.NewDesc("volcano_schedule_attempts_total", "Gangs looked at (result attempted) and tasks given a node (result placed).", []string{"result"}, nil)
	out <- prometheus.MustNewConstMetric(attempts, prometheus.CounterValue, float64(s.Tried), "attempted")
	out <- prometheus.MustNewConstMetric(attempts, prometheus.CounterValue, float64(s.Placed), "placed")
	valid := 1.0
	if s.ConfigInvalid {
		valid = 0
	}
	send("config_valid", "1 when the configuration that was last read is in force, 0 when it was refused and the one before it stays.", prometheus.GaugeValue, valid)
	reloads := prometheus.NewDesc("volcano_config_reload_total", "Configurations read after the start that were taken (result success) or refused (result error).", []string{"result"}, nil)
	out <- prometheus.MustNewConstMetric(reloads, prometheus.CounterValue, float64(s.ConfigReloads), "success")
	out <- prometheus.MustNewConstMetric(reloads, prometheus.CounterValue, float64(s.ConfigErrors), "error")
	send("slo_missed_total", "Deadlines of PodGroups that passed while they were not done.", prometheus.CounterValue, float64(s.Missed))
	urgency := prometheus.NewDesc("volcano_slo_urgency", "What a PodGroup needs to keep its objective, of what there is: work of the time left, least throughput of that reported, replicas of those placed. At 1 it can just be kept; 1000 at most.", []string{"job_ns", "job_id", "queue_name", "slo"}, nil)
	for _, o := range s.Objectives {
		namespace, name, _ := strings.Cut(o.Gang, "/")
		out <- prometheus.MustNewConstMetric(urgency, prometheus.GaugeValue, o.Urgency, namespace, name, o.Queue, o.Kind)
	}
	if s.MetricsReads+s.MetricsErrors > 0 {
		readings := prometheus.NewDesc("volcano_metrics_reads_total", "Times that it was read how busy nodes are (result success), or could not be (result error).", []string{"result"}, nil)
		out <- prometheus.MustNewConstMetric(readings, prometheus.CounterValue, float64(s.MetricsReads), "success")
		out <- prometheus.MustNewConstMetric(readings, prometheus.CounterValue, float64(s.MetricsErrors), "error")
	}
	gangs(out, s)
	queues(out, s)
}

// queues sends what there is to say of each queue.
func queues(out chan<- prometheus.Metric, s *live.Snapshot) {
	for _, q := range s.Queues {
		if !q.Known {
			continue
		}
		for _, sum := range q.Sums {
			amount(out, "allocated", q.Name, sum.Resource, sum.Used)
			plain(out, "allocated", q.Name, sum.Resource, sum.Used)
			amount(out, "request", q.Name, sum.Resource, sum.Used+sum.Wanted)
			amount(out, "inqueue", q.Name, sum.Resource, sum.Promised)
			if sum.Capability >= 0 {
				amount(out, "capacity", q.Name, sum.Resource, sum.Capability)
				plain(out, "capability", q.Name, sum.Resource, sum.Capability)
			}
			if sum.Deserved >= 0 {
				amount(out, "deserved", q.Name, sum.Resource, sum.Deserved)
			}
		}
		queue := func(name, help string, value float64) {
			desc := prometheus.NewDesc("volcano_queue_"+name, help, []string{"queue_name"}, nil)
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, q.Name)
		}
		over := 0.0
		if q.Share.Used >= q.Share.Part && q.Share.Used > 0 {
			over = 1
		}
		queue("weight", "Weight of the queue beside its siblings.", float64(q.Weight))
		queue("share", "What the queue uses of its deserved part, in the resource where that is most.", q.Share.Float())
		queue("overused", "1 when the queue uses all of its deserved part, or more, of some resource.", over)
		for _, p := range []model.Phase{model.Inqueue, model.Pending, model.Running, model.Unknown, model.Completed} {
			desc := prometheus.NewDesc("volcano_queue_pod_group_"+strings.ToLower(string(p))+"_count", "PodGroups of the queue in this phase.", []string{"queue_name"}, nil)
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(q.Phases[p]), q.Name)
		}
	}
	for _, r := range s.Figures.Real {
		amount(out, "real_capacity", r.Queue, r.Resource, r.Amount)
	}
}

// amount sends one resource of a queue in the unit that its name says.
func amount(out chan<- prometheus.Metric, what, queue, name string, value int64) {
	const help = "What the queue uses or may use of the resource."
	labels, values := []string{"queue_name"}, []string{queue}
	suffix := "scalar_resources"
	switch name {
	case resource.CPU:
		suffix = "milli_cpu"
	case resource.Memory:
		suffix = "memory_bytes"
	default:
		labels, values = append(labels, "resource"), append(values, name)
	}
	desc := prometheus.NewDesc("volcano_queue_"+what+"_"+suffix, help, labels, nil)
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), values...)
}

// plain sends one resource of a queue in the unit that users write it in, cores for CPUs.
// The label nvidia_com_gpu is set on GPUs alone, so that an alert can choose them.
func plain(out chan<- prometheus.Metric, what, queue, name string, value int64) {
	number, gpu := float64(value), ""
	switch name {
	case resource.CPU:
		number /= 1000
	case "nvidia.com/gpu":
		gpu = "true"
	}
	desc := prometheus.NewDesc("volcano_queue_"+what, "What the queue uses, or may use, of the resource, in cores, bytes or pieces.", []string{"queue_name", "resource", "nvidia_com_gpu"}, nil)
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, number, queue, name, gpu)
}
