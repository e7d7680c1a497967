package framework

import (
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Kind joins what the judging plugins can't tell apart about a task; empty when
// none of them has anything to say.
func (t *Tiers) Kind(task *model.Task) string {
	var kind strings.Builder
	for i, p := range t.judges {
		if k := p.Kind(task); k != "" {
			kind.WriteRune(rune('0' + i))
			kind.WriteString(k)
			kind.WriteByte(0)
		}
	}
	return kind.String()
}

// Judge gathers the judges for tasks like task; false, with the reason and what
// could lift it, when one of the plugins says that no node would do.
func (t *Tiers) Judge(task *model.Task) (Panel, reason.Reason, model.Change, bool) {
	var panel Panel
	for _, p := range t.judges {
		if p.Kind(task) == "" {
			continue
		}
		j, why, ok := p.Judge(task)
		if !ok {
			return Panel{}, why, p.WakesOn(), false
		}
		panel.judges = append(panel.judges, j)
		if _, only := j.(OnlyFilters); !only {
			panel.scores = true
		}
		panel.wakes |= p.WakesOn()
	}
	return panel, reason.Reason{}, 0, true
}

// Areas asks the first plugin that knows which nodes are near one another; see
// [KnowsAreas]. Where none does, tasks that should be near may run anywhere, and those
// that must be wait.
func (t *Tiers) Areas(near *model.Near, need resource.Vector, at []*model.Node) ([]Area, reason.Reason, model.Change, bool) {
	if len(t.areas) > 0 {
		areas, why, ok := t.areas[0].Areas(near, need, at)
		return areas, why, t.areas[0].WakesOn(), ok
	}
	if !near.Hard {
		return nil, reason.Reason{}, 0, true
	}
	return nil, reason.Reason{
		Code: reason.Unsupported, Field: near.Field,
		Remedy: "no plugin of the scheduler knows which nodes are near one another; add network-topology-aware to its configuration, or use mode: soft",
	}, 0, false
}

// Panel is all judges of one attempt, as one.
type Panel struct {
	judges []Judge
	wakes  model.Change
	scores bool // some judge rates nodes
}

// WakesOn is what could lift a refusal of any of them.
func (p *Panel) WakesOn() model.Change { return p.wakes }

// Domain joins the domains that the judges see.
func (p *Panel) Domain(n *model.Node) string {
	if len(p.judges) == 1 {
		return p.judges[0].Domain(n)
	}
	var domain strings.Builder
	for _, j := range p.judges {
		domain.WriteString(j.Domain(n))
		domain.WriteByte(0)
	}
	return domain.String()
}

// Fits asks all; the first cause counts.
func (p *Panel) Fits(n *model.Node) (string, bool) {
	for _, j := range p.judges {
		if cause, ok := j.Fits(n); !ok {
			return cause, false
		}
	}
	return "", true
}

// Scores reports whether any judge rates nodes at all.
func (p *Panel) Scores() bool { return p.scores }

// Score adds up all scores.
func (p *Panel) Score(n *model.Node) int64 {
	var sum int64
	for _, j := range p.judges {
		sum += j.Score(n)
	}
	return sum
}

// Placed tells all of them.
func (p *Panel) Placed(t *model.Task, n *model.Node) {
	for _, j := range p.judges {
		j.Placed(t, n)
	}
}
