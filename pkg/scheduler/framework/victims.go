package framework

import (
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// ProtectsTasks is for plugins that keep a task from being a victim. Who protects a
// task is not outvoted: no action that looks for victims takes it, whatever other
// plugins say and whatever tier they stand in. Protects says, as of now, whether the
// task is protected, and why in a few words that complete "the task is protected: ".
// It looks at one task as the world stands: who takes several at once asks again
// after each.
type ProtectsTasks interface {
	Protects(t *model.Task, now time.Time) (why string, ok bool)
}

// Repairs says how long a gang that lost a part of its minimum may take to be whole again,
// before it has to go whole; false: as long as it likes.
type Repairs interface {
	RepairWithin(g *model.Gang) (time.Duration, bool)
}

// Rule is what entitles a gang to the room of another.
type Rule uint8

// Rules.
const (
	Preempting Rule = iota // within a queue: by priority, or by who has more
	Reclaiming             // across queues: what one borrowed and another deserves
	Swapping               // within a gang: by the priority of its tasks
	rules                  // how many there are
)

// Taking is a proposal: tasks of one gang give way to another. It is voted on as the
// world stands, in which those that were taken before are gone.
type Taking struct {
	By    *model.Gang
	Need  resource.Vector // what By would be charged
	From  *model.Gang
	Takes resource.Vector // what From would no longer be charged; of devices that others share, what it would be when they leave too
	// In is the least of the tasks that are to be placed and Out one that would give way, when
	// both are of one gang: By and From; else nil.
	In, Out *model.Task
	// Spare is what a queue and those below it use beyond the minimums of their gangs, when
	// this would break one: they would give that before. Nil: this breaks none.
	Spare func(quota.ID) resource.Vector
	// Given is what a queue and those below it gave already for By; nil: nothing.
	Given func(quota.ID) resource.Vector
}

// VotesOnPreempting votes on takings within a queue.
type VotesOnPreempting interface {
	VoteOnPreempting(t Taking) Vote
}

// VotesOnReclaiming votes on takings across queues.
type VotesOnReclaiming interface {
	VoteOnReclaiming(t Taking) Vote
}

// VotesOnSwapping votes on whether a task may take the place of another of its gang, which
// has that beyond its minimum.
type VotesOnSwapping interface {
	VoteOnSwapping(in, out *model.Task) Vote
}

// VotesByQueue is for plugins whose votes on reclaiming look at the queues of the two gangs
// and at amounts only: one question for a queue then spares one for each of its gangs.
type VotesByQueue interface {
	VotesOnReclaiming
	VotesByQueue() bool // asked once; false: not as it is configured
}

// RanksVictims is for plugins that know who loses most by giving way: of gangs of one
// priority that one rule speaks of, those of a higher rank are the last to. 0: no opinion.
type RanksVictims interface {
	VictimRank(g *model.Gang) int
}

// Presses is for plugins that entitle gangs to the room of others for another cause than
// priority or what queues deserve: what was promised to them. Pressing says why, for the
// victims: the queue and the PodGroup are filled in.
type Presses interface {
	Pressing(rule Rule, g *model.Gang) (reason.Reason, bool)
}

// Pressing is why a plugin entitles a gang; false when none does.
func (t *Tiers) Pressing(rule Rule, g *model.Gang) (reason.Reason, bool) {
	for _, p := range t.pressers {
		if why, ok := p.Pressing(rule, g); ok {
			return why, true
		}
	}
	return reason.Reason{}, false
}

// VictimRank is the highest rank that a plugin gives a gang.
func (t *Tiers) VictimRank(g *model.Gang) int {
	rank := 0
	for _, p := range t.victimRanks {
		rank = max(rank, p.VictimRank(g))
	}
	return rank
}

// Dismisses is for plugins that want tasks on nodes to go though no gang needs their
// room. An action carries that out as far as budgets, minimums and other plugins let it;
// Wishes is asked whenever it runs, and must cost nothing while it is not time. WishesAt
// is when time alone will bring wishes, false: never; only Wishes and Turned set it.
type Dismisses interface {
	Wishes(w *model.World, now time.Time) []Wish
	WishesAt() (time.Time, bool)
}

// Wish is a task that a plugin wants to go.
type Wish struct {
	Task   *model.Task
	Why    string // completes "it has to leave its node: "
	Plugin string // whose wish it is; [Tiers.Wishes] fills it in
	// Most is how many tasks of its gang may go at once, those of a whole gang aside; 0: any number.
	Most int32
	// Whole: where a gang can't do without the task, all of it may go.
	Whole bool
}

// Wishes gathers what all plugins wish, in their order.
func (t *Tiers) Wishes(w *model.World, now time.Time) []Wish {
	var wishes []Wish
	ask(t, t.dismissals, "say which tasks it wants to go", func(p Dismisses) {
		for _, wish := range p.Wishes(w, now) {
			wish.Plugin = named(p)
			wishes = append(wishes, wish)
		}
	})
	return wishes
}

// MayTake counts the votes, tier by tier: any Refuse decides, then any Permit; a tier
// that abstains leaves it to the next. Where nobody permits it, nothing is taken.
func (t *Tiers) MayTake(rule Rule, taking Taking) bool {
	for _, tier := range t.takings[rule] {
		permitted := false
		for _, vote := range tier {
			switch vote(taking) {
			case Refuse:
				return false
			case Permit:
				permitted = true
			case Abstain:
			}
		}
		if permitted {
			return true
		}
	}
	return false
}

// VoteByQueue reports whether all that vote on a rule look at queues and amounts only.
func (t *Tiers) VoteByQueue(rule Rule) bool { return rule == Reclaiming && !t.byGang }

// Protected asks all plugins that protect tasks.
func (t *Tiers) Protected(task *model.Task, now time.Time) (why string, ok bool) {
	for _, p := range t.protectors {
		if why, ok := p.Protects(task, now); ok {
			return why, true
		}
	}
	return "", false
}

// RepairWithin is the shortest time that any plugin gives a gang to be whole again.
func (t *Tiers) RepairWithin(g *model.Gang) (least time.Duration, ok bool) {
	for _, p := range t.repairs {
		if d, has := p.RepairWithin(g); has && (!ok || d < least) {
			least, ok = d, true
		}
	}
	return least, ok
}

// canvass gathers who votes on takings, protects and repairs in one tier.
func (t *Tiers) canvass(tier []Enabled) {
	var votes [rules][]func(Taking) Vote
	for _, p := range tier {
		t.protectors = add(t.protectors, p, 0)
		t.repairs = add(t.repairs, p, 0)
		t.victimRanks = add(t.victimRanks, p, 0)
		t.pressers = add(t.pressers, p, 0)
		if v, ok := p.Plugin.(VotesOnPreempting); ok && p.Off&Preempt == 0 {
			votes[Preempting] = append(votes[Preempting], v.VoteOnPreempting)
		}
		if v, ok := p.Plugin.(VotesOnSwapping); ok && p.Off&Preempt == 0 {
			votes[Swapping] = append(votes[Swapping], func(t Taking) Vote { return v.VoteOnSwapping(t.In, t.Out) })
		}
		if v, ok := p.Plugin.(VotesOnReclaiming); ok && p.Off&Reclaim == 0 {
			votes[Reclaiming] = append(votes[Reclaiming], v.VoteOnReclaiming)
			q, ok := v.(VotesByQueue)
			t.byGang = t.byGang || !ok || !q.VotesByQueue()
		}
	}
	for rule := range votes {
		if votes[rule] != nil {
			t.takings[rule] = append(t.takings[rule], votes[rule])
		}
	}
}
