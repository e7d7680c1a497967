package slo

import (
	"cmp"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// class says what a gang goes first for; the lower the earlier.
type class uint8

const (
	recovering class = iota // it lost replicas that it was promised
	urgent                  // its deadline is near
	growing                 // it is slower than promised, and has its minimum
	ordinary
)

// classOf is as of this moment: gangs are placed while a cycle goes on.
func (p *plugin) classOf(it *item) class {
	switch {
	case it == nil || it.done:
		return ordinary
	case it.reached && it.gang.Counts.Placed < it.replicas:
		return recovering
	case it.urgent && lacks(it.gang):
		return urgent
	case it.slow && !lacks(it.gang):
		return growing
	default:
		return ordinary
	}
}

// lacks reports whether a gang has less than its minimum, or nothing at all.
func lacks(g *model.Gang) bool { return !g.Whole() || g.Counts.Held() == 0 }

// CompareGangs puts those first that recover, then urgent ones, then those that are too slow.
func (p *plugin) CompareGangs(a, b *model.Gang) int {
	if len(p.items) == 0 {
		return 0
	}
	x, y := p.items[a], p.items[b]
	of := p.classOf(x)
	if c := cmp.Compare(of, p.classOf(y)); c != 0 {
		return c
	}
	switch of {
	case recovering:
		return x.kept().Compare(y.kept())
	case urgent:
		return x.compare(y, x.score, y.score)
	case growing, ordinary:
	}
	return 0
}

// CompareQueues compares the gangs that would be served next. That one is too slow is no
// reason for its queue to go first.
func (p *plugin) CompareQueues(a, b *model.Queue) int {
	if len(p.items) == 0 {
		return 0
	}
	x, y := p.items[a.Next], p.items[b.Next]
	of, other := p.classOf(x), p.classOf(y)
	switch {
	case of >= growing && other >= growing:
		return 0
	case of != other:
		return cmp.Compare(of, other)
	case of == recovering:
		return x.kept().Compare(y.kept())
	default:
		return x.compare(y, p.score(x), p.score(y))
	}
}

// score is a gang's priority_score as things stand.
func (p *plugin) score(it *item) int64 {
	const most = 1_000_000_000 // a share of which there can't be more
	q := it.gang.Queue
	if q == nil {
		return 0
	}
	p.sum = append(p.sum[:0], p.world.Quota.Used(q.ID)...)
	p.sum.Add(it.wanted, 1)
	share := min(p.sum.Dominant(p.total, p.pods).Of(million), most)
	return share * it.slack / max(p.world.Quota.Terms(q.ID).Weight, 1)
}

// WakesOn names nothing, since the plugin never refuses.
func (*plugin) WakesOn() model.Change { return 0 }

// VoteOnGang insists on gangs that go first.
func (p *plugin) VoteOnGang(g *model.Gang, _ resource.Vector) (framework.Vote, reason.Reason) {
	if p.classOf(p.items[g]) <= urgent {
		return framework.Permit, reason.Reason{}
	}
	return framework.Abstain, reason.Reason{}
}

// ReserveFrom is when a gang with a deadline that can be met becomes urgent, if its queue
// could use what it lacks. What others are guaranteed is not set aside.
func (p *plugin) ReserveFrom(g *model.Gang) (time.Time, bool) {
	it := p.items[g]
	if it == nil || it.done || !it.turns || it.verdict != open || !p.world.Quota.Fits(g.Queue.ID, it.wanted, p.total) {
		return time.Time{}, false
	}
	return instant(it.from), true
}

// VictimRank puts those last whose promise would be broken.
func (p *plugin) VictimRank(g *model.Gang) int {
	it := p.items[g]
	switch {
	case it == nil || it.done:
		return 0
	case it.replicas > 0 && g.Counts.Placed <= it.replicas, it.dear:
		return 2
	case it.slow:
		return 1
	default:
		return 0
	}
}

// instant is the time of so many milliseconds.
func instant(at int64) time.Time { return time.UnixMilli(at).UTC() }
