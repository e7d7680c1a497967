package framework

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Enabled is a plugin with the abilities that the configuration takes from it.
type Enabled struct {
	Plugin
	Off Abilities
}

// Tiers holds the plugins of a configuration, sorted by ability once, so that a
// cycle asks no value for its type. The order of plugins is that of the
// configuration, first tier first: the first that has an opinion decides.
type Tiers struct {
	// OnFault is told of a plugin that broke while it was told or asked something that
	// concerns no single gang. It is taken as having no opinion.
	OnFault func(plugin, doing string, broke fault.Fault)
	// Around is handed each plugin's beginning of a cycle, which it must do once.
	Around func(plugin string, do func())

	enabled     [][]Enabled
	comparing   comparing
	begins      []Begins
	learners    []Learns
	queueOrders []OrdersQueues
	gangOrders  []OrdersGangs
	taskOrders  []OrdersTasks
	divisions   []Divides
	admissions  []AdmitsGangs
	votes       [][]VotesOnGangs // by tier
	reserves    []Reserves
	filters     []FiltersNodes
	judges      []JudgesTasks
	areas       []KnowsAreas
	preparers   []Prepares
	scores      []ScoresNodes
	ratings     []RatesNodes
	notices     []Notices
	onQueues    []NoticesOnQueues
	retries     []Retries
	outside     []AsksOutside
	followers   []Follows
	pursuits    []Pursues
	victimRanks []RanksVictims
	pressers    []Presses
	counts      []CountsDevices
	givers      []GivesDevices
	lasting     []Continues
	protectors  []ProtectsTasks
	repairs     []Repairs
	turning     []Turns
	dismissals  []Dismisses
	takings     [rules][][]func(Taking) Vote // by rule and tier
	byGang      bool                         // some votes on reclaiming look at gangs
	nodeWakes   model.Change
}

// Compose sorts plugins by what they can do.
func Compose(tiers [][]Enabled) *Tiers {
	t := &Tiers{enabled: tiers}
	for _, tier := range tiers {
		var votes []VotesOnGangs
		t.canvass(tier)
		for _, p := range tier {
			t.compare(p)
			t.judge(p)
			votes = add(votes, p, VoteOnGangs)
			t.begins = add(t.begins, p, 0)
			t.learners = add(t.learners, p, 0)
			t.reserves = add(t.reserves, p, 0)
			t.notices = add(t.notices, p, 0)
			t.onQueues = add(t.onQueues, p, 0)
			t.outside = add(t.outside, p, 0)
			t.observe(p)
			t.counts = add(t.counts, p, 0)
			t.givers = add(t.givers, p, 0)
			t.lasting = add(t.lasting, p, 0)
			t.turning = add(t.turning, p, 0)
			t.dismissals = add(t.dismissals, p, Dismiss)
		}
		if votes != nil {
			t.votes = append(t.votes, votes)
		}
	}
	for _, p := range t.filters {
		t.nodeWakes |= p.WakesOn()
	}
	return t
}

// Continue puts the plugins that go on in place of those of their name in tiers.
func (t *Tiers) Continue(tiers [][]Enabled) error {
	for _, old := range t.lasting {
		for _, tier := range tiers {
			for i := range tier {
				if tier[i].Name() != old.Name() {
					continue
				}
				if err := old.Continue(tier[i].Plugin); err != nil {
					return fmt.Errorf("plugin %q: %w", old.Name(), err)
				}
				tier[i].Plugin = old
			}
		}
	}
	return nil
}

func (t *Tiers) compare(p Enabled) {
	t.queueOrders = add(t.queueOrders, p, OrderQueues)
	t.gangOrders = add(t.gangOrders, p, OrderGangs)
	t.taskOrders = add(t.taskOrders, p, OrderTasks)
	t.divisions = add(t.divisions, p, Divide)
}

func (t *Tiers) judge(p Enabled) {
	t.admissions = add(t.admissions, p, AdmitGangs)
	t.filters = add(t.filters, p, FilterNodes)
	if !p.silent() {
		t.judges = add(t.judges, p, 0)
	}
	t.areas = add(t.areas, p, 0)
	t.preparers = add(t.preparers, p, 0)
	t.scores = add(t.scores, p, ScoreNodes)
	t.ratings = add(t.ratings, p, ScoreNodes)
}

// silent reports whether what a plugin judges by is switched off: the filter of one
// that filters, the score of one that scores.
func (p Enabled) silent() bool {
	_, filters := p.Plugin.(FiltersNodes)
	_, scores := p.Plugin.(ScoresNodes)
	return (filters && p.Off&FilterNodes != 0) || (!filters && scores && p.Off&ScoreNodes != 0)
}

// add appends p to list when it has the interface and the ability is not switched off.
func add[T any](list []T, p Enabled, ability Abilities) []T {
	if able, ok := p.Plugin.(T); ok && p.Off&ability == 0 {
		return append(list, able)
	}
	return list
}

// Begin tells plugins that a cycle begins, and returns those that broke over it.
func (t *Tiers) Begin(w *model.World, now time.Time) (broken []string) {
	return ask(t, t.begins, "begin a cycle", func(p Begins) {
		t.Around(named(p), func() { p.Begin(w, now) })
	})
}

// Learn tells plugins of an object.
func (t *Tiers) Learn(o runtime.Object, gone bool) {
	ask(t, t.learners, "learn", func(p Learns) { p.Learn(o, gone) })
}

// CompareQueues is a total order. What no plugin decides goes by arrival.
func (t *Tiers) CompareQueues(a, b *model.Queue) int {
	for i, p := range t.queueOrders {
		t.comparing.queues = i + 1
		c := p.CompareQueues(a, b)
		t.comparing.queues = 0
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(a.ID, b.ID)
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
	for i, p := range t.gangOrders {
		t.comparing.gangs = i + 1
		c := p.CompareGangs(a, b)
		t.comparing.gangs = 0
		if c != 0 {
			return c
		}
	}
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Seq, b.Seq))
}

// CompareTasks is a total order: what no plugin decides goes by arrival.
func (t *Tiers) CompareTasks(a, b *model.Task) int {
	for i, p := range t.taskOrders {
		t.comparing.tasks = i + 1
		c := p.CompareTasks(a, b)
		t.comparing.tasks = 0
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Seq, b.Seq)
}

// Deserved is a queue's part of the cluster; nil when no plugin divides it.
func (t *Tiers) Deserved(q *model.Queue) (part resource.Vector) {
	if t.Divides() {
		ask(t, t.divisions[:1], "divide the cluster among queues", func(p Divides) { part = p.Deserved(q) })
	}
	return part
}

// Divides reports whether a plugin divides the cluster among queues.
func (t *Tiers) Divides() bool { return len(t.divisions) > 0 }

// AdmitGang asks all admissions; the first refusal counts, with what could lift it.
func (t *Tiers) AdmitGang(g *model.Gang) (why reason.Reason, wakes model.Change, ok bool) {
	for _, p := range t.admissions {
		if why, ok := p.AdmitGang(g); !ok {
			return why, p.WakesOn(), false
		}
	}
	return reason.Reason{}, 0, true
}

// VoteOnGang counts the votes, tier by tier. Permit means that a plugin insists;
// Abstain, that nobody objects.
func (t *Tiers) VoteOnGang(g *model.Gang, need resource.Vector) (Vote, reason.Reason, model.Change) {
	for _, tier := range t.votes {
		permitted := false
		for _, p := range tier {
			switch vote, why := p.VoteOnGang(g, need); vote {
			case Refuse:
				return Refuse, why, p.WakesOn()
			case Permit:
				permitted = true
			case Abstain:
			}
		}
		if permitted {
			return Permit, reason.Reason{}, 0
		}
	}
	return Abstain, reason.Reason{}, 0
}

// ReserveFrom is the earliest instant from which any plugin wants room set aside for a gang.
func (t *Tiers) ReserveFrom(g *model.Gang) (time.Time, bool) {
	var from time.Time
	found := false
	for _, p := range t.reserves {
		if at, ok := p.ReserveFrom(g); ok && (!found || at.Before(from)) {
			from, found = at, true
		}
	}
	return from, found
}

// Notices gathers what can't be right in the hints of a gang.
func (t *Tiers) Notices(g *model.Gang) []string {
	var said []string
	ask(t, t.notices, "look at the hints of PodGroup "+g.Key, func(p Notices) { said = append(said, p.Notices(g)...) })
	return said
}

// NoticesOnQueue gathers what can't be right in the hints of a queue.
func (t *Tiers) NoticesOnQueue(q *model.Queue) []string {
	var said []string
	ask(t, t.onQueues, "look at the hints of Queue "+q.Name, func(p NoticesOnQueues) { said = append(said, p.NoticesOnQueue(q)...) })
	return said
}

// FilterNodes joins the filters of all plugins for one class; the first cause counts.
func (t *Tiers) FilterNodes(c *model.Class) NodeFilter {
	filters := make([]NodeFilter, 0, len(t.filters))
	for _, p := range t.filters {
		filters = append(filters, p.FilterNodes(c))
	}
	if len(filters) == 1 {
		return filters[0]
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

// ScoreNode adds up the scores that change with placements.
func (t *Tiers) ScoreNode(c *model.Class, n *model.Node) int64 {
	var sum int64
	for _, p := range t.scores {
		sum += p.ScoreNode(c, n)
	}
	return sum
}

// RateNodes joins the ratings by fixed traits for one class; nil when there are none.
func (t *Tiers) RateNodes(c *model.Class) func(n *model.Node) int64 {
	if len(t.ratings) == 0 {
		return nil
	}
	ratings := make([]func(*model.Node) int64, 0, len(t.ratings))
	for _, p := range t.ratings {
		ratings = append(ratings, p.RateNodes(c))
	}
	return func(n *model.Node) int64 {
		var sum int64
		for _, rate := range ratings {
			sum += rate(n)
		}
		return sum
	}
}
