package overcommit_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/overcommit"
)

// world has a node of the given cores, and in it a task of a queue below another,
// one of another scheduler, and a promise, each of so many cores.
func world(cores, queued, foreign, promised int64) (*model.World, *model.Gang) {
	w := model.New()
	list := func(n int64) resource.List { return resource.ListOf(map[string]int64{"cpu": n * 1000}) }
	w.SetNode(model.NodeSpec{Name: "n", Allocatable: list(cores)})
	w.SetQueue(model.QueueSpec{Name: "root"})
	w.SetQueue(model.QueueSpec{Name: "ai", Parent: "root"})
	w.SetGang(model.GangSpec{Key: "ml/old", Queue: "ai"})
	w.SetGang(model.GangSpec{Key: "ml/new", Queue: "ai"})
	w.SetTask(model.TaskSpec{UID: "a", Gang: "ml/old", Node: "n", Shape: model.Shape{Key: "a", Requests: list(queued)}})
	w.SetTask(model.TaskSpec{UID: "b", Node: "n", Shape: model.Shape{Key: "b", Requests: list(foreign)}})
	w.Promise(w.GangOf("ml/old"), w.Resources.Vector(list(promised)))
	return w, w.GangOf("ml/new")
}

func vote(t interface{ Fatal(...any) }, args framework.Args, w *model.World, g *model.Gang, need map[string]int64) (framework.Vote, string) {
	p, err := overcommit.New(args, framework.Env{Dim: w.Resources.Dim})
	if err != nil {
		t.Fatal(err)
	}
	begins, ok := p.(framework.Begins)
	votes, also := p.(framework.VotesOnGangs)
	if !ok || !also {
		t.Fatal("overcommit lacks abilities")
	}
	begins.Begin(w, time.Unix(0, 0))
	v, why := votes.VoteOnGang(g, w.Resources.Vector(resource.ListOf(need)))
	return v, why.String()
}

func TestAdmissionIsBoundedByTheClusterTimesTheFactor(t *testing.T) {
	cpu := func(n int64) map[string]int64 { return map[string]int64{"cpu": n} }
	tests := map[string]struct {
		args                      framework.Args
		queued, foreign, promised int64
		need                      map[string]int64
		want                      string // empty: no opinion
	}{
		"exactly the bound of 1.2":                {nil, 4, 4, 2, cpu(2000), ""},
		"a thousandth of a core more":             {nil, 4, 4, 2, cpu(2001), "minResources exceed what is free in the cluster counted 1.2 times: cpu needs 2001m, 8 of 12 used and 2 held for others (short 1m)"},
		"twice":                                   {framework.Args{"overcommit-factor": 2}, 4, 4, 2, cpu(10_000), ""},
		"a quoted factor":                         {framework.Args{"overcommit-factor": "1.25"}, 4, 4, 2, cpu(2501), "minResources exceed what is free in the cluster counted 1.25 times: cpu needs 2501m, 8 of 12500m used and 2 held for others (short 1m)"},
		"what it does not ask for does not count": {nil, 20, 4, 2, map[string]int64{"cpu": 0}, ""},
		"a gang that asks for nothing":            {nil, 20, 4, 2, nil, ""},
		"a resource that the cluster lacks":       {nil, 0, 0, 0, map[string]int64{"nvidia.com/gpu": 1}, "minResources exceed what is free in the cluster counted 1.2 times: nvidia.com/gpu needs 1, 0 of 0 used (short 1; more than it ever has)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, g := world(10, tt.queued, tt.foreign, tt.promised)
			v, why := vote(t, tt.args, w, g, tt.need)
			if tt.want == "" {
				if v != framework.Abstain {
					t.Errorf("vote %d: %s", v, why)
				}
				return
			}
			if v != framework.Refuse || why != tt.want {
				t.Errorf("vote %d\ngot  %s\nwant %s", v, why, tt.want)
			}
		})
	}
}

func TestWhatIsOwedCountsUnlessAllThatIsAskedForIsFree(t *testing.T) {
	for need, want := range map[int64]framework.Vote{
		2000: framework.Abstain, // 4 + 6 + 2 are within 12
		6000: framework.Abstain, // beyond that, but 6 are free
		6001: framework.Refuse,
	} {
		w, g := world(10, 4, 0, 0)
		w.Owe(w.GangOf("ml/old"), w.Resources.Vector(resource.ListOf(map[string]int64{"cpu": 6000})))
		if v, why := vote(t, nil, w, g, map[string]int64{"cpu": need}); v != want {
			t.Errorf("%dm: vote %d, want %d: %s", need, v, want, why)
		}
	}
}

func TestTheBoundIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cores := rapid.Int64Range(1, 1<<40).Draw(t, "cores")
		queued := rapid.Int64Range(0, cores).Draw(t, "queued")
		promised := rapid.Int64Range(0, cores).Draw(t, "promised")
		millionths := rapid.Int64Range(1_000_000, 3_000_000).Draw(t, "factor in millionths")
		need := rapid.Int64Range(1, 3000*cores).Draw(t, "need")
		w, g := world(cores, queued, 0, promised)
		factor := strconv.FormatFloat(float64(millionths)/1e6, 'f', 6, 64)
		v, _ := vote(t, framework.Args{"overcommit-factor": factor}, w, g, map[string]int64{"cpu": need})
		bound := new(big.Rat).Mul(big.NewRat(cores*1000, 1), big.NewRat(millionths, 1_000_000))
		over := new(big.Rat).SetInt64(1000*(queued+promised)+need).Cmp(bound) > 0
		if over != (v == framework.Refuse) {
			t.Fatalf("vote %d, beyond the bound: %t", v, over)
		}
	})
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for value, want := range map[any]string{
		0.9: `argument overcommit-factor is "0.9": give a number of 1 or more`, "much": `"much"`, -1: `"-1"`, 1e7: "not above",
	} {
		_, err := overcommit.New(framework.Args{"overcommit-factor": value}, framework.Env{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %s", value, err, want)
		}
	}
	if _, err := overcommit.New(framework.Args{"overcommit-facotr": 1}, framework.Env{}); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a misspelt argument: %v", err)
	}
}
