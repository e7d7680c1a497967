package conf

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/scheduler/actions/gangpreempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/gangreclaim"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/reclaim"
	"github.com/muster-sh/muster/pkg/scheduler/actions/shuffle"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/rescheduling"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/slo"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/usage"
)

// Types of sources of metrics.
const (
	prometheus    = "prometheus"
	adaptor       = "prometheus_adaptor"
	elasticsearch = "elasticsearch"
)

// readMetrics reads where it is read how busy nodes are.
func (p *parser) readMetrics(f field) {
	flat := flatten("", p.mapping("", f))
	r := framework.Args(arguments(flat)).Read()
	m := framework.Metrics{
		Type:      r.Text("type", ""),
		Address:   r.Text("address", ""),
		Interval:  r.Duration("interval", 30*time.Second),
		Insecure:  r.Bool("tls.insecureSkipVerify", false),
		Index:     r.Text("elasticsearch.index", "metricbeat-*"),
		Username:  r.Text("elasticsearch.username", ""),
		Password:  r.Text("elasticsearch.password", ""),
		HostField: r.Text("elasticsearch.hostnameFieldName", "host.hostname"),
	}
	if m.Interval < time.Second {
		r.Wrong("interval", "give a duration of 1s or more")
	}
	switch m.Type {
	case prometheus, elasticsearch:
		if u, err := url.Parse(m.Address); r.Err() == nil && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
			r.Wrong("address", "give the server's address, such as http://prometheus.monitoring:9090")
		}
	case adaptor: // the API server is asked
	default:
		if r.Err() == nil {
			r.Wrong("type", "give "+prometheus+", "+adaptor+" or "+elasticsearch)
		}
	}
	if len(flat) > 0 {
		p.config.Metrics = m
	}
	p.spread(r.Err(), place{keyMetrics, f.line, flat})
}

// match notes what has no effect without something else that is not configured: plugins
// that look at what nodes use without metrics, those without such plugins, and
// rescheduling without the action that carries it out.
func (p *parser) match(all []field) {
	_, looks := p.seen[usage.Name]
	even, evens := p.seen[rescheduling.Name]
	given, ok := find(all, keyMetrics)
	if ok && !looks && !evens {
		p.idle(given.line, keyMetrics, "no plugin looks at what nodes use: configure "+usage.Name+" or "+rescheduling.Name)
	}
	for _, name := range []string{usage.Name, rescheduling.Name} {
		if s, there := p.seen[name]; there && p.config.Metrics.Type == "" {
			p.idle(s.line, fmt.Sprintf("plugin %q", name), "it is read nowhere what nodes use: configure metrics")
		}
	}
	if evens && !p.runs(shuffle.Name) {
		p.idle(even.line, fmt.Sprintf("plugin %q", rescheduling.Name), "no action carries it out: configure "+shuffle.Name)
	}
	p.matchTaking()
}

// runs reports whether any action of these names is configured.
func (p *parser) runs(names ...string) bool {
	return slices.ContainsFunc(p.config.Actions, func(a engine.Action) bool { return slices.Contains(names, a.Name()) })
}

// matchTaking notes that urgent gangs are to take from others, and no action lets them.
func (p *parser) matchTaking() {
	for _, c := range slices.Concat(p.config.Tiers...) {
		if c.Name != slo.Name {
			continue
		}
		args := c.Args.Read()
		where := fmt.Sprintf("plugin %q: argument ", slo.Name)
		if args.Bool(slo.Preempt, false) && !p.runs(preempt.Name, gangpreempt.Name) {
			p.idle(p.seen[slo.Name].line, where+slo.Preempt, "no action lets gangs take from others: configure "+preempt.Name)
		}
		if args.Bool(slo.Reclaim, false) && !p.runs(reclaim.Name, gangreclaim.Name) {
			p.idle(p.seen[slo.Name].line, where+slo.Reclaim, "no action lets gangs take from others: configure "+reclaim.Name)
		}
	}
}
