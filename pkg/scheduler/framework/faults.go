package framework

import "github.com/muster-sh/muster/pkg/fault"

// ask asks plugins one after the other, and returns those that broke over it.
func ask[T any](t *Tiers, plugins []T, doing string, do func(T)) (broken []string) {
	fault.Each(plugins, do, func(p T, broke fault.Fault) {
		broken = append(broken, named(p))
		t.OnFault(named(p), doing, broke)
	})
	return broken
}

// named is a plugin's name; whatever can do something is one.
func named(p any) string { return p.(Plugin).Name() } //nolint:forcetypeassert // Compose takes nothing else

// comparing is which plugins compare something now: their places in the orders, from
// 1; 0: none. It outlasts a plugin that breaks, so that it can be named.
type comparing struct{ queues, gangs, tasks int }

// Comparing names the plugin that broke while it compared; empty when none did. It
// forgets that.
func (t *Tiers) Comparing() string {
	at := t.comparing
	t.comparing = comparing{}
	switch {
	case at.queues > 0:
		return named(t.queueOrders[at.queues-1])
	case at.gangs > 0:
		return named(t.gangOrders[at.gangs-1])
	case at.tasks > 0:
		return named(t.taskOrders[at.tasks-1])
	default:
		return ""
	}
}

// opinions are what a plugin can be left out of without harm: others decide then.
const opinions = OrderQueues | OrderGangs | OrderTasks | ScoreNodes

// Without is these tiers, but that the plugins of these names order and score nothing.
// What they refuse or allow, they still do: nobody gets what they keep.
func (t *Tiers) Without(names ...string) *Tiers {
	tiers := make([][]Enabled, len(t.enabled))
	for i, tier := range t.enabled {
		for _, p := range tier {
			for _, name := range names {
				if p.Name() == name {
					p.Off |= opinions
				}
			}
			tiers[i] = append(tiers[i], p)
		}
	}
	out := Compose(tiers)
	out.OnFault, out.Around = t.OnFault, t.Around
	return out
}
