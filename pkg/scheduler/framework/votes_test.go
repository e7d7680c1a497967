package framework_test

import (
	"testing"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// voter says the same of every taking, by any rule.
type voter struct {
	framework.Plugin

	vote framework.Vote
}

func (v voter) VoteOnPreempting(framework.Taking) framework.Vote { return v.vote }
func (v voter) VoteOnReclaiming(framework.Taking) framework.Vote { return v.vote }

// TestOnlyWhomAllOfATierLetGoMayBeTaken: the votes of a tier are an intersection, and an
// empty one is final; a tier without an opinion leaves it to the next.
func TestOnlyWhomAllOfATierLetGoMayBeTaken(t *testing.T) {
	type tiers = [][]framework.Vote
	const permit, refuse, abstain = framework.Permit, framework.Refuse, framework.Abstain
	for name, tt := range map[string]struct {
		votes tiers
		want  bool
	}{
		"nobody is asked":                    {tiers{{}}, false},
		"nobody has an opinion":              {tiers{{abstain}, {abstain}}, false},
		"one permits":                        {tiers{{permit}}, true},
		"all permit":                         {tiers{{permit, permit}}, true},
		"one refuses, after one permits":     {tiers{{permit, refuse}}, false},
		"one refuses, before one permits":    {tiers{{refuse, permit}}, false},
		"a refusal is not asked about again": {tiers{{refuse}, {permit}}, false},
		"an empty intersection is final":     {tiers{{permit, refuse}, {permit}}, false},
		"what was permitted is not refused":  {tiers{{permit}, {refuse}}, true},
		"who has no opinion is not counted":  {tiers{{abstain, permit}}, true},
		"the next tier decides":              {tiers{{abstain}, {permit}}, true},
		"or the one after that":              {tiers{{abstain}, {}, {refuse, permit}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var composed [][]framework.Enabled
			for _, votes := range tt.votes {
				var tier []framework.Enabled
				for _, v := range votes {
					tier = append(tier, framework.Enabled{Plugin: voter{vote: v}})
				}
				composed = append(composed, tier)
			}
			for _, rule := range []framework.Rule{framework.Preempting, framework.Reclaiming} {
				if got := framework.Compose(composed).MayTake(rule, framework.Taking{}); got != tt.want {
					t.Errorf("rule %d: %v, want %v", rule, got, tt.want)
				}
			}
		})
	}
}
