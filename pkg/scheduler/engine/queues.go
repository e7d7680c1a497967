package engine

import (
	"math"

	"github.com/muster-sh/muster/pkg/model"
)

// QueueUse is what a queue uses. It is made from the ledger on demand.
type QueueUse struct {
	Name   string
	Known  bool
	Sums   []Sum
	Phases map[model.Phase]int // gangs by phase
}

// Sum is what a queue and those below it use of one resource, and its ceiling;
// Capability is -1 when there is none.
type Sum struct {
	Resource         string
	Used, Capability int64
}

// Queues tells what every queue uses, in order of arrival.
func (e *Engine) Queues() []QueueUse {
	uses := make([]QueueUse, len(e.World.Queues()))
	for i, q := range e.World.Queues() {
		uses[i] = QueueUse{Name: q.Name, Known: q.Known, Phases: map[model.Phase]int{}}
		used, ceiling := e.World.Quota.Used(q.ID), e.World.Quota.Capability(q.ID)
		for d := range max(len(used), len(ceiling.Named)) {
			limit := ceiling.At(d)
			if limit == math.MaxInt64 {
				limit = -1
			}
			if used.At(d) != 0 || limit >= 0 {
				uses[i].Sums = append(uses[i].Sums, Sum{Resource: e.World.Resources.Name(d), Used: used.At(d), Capability: limit})
			}
		}
	}
	//muster:anyorder a count
	for g, en := range e.entries {
		if g.Queue != nil {
			uses[g.Queue.ID].Phases[en.phase]++
		}
	}
	return uses
}
