package framework

import (
	"cmp"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
)

// Tiers holds the plugins of a configuration, sorted by ability once, so that a
// cycle asks no value for its type. The order of plugins is that of the
// configuration, first tier first: the first that has an opinion decides.
type Tiers struct {
	gangOrders []OrdersGangs
	taskOrders []OrdersTasks
	admissions []AdmitsGangs
	filters    []FiltersNodes
	scores     []ScoresNodes
	nodeWakes  model.Change
}

// Compose sorts plugins by what they can do.
func Compose(plugins []Plugin) *Tiers {
	t := &Tiers{}
	for _, p := range plugins {
		if a, ok := p.(OrdersGangs); ok {
			t.gangOrders = append(t.gangOrders, a)
		}
		if a, ok := p.(OrdersTasks); ok {
			t.taskOrders = append(t.taskOrders, a)
		}
		if a, ok := p.(AdmitsGangs); ok {
			t.admissions = append(t.admissions, a)
		}
		if a, ok := p.(FiltersNodes); ok {
			t.filters = append(t.filters, a)
			t.nodeWakes |= a.WakesOn()
		}
		if a, ok := p.(ScoresNodes); ok {
			t.scores = append(t.scores, a)
		}
	}
	return t
}

// CompareGangs is a total order. Gangs that lost a part of their minimum come
// before all others that are tried with them, whatever plugins say: what a half
// gang needs to be whole is not for newcomers. What no plugin decides goes by arrival.
func (t *Tiers) CompareGangs(a, b *model.Gang) int {
	if a.Broken() != b.Broken() {
		if a.Broken() {
			return -1
		}
		return 1
	}
	for _, p := range t.gangOrders {
		if c := p.CompareGangs(a, b); c != 0 {
			return c
		}
	}
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Seq, b.Seq))
}

// CompareTasks is a total order: what no plugin decides goes by arrival.
func (t *Tiers) CompareTasks(a, b *model.Task) int {
	for _, p := range t.taskOrders {
		if c := p.CompareTasks(a, b); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Seq, b.Seq)
}

// AdmitGang asks all admissions; the first refusal counts, with what could lift it.
func (t *Tiers) AdmitGang(g *model.Gang) (why reason.Reason, wakes model.Change, ok bool) {
	for _, p := range t.admissions {
		if why, ok := p.AdmitGang(g); !ok {
			return why, p.WakesOn(), false
		}
	}
	return reason.Reason{}, 0, true
}

// FilterNodes joins the filters of all plugins for one class; the first cause counts.
func (t *Tiers) FilterNodes(c *model.Class) NodeFilter {
	filters := make([]NodeFilter, 0, len(t.filters))
	for _, p := range t.filters {
		filters = append(filters, p.FilterNodes(c))
	}
	return func(n *model.Node) (string, bool) {
		for _, fits := range filters {
			if cause, ok := fits(n); !ok {
				return cause, false
			}
		}
		return "", true
	}
}

// NodeWakes is what could lift the refusal of any node filter.
func (t *Tiers) NodeWakes() model.Change { return t.nodeWakes }

// ScoreNode adds up all scores.
func (t *Tiers) ScoreNode(c *model.Class, n *model.Node) int64 {
	var sum int64
	for _, p := range t.scores {
		sum += p.ScoreNode(c, n)
	}
	return sum
}
