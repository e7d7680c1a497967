package sla_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/sla"
)

type abilities interface {
	framework.Begins
	framework.OrdersGangs
	framework.VotesOnGangs
	framework.Reserves
	framework.Notices
}

func build(t interface{ Fatal(...any) }, args framework.Args) abilities {
	p, err := sla.New(args, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		t.Fatal("sla lacks abilities")
	}
	return able
}

// gang was created at second 1000.
func gang(annotations ...string) *model.Gang {
	g := &model.Gang{GangSpec: model.GangSpec{Created: time.Unix(1000, 0), Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		g.Annotations[annotations[i]] = annotations[i+1]
	}
	return g
}

func TestADeadlineIsCreationAndWaitingTime(t *testing.T) {
	const ours, bare = "volcano.sh/sla-waiting-time", "sla-waiting-time"
	minute := framework.Args{"sla-waiting-time": "1m"}
	tests := map[string]struct {
		args framework.Args
		gang *model.Gang
		want int64 // seconds after creation; 0: none
		said int
	}{
		"nothing is said":                      {nil, gang(), 0, 0},
		"the plugin's own":                     {minute, gang(), 60, 0},
		"the gang's comes first":               {minute, gang(ours, "1h"), 3600, 0},
		"the key without a domain":             {minute, gang(bare, "2h"), 7200, 0},
		"the key with a domain before that":    {minute, gang(ours, "1h", bare, "2h"), 3600, 0},
		"one that is no duration":              {minute, gang(ours, "1 day"), 60, 1},
		"one that is negative":                 {minute, gang(ours, "-1h"), 60, 1},
		"one that is zero":                     {nil, gang(bare, "0s"), 0, 1},
		"a wrong one and a right one":          {minute, gang(ours, "soon", bare, "2h"), 7200, 1},
		"both wrong":                           {minute, gang(ours, "soon", bare, "later"), 60, 2},
		"a plugin without one, a gang with it": {nil, gang(bare, "1s"), 1, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := build(t, tt.args)
			from, ok := p.ReserveFrom(tt.gang)
			if ok != (tt.want > 0) || (ok && from.Unix() != 1000+tt.want) {
				t.Errorf("deadline %v (%t), want %d s after creation", from, ok, tt.want)
			}
			if said := p.Notices(tt.gang); len(said) != tt.said {
				t.Errorf("notices %q, want %d", said, tt.said)
			}
			if !ok {
				return
			}
			for before, want := range map[time.Duration]framework.Vote{time.Nanosecond: framework.Abstain, 0: framework.Permit, -time.Hour: framework.Permit} {
				p.Begin(nil, from.Add(-before))
				if v, _ := p.VoteOnGang(tt.gang, nil); v != want {
					t.Errorf("%v before the deadline it votes %d, want %d", before, v, want)
				}
			}
		})
	}
}

func TestANoticeSaysWhatIsWrongAndWhatWouldBeRight(t *testing.T) {
	want := []string{`annotation volcano.sh/sla-waiting-time is "1 day" and counts as not given: give a duration above 0, such as 90s or 1h30m`}
	if diff := gocmp.Diff(want, build(t, nil).Notices(gang("volcano.sh/sla-waiting-time", "1 day"))); diff != "" {
		t.Error(diff)
	}
}

func TestGangsWithADeadlineGoFirstTheEarlierFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := build(t, nil)
		var gangs []*model.Gang
		for range rapid.IntRange(2, 8).Draw(t, "gangs") {
			g := gang()
			g.Created = time.Unix(rapid.Int64Range(0, 100).Draw(t, "created"), 0)
			if rapid.Bool().Draw(t, "with a deadline") {
				g.Annotations["sla-waiting-time"] = (time.Duration(rapid.IntRange(1, 100).Draw(t, "wait")) * time.Second).String()
			}
			gangs = append(gangs, g)
		}
		slices.SortFunc(gangs, p.CompareGangs)
		key := func(g *model.Gang) int64 {
			if from, ok := p.ReserveFrom(g); ok {
				return from.Unix()
			}
			return 1 << 40
		}
		if !slices.IsSortedFunc(gangs, func(a, b *model.Gang) int { return cmp.Compare(key(a), key(b)) }) {
			t.Fatal("not in order of deadlines")
		}
	})
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for _, args := range []framework.Args{{"sla-waiting-time": "0"}, {"sla-waiting-time": "-1s"}, {"sla-waiting-time": "day"}, {"sla-waiting-time": ""}, {"waiting-time": "1s"}} {
		_, err := sla.New(args, framework.Env{})
		if err == nil || !strings.Contains(err.Error(), "waiting-time") {
			t.Errorf("%v: error %v", args, err)
		}
	}
}
