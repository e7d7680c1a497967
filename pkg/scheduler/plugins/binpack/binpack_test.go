package binpack_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/binpack"
)

func score(t interface{ Fatal(...any) }, args framework.Args, free, all, req map[string]int64) int64 {
	var table resource.Table
	p, err := binpack.New(args, framework.Env{Dim: table.Dim})
	if err != nil {
		t.Fatal(err)
	}
	scorer, ok := p.(framework.ScoresNodes)
	if !ok {
		t.Fatal("binpack scores no nodes")
	}
	vector := func(m map[string]int64) resource.Vector { return table.Vector(resource.ListOf(m)) }
	return scorer.ScoreNode(&model.Class{Req: vector(req)}, &model.Node{Free: vector(free), Allocatable: vector(all)})
}

func TestScoreIsTheWeightedShareAfterPlacing(t *testing.T) {
	all := map[string]int64{"cpu": 8000, "memory": 1 << 34, "nvidia.com/gpu": 8, "pods": 110}
	tests := map[string]struct {
		args framework.Args
		free map[string]int64
		req  map[string]int64
		want int64
	}{
		"half of the only resource, in units of 1/10,000 of 100": {nil, all, map[string]int64{"cpu": 4000}, 500_000},
		"the mean of two":                {nil, all, map[string]int64{"cpu": 8000, "nvidia.com/gpu": 4}, 750_000},
		"what is used already counts":    {nil, map[string]int64{"cpu": 4000}, map[string]int64{"cpu": 4000}, 1_000_000},
		"pods do not count":              {nil, all, map[string]int64{"cpu": 4000, "pods": 1}, 500_000},
		"weights of resources":           {framework.Args{"binpack.nvidia.com/gpu": "3"}, all, map[string]int64{"cpu": 8000, "nvidia.com/gpu": 4}, 625_000},
		"the weight of all":              {framework.Args{"binpack.weight": "10"}, all, map[string]int64{"cpu": 4000}, 5_000_000},
		"only the listed ones":           {framework.Args{"binpack.resources": "x/y"}, all, map[string]int64{"cpu": 4000, "nvidia.com/gpu": 8}, 500_000},
		"listed with a weight":           {framework.Args{"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": "3"}, all, map[string]int64{"cpu": 4000, "nvidia.com/gpu": 8}, 875_000},
		"nothing that counts":            {framework.Args{"binpack.cpu": "0"}, all, map[string]int64{"cpu": 4000}, 0},
		"a resource that the node lacks": {nil, all, map[string]int64{"cpu": 4000, "x/y": 1}, 500_000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := score(t, tt.args, tt.free, all, tt.req); got != tt.want {
				t.Errorf("score %d, want %d", got, tt.want)
			}
		})
	}
}

func TestTheFullerNodeScoresHigherWhateverTheSizes(t *testing.T) {
	amount := rapid.Int64Range(1, math.MaxInt64/4)
	rapid.Check(t, func(t *rapid.T) {
		all := amount.Draw(t, "allocatable")
		req := rapid.Int64Range(1, all).Draw(t, "request")
		more := rapid.Int64Range(req, all).Draw(t, "more free")
		less := rapid.Int64Range(req, more).Draw(t, "less free")
		of := func(n int64) map[string]int64 { return map[string]int64{"x/y": n} }
		emptier, fuller := score(t, nil, of(more), of(all), of(req)), score(t, nil, of(less), of(all), of(req))
		if emptier > fuller || emptier < 0 || fuller > 1_000_000 {
			t.Fatalf("emptier %d, fuller %d", emptier, fuller)
		}
	})
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	var table resource.Table
	for _, args := range []framework.Args{{"binpack.weight": "-1"}, {"binpack.cpu": "1.5"}, {"cpu": "1"}, {"binpack.resources": "a", "binpack.resources.a": ""}} {
		if _, err := binpack.New(args, framework.Env{Dim: table.Dim}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestAMisspeltArgumentIsNoResource(t *testing.T) {
	_, err := binpack.New(framework.Args{"binpack.wieght": 3, "binpack.hugepages-2Mi": 1, "binpack.pods": 0, "binpack.nvidia.com/gpu": 2}, framework.Env{Dim: (&resource.Table{}).Dim})
	want := `argument "binpack.wieght" is unknown; did you mean "binpack.weight"?`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
