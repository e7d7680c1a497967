package slo

import (
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// takes reports whether gangs may take from others by a rule because their deadlines press.
func (p *plugin) takes(rule framework.Rule) bool {
	if rule == framework.Preempting {
		return p.preempts
	}
	return p.reclaims
}

// entitled reports whether a gang may take from others by a rule: once for each deadline,
// or who is above it for another reason and those below could send each other round.
func (p *plugin) entitled(rule framework.Rule, g *model.Gang) bool {
	it := p.items[g]
	return p.takes(rule) && it != nil && !it.done && it.urgent && !it.served && lacks(g)
}

// stands reports whether something that a gang was promised would break if it lost what a
// taking proposes. Once a deadline pressed, it counts until the gang has ended or it has
// passed: so nobody takes back what it took.
func (p *plugin) stands(t framework.Taking) bool {
	it := p.items[t.From]
	if it == nil || it.done {
		return false
	}
	it.serve() // it may be placed and have to go within one cycle, of which no Begin learns
	if it.replicas > 0 && (t.Spare != nil || t.From.Counts.Placed <= it.replicas) {
		return true
	}
	return it.due && it.verdict == open && (it.dear || it.pressed)
}

// Pressing says what presses.
func (p *plugin) Pressing(rule framework.Rule, g *model.Gang) (reason.Reason, bool) {
	if !p.entitled(rule, g) {
		return reason.Reason{}, false
	}
	it := p.items[g]
	return reason.Reason{Code: reason.MoreUrgent, Value: it.text, Need: (it.work + 999) / 1000, Have: (it.deadline - p.now) / 1000}, true
}

// VoteOnPreempting has urgent gangs take from those of their priority, or lower, of which
// no promise would break, and keeps what they took from those of the same.
func (p *plugin) VoteOnPreempting(t framework.Taking) framework.Vote {
	if !p.preempts && !p.reclaims {
		return framework.Abstain
	}
	stands := p.stands(t)
	switch {
	case !p.preempts || t.By.Priority < t.From.Priority:
	case !stands && p.entitled(framework.Preempting, t.By):
		return framework.Permit
	case stands && t.By.Priority == t.From.Priority:
		return framework.Refuse
	}
	return framework.Abstain
}

// VotesByQueue reports whether it has no opinion of reclaiming at all.
func (p *plugin) VotesByQueue() bool { return !p.reclaims }

// VoteOnReclaiming has urgent gangs take from other queues what these are not guaranteed,
// unless a promise would break, and keeps what they took from all but those to whom it is
// guaranteed.
func (p *plugin) VoteOnReclaiming(t framework.Taking) framework.Vote {
	if !p.reclaims {
		return framework.Abstain
	}
	stands := p.stands(t)
	move := quota.Transfer{To: t.By.Queue.ID, Need: t.Need, From: t.From.Queue.ID, Takes: t.Takes, Given: t.Given}
	switch {
	case !stands && p.entitled(framework.Reclaiming, t.By) && p.world.Quota.KeepsGuarantees(move):
		return framework.Permit
	case stands && !p.world.Quota.IsGuaranteed(move):
		return framework.Refuse
	}
	return framework.Abstain
}
