package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/pkg/scheduler/live"
)

// span is where how long something took is counted, in milliseconds.
type span struct {
	in     *prometheus.HistogramVec
	labels func(of string) []string
}

// spans makes the histograms. Two spans of time may share one.
func spans() map[live.Span]span {
	histogram := func(name, help string, least, most float64, n int, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "volcano_" + name, Help: help, Buckets: prometheus.ExponentialBucketsRange(least, most, n),
		}, labels)
	}
	none := func(string) []string { return nil }
	stage := histogram("task_scheduling_latency_milliseconds", "From when a pod was made until it came to a stage.", 50, 60_000, 30, "stage")
	at := func(name string) span { return span{stage, func(string) []string { return []string{name} }} }
	return map[live.Span]span{
		live.Cycle:   {histogram("e2e_scheduling_latency_milliseconds", "A cycle: what happened is taken in, decided on, and handed out.", 1, 5000, 20), none},
		live.Opening: {histogram("open_session_duration_milliseconds", "Of a cycle, until the first action.", 1, 5000, 20), none},
		live.Beginning: {
			histogram("plugin_scheduling_latency_milliseconds", "Of a cycle, what a plugin works out at its beginning.", 0.1, 100, 15, "plugin", "OnSession"),
			func(of string) []string { return []string{of, "OnSessionOpen"} },
		},
		live.Acting:  {histogram("action_scheduling_latency_milliseconds", "Of a cycle, an action.", 1, 2000, 20, "action"), func(of string) []string { return []string{of} }},
		live.Placing: {histogram("e2e_job_scheduling_latency_milliseconds", "From when a PodGroup was made until its minimum had nodes.", 100, 120_000, 30), none},
		live.Watched: at("Watched"),
		live.Assumed: at("Assumed"),
		live.Bound:   at("Bound"),
	}
}

// Took counts how long something took; it is for [live.Options.Took].
func (c *Collector) Took(what live.Span, of string, took time.Duration) {
	s := c.spans[what]
	s.in.WithLabelValues(s.labels(of)...).Observe(float64(took) / float64(time.Millisecond))
}

// collectSpans sends each histogram once.
func (c *Collector) collectSpans(out chan<- prometheus.Metric) {
	sent := map[*prometheus.HistogramVec]bool{}
	for _, s := range c.spans {
		if !sent[s.in] {
			sent[s.in] = true
			s.in.Collect(out)
		}
	}
}
