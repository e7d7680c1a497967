package framework

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// Parts orders queues by what they use of their parts, for plugins that say what
// those are. A plugin embeds it and calls Give at the beginning of each cycle.
type Parts struct {
	// Waived is how many levels of queues, from that of a gang upwards, need not be
	// within their own part when it reclaims, if the next one above them is.
	Waived   int
	standing quota.Standing
	parts    []quota.Limit // by queue
}

// Give sets the part of each queue, by ID, in a cluster that has total.
func (p *Parts) Give(w *model.World, total resource.Vector, parts []quota.Limit) {
	queues := w.Queues()
	p.parts = parts
	p.standing = quota.Standing{
		Tree:  &w.Quota,
		Total: total,
		Part:  func(id quota.ID) quota.Limit { return parts[id] },
		First: func(id quota.ID) int32 { return queues[id].Priority },
		Asks:  func(id quota.ID) resource.Vector { return queues[id].Asks },
	}
}

// CompareQueues implements [OrdersQueues].
func (p *Parts) CompareQueues(a, b *model.Queue) int { return p.standing.Compare(a.ID, b.ID) }

// VoteOnReclaiming implements [VotesOnReclaiming]. A queue that came after the cycle
// began neither takes nor gives.
func (p *Parts) VoteOnReclaiming(t Taking) Vote {
	by, from := t.By.Queue.ID, t.From.Queue.ID
	if int(max(by, from)) < len(p.parts) && p.standing.MayReclaim(quota.Transfer{To: by, Need: t.Need, From: from, Takes: t.Takes, Spare: t.Spare, Given: t.Given}, p.Waived) {
		return Permit
	}
	return Refuse
}

// VotesByQueue implements [VotesByQueue].
func (*Parts) VotesByQueue() bool { return true }

// Deserved implements [Divides]. A queue that came after the cycle began has no part yet.
func (p *Parts) Deserved(q *model.Queue) resource.Vector {
	if int(q.ID) >= len(p.parts) {
		return nil
	}
	return p.parts[q.ID].Amount
}

// Shortage words one resource's sum, for reasons: need more besides used is over
// limit. The unit is that of the resource called unit; name is what users call it.
func Shortage(name, unit string, need, used, limit int64) reason.Shortage {
	return reason.Shortage{
		Resource: name,
		Need:     resource.Format(unit, need),
		Used:     resource.Format(unit, used),
		Limit:    resource.Format(unit, limit),
		Short:    resource.Format(unit, resource.Add(resource.Add(used, need), -limit)),
		Never:    need > limit,
	}
}

// ShortageOf words a ceiling that a request would break. Room that others leave is for
// those for whom it is set aside, so that only one of the two counts; where nothing is
// missing then, what is missing until they are gone.
func ShortageOf(name string, o quota.Over) reason.Shortage {
	taken := resource.Add(o.Used, o.Kept)
	short := Shortage(name, name, o.Need, resource.Add(taken, -o.Leaving), o.Limit)
	if resource.Add(resource.Add(taken, -o.Leaving), o.Need) <= o.Limit {
		short = Shortage(name, name, o.Need, taken, o.Limit)
		short.Passing = true
	}
	some := func(amount int64) string {
		if amount <= 0 {
			return ""
		}
		return resource.Format(name, amount)
	}
	short.Used = resource.Format(name, o.Used-o.Aside-o.Leaving)
	short.Leaving, short.Aside, short.Kept = some(o.Leaving), some(o.Aside), some(o.Kept)
	return short
}
