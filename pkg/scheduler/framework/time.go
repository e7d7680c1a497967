package framework

import (
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
)

// Follows is for plugins that keep something of gangs. Follow tells, before a cycle
// begins, of every gang that came or changed, or one of whose tasks did; gone: nobody
// speaks of it any more. The plugins of a new configuration are told of all gangs.
type Follows interface {
	Follow(g *model.Gang, gone bool)
}

// Objective is how a gang stands to one thing that it was promised.
type Objective struct {
	Gang *model.Gang
	Kind string // deadline, throughput or availability
	// Urgency, in thousandths, is what is needed of what there is: at 1000 it can just be kept.
	Urgency int64
}

// Pursues is for plugins that know what gangs were promised, and whose order of them
// changes as time goes by. All of it is as of the beginning of the cycle, and must not
// take time in proportion to gangs that were promised nothing.
type Pursues interface {
	// ChangesAt is the next instant at which time alone puts a gang elsewhere in the
	// order, or makes something else be said of it; false: never. There is a cycle then.
	ChangesAt() (time.Time, bool)
	// Changed lists the gangs of which that became true with this cycle. If they wait,
	// they are tried.
	Changed() []*model.Gang
	// Unmet says why a gang won't get what it was promised; false when it may.
	Unmet(g *model.Gang) (reason.Reason, bool)
	// Objectives lists them in a fixed order; missed counts those whose time ran out.
	Objectives() (list []Objective, missed int64)
}

// observe sorts out those who are told more than what a cycle needs.
func (t *Tiers) observe(p Enabled) {
	t.retries = add(t.retries, p, 0)
	t.followers = add(t.followers, p, 0)
	t.pursuits = add(t.pursuits, p, 0)
}

// RetryAt is the earliest instant at which a plugin would ask again what it could not ask.
func (t *Tiers) RetryAt() (time.Time, bool) {
	return earliest(t, t.retries, "say when to ask again", Retries.RetryAt)
}

// Follow tells plugins of a gang.
func (t *Tiers) Follow(g *model.Gang, gone bool) {
	ask(t, t.followers, "take in what was said of a gang", func(p Follows) { p.Follow(g, gone) })
}

// ChangesAt is the earliest instant at which time alone changes what a plugin thinks of a gang.
func (t *Tiers) ChangesAt() (time.Time, bool) {
	return earliest(t, t.pursuits, "say when an order changes", Pursues.ChangesAt)
}

// Changed gathers the gangs that plugins think otherwise of since this cycle began.
func (t *Tiers) Changed() []*model.Gang {
	var all []*model.Gang
	ask(t, t.pursuits, "say of which gangs it thinks otherwise", func(p Pursues) { all = append(all, p.Changed()...) })
	return all
}

// Unmet is the first thing that a gang was promised and won't get.
func (t *Tiers) Unmet(g *model.Gang) (why reason.Reason, unmet bool) {
	ask(t, t.pursuits, "say whether PodGroup "+g.Key+" gets what it was promised", func(p Pursues) {
		if !unmet {
			why, unmet = p.Unmet(g)
		}
	})
	return why, unmet
}

// Objectives gathers what gangs were promised.
func (t *Tiers) Objectives() (list []Objective, missed int64) {
	ask(t, t.pursuits, "say what gangs were promised", func(p Pursues) {
		some, n := p.Objectives()
		list, missed = append(list, some...), missed+n
	})
	return list, missed
}

// earliest is the first of the instants that plugins name.
func earliest[P any](t *Tiers, plugins []P, doing string, when func(P) (time.Time, bool)) (at time.Time, found bool) {
	ask(t, plugins, doing, func(p P) {
		if next, ok := when(p); ok && (!found || next.Before(at)) {
			at, found = next, true
		}
	})
	return at, found
}
