package slo

import (
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// ChangesAt is the first instant at which time alone changes what is thought of a gang.
func (p *plugin) ChangesAt() (time.Time, bool) { return instant(p.next), p.next != 0 }

// Changed lists the gangs that became urgent or can't meet their deadline any more, or can again.
func (p *plugin) Changed() []*model.Gang { return p.changed }

// Unmet says why a deadline can't be met, or was not.
func (p *plugin) Unmet(g *model.Gang) (reason.Reason, bool) {
	it := p.items[g]
	if it == nil || it.verdict == open {
		return reason.Reason{}, false
	}
	why := reason.Reason{Code: reason.DeadlineMissed, Value: it.text}
	if it.verdict == tooSoon {
		why.Code, why.Field = reason.DeadlineTooSoon, basis(it.by)
		why.Need, why.Have = (it.work+999)/1000, (it.deadline-p.now)/1000
		why.Remedy = "move " + deadlineKey + ", or correct what it says of its work"
	}
	return why, true
}

// basis words where work is known from.
func basis(by source) string {
	switch by {
	case byEstimate:
		return "running estimate"
	case byProgress:
		return "progress"
	case byHistory:
		return "template's history"
	case byAssumption:
	}
	return "assumed work"
}

// Objectives lists what gangs were promised that have not ended, in order of arrival.
// That of a deadline that has passed shows as most urgent.
func (p *plugin) Objectives() (list []framework.Objective, missed int64) {
	for _, it := range p.live {
		add := func(kind string, urgency int64) {
			list = append(list, framework.Objective{Gang: it.gang, Kind: kind, Urgency: urgency})
		}
		if it.due {
			urgency := int64(mostUrgent)
			if it.deadline > p.now {
				urgency = min(it.urgency(p.now).Of(1000), mostUrgent)
			}
			add("deadline", urgency)
		}
		if it.speed > 0 {
			add("throughput", it.speed)
		}
		if it.replicas > 0 {
			add("availability", ratio(float64(it.replicas), float64(it.gang.Counts.Placed)))
		}
	}
	return list, p.missed
}
