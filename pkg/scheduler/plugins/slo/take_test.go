package slo_test

import (
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// TestWhoTakesFromWhom asks for the room of gangs that have run for an hour, for one whose
// deadline presses, of priority 0.
func TestWhoTakesFromWhom(t *testing.T) {
	const h = time.Hour
	on := framework.Args{"slo.preempt": true, "slo.reclaim": true}
	urgent := []string{deadline, in(3 * h), estimate, "2h"}
	tests := map[string]struct {
		args     framework.Args
		by, from []string
		priority int32 // of from
		within   framework.Vote
		across   framework.Vote
	}{
		"of one that was promised nothing":      {on, urgent, nil, 0, framework.Permit, framework.Permit},
		"of one of lower priority":              {on, urgent, nil, -1, framework.Permit, framework.Permit},
		"of one of higher priority":             {on, urgent, nil, 1, framework.Abstain, framework.Permit},
		"of one that has time":                  {on, urgent, []string{deadline, in(10 * h), estimate, "2h"}, 0, framework.Permit, framework.Permit},
		"of one that would be late":             {on, urgent, []string{deadline, in(3 * h), estimate, "2h"}, 0, framework.Refuse, framework.Refuse},
		"of one that is late anyway":            {on, urgent, []string{deadline, in(h), estimate, "9h"}, 0, framework.Permit, framework.Permit},
		"of one that needs its replicas":        {on, urgent, []string{replicas, "2"}, 0, framework.Refuse, framework.Refuse},
		"of one that has more replicas":         {on, urgent, []string{replicas, "1"}, 0, framework.Permit, framework.Permit},
		"by one that has time":                  {on, []string{deadline, in(10 * h), estimate, "2h"}, nil, 0, framework.Abstain, framework.Abstain},
		"by one that can't be in time":          {on, []string{deadline, in(h), estimate, "2h"}, nil, 0, framework.Abstain, framework.Abstain},
		"by one that was promised nothing":      {on, nil, urgent, 0, framework.Refuse, framework.Refuse},
		"nothing is switched on":                {nil, urgent, nil, 0, framework.Abstain, framework.Abstain},
		"only taking within a queue is":         {framework.Args{"slo.preempt": true}, urgent, nil, 0, framework.Permit, framework.Abstain},
		"only taking from other queues is":      {framework.Args{"slo.reclaim": true}, urgent, nil, 0, framework.Abstain, framework.Permit},
		"and nothing that is held is protected": {nil, nil, urgent, 0, framework.Abstain, framework.Abstain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tt.args)
			s.w.SetQueue(model.QueueSpec{Name: "p"})
			by, other := s.gang("by", "q", 1, tt.by...), s.gang("other", "p", 1, tt.from...)
			from := s.gang("from", "q", 1, tt.from...)
			s.tasks("by", 1, time.Time{}, model.NotEnded)
			s.tasks("from", 2, start.Add(-h), model.NotEnded)
			s.tasks("other", 2, start.Add(-h), model.NotEnded)
			from.Priority = tt.priority
			s.at(0)
			if got := s.VoteOnPreempting(framework.Taking{By: by, Need: from.Tasks[0].Class.Req, From: from, Takes: from.Tasks[0].Class.Req}); got != tt.within {
				t.Errorf("within its queue %d, want %d", got, tt.within)
			}
			if got := s.VoteOnReclaiming(framework.Taking{By: by, Need: from.Tasks[0].Class.Req, From: other, Takes: from.Tasks[0].Class.Req}); got != tt.across {
				t.Errorf("from another queue %d, want %d", got, tt.across)
			}
		})
	}
}
