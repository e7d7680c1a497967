package resourcestrategyfit_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/resourcestrategyfit"
)

type (
	amounts = map[string]int64
	hints   = map[string]string
	block   = map[string]any
)

const (
	gpu        = "nvidia.com/gpu"
	typeHint   = "volcano.sh/resource-strategy-scoring-type"
	weightHint = "volcano.sh/resource-strategy-weight"
)

// able is what the plugin can do.
type able interface {
	framework.ScoresNodes
	framework.JudgesTasks
	framework.Notices
}

// bench is a plugin, and makes what it looks at.
type bench struct {
	able
	table resource.Table
}

func build(t interface{ Fatal(...any) }, args framework.Args) *bench {
	b := &bench{}
	p, err := resourcestrategyfit.New(args, framework.Env{Dim: b.table.Dim})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := p.(able)
	if !ok {
		t.Fatal("resource-strategy-fit lacks an ability")
	}
	b.able = a
	return b
}

func (b *bench) class(req amounts, h hints) *model.Class {
	list := resource.ListOf(req)
	return &model.Class{Shape: model.Shape{Requests: list, Hints: h}, Req: b.table.Vector(list)}
}

func (b *bench) node(all, free amounts) *model.Node {
	return &model.Node{Name: "n", Allocatable: b.table.Vector(resource.ListOf(all)), Free: b.table.Vector(resource.ListOf(free))}
}

func TestANodeIsScoredByStrategy(t *testing.T) {
	all := amounts{"cpu": 8000, "memory": 1 << 34, gpu: 8, "amd.com/gpu": 8}
	free := amounts{"cpu": 4000, "memory": 1 << 34, gpu: 4, "amd.com/gpu": 8}
	pack := func(weight int) block { return block{"type": "MostAllocated", "weight": weight} }
	spread := func(weight int) block { return block{"type": "LeastAllocated", "weight": weight} }
	mixed := framework.Args{"resourceStrategyFitWeight": 1, "resources": block{"cpu": spread(1), gpu: pack(3)}}
	tests := map[string]struct {
		args framework.Args
		req  amounts
		hint hints
		want int64 // hundredths of a point
	}{
		"cpu and memory are spread by default, times 10": {nil, amounts{"cpu": 2000, "memory": 1 << 33}, nil, 375_00},
		"what is not asked for does not count":           {nil, amounts{"memory": 1 << 33}, nil, 500_00},
		"what has no strategy does not count":            {nil, amounts{gpu: 4}, nil, 0},
		"packed and spread, by weight":                   {mixed, amounts{"cpu": 2000, gpu: 4}, nil, 81_25},
		"the type may be left out":                       {framework.Args{"resourceStrategyFitWeight": 1, "resources": block{"cpu": block{}}}, amounts{"cpu": 2000}, nil, 25_00},
		"a beginning of names":                           {framework.Args{"resourceStrategyFitWeight": 1, "resources": block{"nvidia.com/*": pack(1)}}, amounts{gpu: 2}, nil, 75_00},
		"a name counts before a beginning":               {framework.Args{"resourceStrategyFitWeight": 1, "resources": block{gpu: spread(1), "nvidia.com/*": pack(1)}}, amounts{gpu: 2}, nil, 25_00},
		"the longer beginning counts":                    {framework.Args{"resourceStrategyFitWeight": 1, "resources": block{"nvidia*": spread(1), "nvidia.com/*": pack(1)}}, amounts{gpu: 2}, nil, 75_00},
		"another vendor's":                               {framework.Args{"resourceStrategyFitWeight": 1, "resources": block{"nvidia.com/*": pack(1)}}, amounts{"amd.com/gpu": 2}, nil, 0},
		"a weight of 0":                                  {framework.Args{"resourceStrategyFitWeight": 1, "resources": block{gpu: pack(0), "cpu": pack(1)}}, amounts{gpu: 2, "cpu": 4000}, nil, 100_00},
		"a resource that the node lacks":                 {framework.Args{"resourceStrategyFitWeight": 1, "resources": block{"x/y": spread(1)}}, amounts{"x/y": 1}, nil, 0},
		"a pod's own strategy":                           {mixed, amounts{"cpu": 2000, gpu: 4}, hints{typeHint: "MostAllocated", weightHint: `{"cpu": 1, "nvidia.com/gpu": 1}`}, 87_50},
		"a pod's type alone":                             {mixed, amounts{"cpu": 2000, gpu: 2}, hints{typeHint: "LeastAllocated"}, 25_00},
		"a pod's weights alone":                          {mixed, amounts{"cpu": 2000, gpu: 4}, hints{weightHint: `{"nvidia.com/gpu": 5}`}, 100_00},
		"a pod's weights for a beginning":                {mixed, amounts{gpu: 2}, hints{typeHint: "MostAllocated", weightHint: `{"nvidia.com/*": 5}`}, 75_00},
		"a pod's type that means nothing":                {mixed, amounts{"cpu": 2000, gpu: 4}, hints{typeHint: "most"}, 81_25},
		"a pod's weights that can't be read":             {mixed, amounts{"cpu": 2000, gpu: 4}, hints{weightHint: "gpu=5"}, 81_25},
		"scarce resources are left alone":                {framework.Args{"resourceStrategyFitWeight": 0, "sra": block{"enable": "true", "resources": gpu}}, amounts{"cpu": 1}, nil, 0},
		"and where there are none, tasks gather":         {framework.Args{"resourceStrategyFitWeight": 0, "sra": block{"enable": true, "resources": "x/y", "weight": 5}}, amounts{"cpu": 1}, nil, 500_00},
		"by weight of the resource":                      {framework.Args{"resourceStrategyFitWeight": 0, "sra": block{"enable": true, "resources": "x/y, " + gpu, "weight": 1, "resourceWeight": block{"x/y": "3"}}}, amounts{"cpu": 1}, nil, 75_00},
		"scarce resources that are switched off":         {framework.Args{"resourceStrategyFitWeight": 0, "sra": block{"enable": false, "resources": "x/y"}}, amounts{"cpu": 1}, nil, 0},
		"both add up":                                    {framework.Args{"sra": block{"enable": true, "resources": "x/y"}}, amounts{"cpu": 2000}, nil, 1250_00},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := build(t, tt.args)
			if got := b.ScoreNode(b.class(tt.req, tt.hint), b.node(all, free)) / (framework.Point / 100); got != tt.want {
				t.Errorf("score %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSomethingIsKeptForIdleAccelerators(t *testing.T) {
	of := func(resources string, proportion block) framework.Args {
		return framework.Args{"proportional": block{"enable": true, "resources": resources, "resourceProportion": proportion}}
	}
	args := of(gpu, block{gpu + ".cpu": 4, gpu + ".memory": "8"})
	const gb = 1_000_000_000
	tests := map[string]struct {
		args framework.Args
		free amounts
		req  amounts
		want string // the cause; empty: it fits
	}{
		"enough is left":                        {args, amounts{"cpu": 10_000, "memory": 20 * gb, gpu: 2}, amounts{"cpu": 2000, "memory": 4 * gb}, ""},
		"cpu would lack":                        {args, amounts{"cpu": 10_000, "memory": 20 * gb, gpu: 2}, amounts{"cpu": 2001}, "cpu kept for idle nvidia.com/gpu"},
		"memory would lack":                     {args, amounts{"cpu": 10_000, "memory": 20 * gb, gpu: 2}, amounts{"memory": 4*gb + 1}, "memory kept for idle nvidia.com/gpu"},
		"no accelerator is idle":                {args, amounts{"cpu": 2000, "memory": gb}, amounts{"cpu": 2000, "memory": gb}, ""},
		"cpu lacks, but none is asked for":      {args, amounts{"cpu": 0, "memory": 20 * gb, gpu: 2}, amounts{"memory": 4 * gb}, ""},
		"1 core and 1 GB by default":            {of(gpu, nil), amounts{"cpu": 2000, "memory": 20 * gb, gpu: 2}, amounts{"cpu": 1}, "cpu kept for idle nvidia.com/gpu"},
		"fractions of a core":                   {of(gpu, block{gpu + ".cpu": 0.5}), amounts{"cpu": 2000, "memory": 20 * gb, gpu: 2}, amounts{"cpu": 1000}, ""},
		"nothing is kept":                       {of(gpu, block{gpu + ".cpu": 0, gpu + ".memory": 0}), amounts{"cpu": 1000, "memory": gb, gpu: 2}, amounts{"cpu": 1000, "memory": gb}, ""},
		"for each of two kinds":                 {of("a/a, b/b", nil), amounts{"cpu": 3000, "memory": 20 * gb, "a/a": 1, "b/b": 1}, amounts{"cpu": 1001}, "cpu kept for idle b/b"},
		"more pieces than can be reckoned with": {args, amounts{"cpu": 1 << 62, "memory": 1 << 62, gpu: 1 << 62}, amounts{"cpu": 1}, "cpu kept for idle nvidia.com/gpu"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := build(t, tt.args)
			task := &model.Task{Class: b.class(tt.req, nil)}
			if b.Kind(task) == "" {
				t.Fatal("the task is not judged")
			}
			j, why, ok := b.Judge(task)
			if !ok {
				t.Fatalf("refused: %s", why)
			}
			if cause, fits := j.Fits(b.node(nil, tt.free)); cause != tt.want || fits != (tt.want == "") {
				t.Errorf("fits %v, cause %q, want %q", fits, cause, tt.want)
			}
		})
	}
}

func TestOnlyTasksWithoutAcceleratorsAreJudged(t *testing.T) {
	on := framework.Args{"proportional": block{"enable": true, "resources": gpu}}
	tests := map[string]struct {
		args framework.Args
		req  amounts
		want bool
	}{
		"it asks for cpu":                     {on, amounts{"cpu": 1}, true},
		"it asks for memory":                  {on, amounts{"memory": 1}, true},
		"it asks for an accelerator too":      {on, amounts{"cpu": 1, gpu: 1}, false},
		"it asks for nothing that is kept":    {on, amounts{"pods": 1}, false},
		"nothing is kept unless it is wanted": {framework.Args{"proportional": block{"resources": gpu}}, amounts{"cpu": 1}, false},
		"nothing is said":                     {nil, amounts{"cpu": 1}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := build(t, tt.args)
			if got := b.Kind(&model.Task{Class: b.class(tt.req, nil)}) != ""; got != tt.want {
				t.Errorf("judged %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAnAcceleratorsPartStaysForIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.Int64Range(0, 16).Draw(t, "cores each")
		b := build(t, framework.Args{"proportional": block{"enable": true, "resources": gpu, "resourceProportion": block{gpu + ".cpu": each, gpu + ".memory": 0}}})
		amount := rapid.Int64Range(0, 200_000)
		idle, req := rapid.Int64Range(0, 8).Draw(t, "idle"), rapid.Int64Range(1, 64_000).Draw(t, "asked for")
		free := req + amount.Draw(t, "free beyond that")
		j, _, _ := b.Judge(&model.Task{Class: b.class(amounts{"cpu": req}, nil)})
		_, fits := j.Fits(b.node(nil, amounts{"cpu": free, gpu: idle}))
		if left := free-req >= idle*each*1000; fits != left {
			t.Fatalf("fits %v, but enough would be left: %v", fits, left)
		}
	})
}

func TestAnnotationsThatCantBeReadAreTold(t *testing.T) {
	b := build(t, nil)
	good := b.class(nil, hints{typeHint: " MostAllocated ", weightHint: `{"cpu": 1}`})
	bad := b.class(nil, hints{typeHint: "most", weightHint: `{"cpu": -1}`})
	worse := b.class(nil, hints{weightHint: `{"*": 1}`})
	g := &model.Gang{}
	for i, c := range []*model.Class{good, bad, bad, worse} {
		g.Tasks = append(g.Tasks, &model.Task{TaskSpec: model.TaskSpec{Name: fmt.Sprint("a/", i)}, Class: c})
	}
	want := []string{
		`pod a/1: annotation volcano.sh/resource-strategy-weight is {"cpu": -1}: the weight of cpu is not between 0 and 10000`,
		`pod a/1: annotation volcano.sh/resource-strategy-scoring-type is most: write LeastAllocated or MostAllocated`,
		`pod a/3: annotation volcano.sh/resource-strategy-weight is {"*": 1}: "*" is no resource: write its name, or the beginning of names with one * at its end`,
	}
	if diff := cmp.Diff(want, b.Notices(g)); diff != "" {
		t.Error(diff)
	}
}

func TestANumberOfAClassIsNotMistakenForTheClass(t *testing.T) {
	b := build(t, framework.Args{"resourceStrategyFitWeight": 1, "resources": block{"cpu": block{"type": "MostAllocated"}}})
	n := b.node(amounts{"cpu": 1000}, amounts{"cpu": 1000})
	first, second := b.class(nil, nil), b.class(amounts{"cpu": 1000}, nil) // both are number 0
	if a, z := b.ScoreNode(first, n), b.ScoreNode(second, n); a != 0 || z != framework.FullScore {
		t.Errorf("scores %d and %d, want 0 and full", a, z)
	}
}

func TestScoringAllocatesNothing(t *testing.T) {
	b, c, n := whole(t)
	if allocated := testing.AllocsPerRun(100, func() { b.ScoreNode(c, n) }); allocated != 0 {
		t.Errorf("%v allocations for one score, want none", allocated)
	}
}

func BenchmarkScoreNode(bench *testing.B) {
	b, c, n := whole(bench)
	for bench.Loop() {
		b.ScoreNode(c, n)
	}
}

func whole(t interface{ Fatal(...any) }) (*bench, *model.Class, *model.Node) {
	b := build(t, framework.Args{
		"resources": block{"cpu": block{}, "memory": block{}, "nvidia.com/*": block{"type": "MostAllocated", "weight": 2}},
		"sra":       block{"enable": true, "resources": gpu},
	})
	all := amounts{"cpu": 96_000, "memory": 1 << 40, gpu: 8}
	return b, b.class(amounts{"cpu": 8000, "memory": 1 << 36, gpu: 1}, nil), b.node(all, all)
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	var table resource.Table
	for _, args := range []framework.Args{
		{"resourceStrategyFitWeight": -1},
		{"resources": "cpu"},
		{"resources": block{"cpu": "LeastAllocated"}},
		{"resources": block{"cpu": block{"type": "Most"}}},
		{"resources": block{"cpu": block{"wait": 1}}},
		{"resources": block{"*": block{}}},
		{"resources": block{"*.com/gpu": block{}}},
		{"sra": block{"enable": true}},
		{"sra": block{"enable": true, "resources": gpu, "resourceWeight": block{"nvidia.com/gpus": 1}}},
		{"sra": block{"enabled": true}},
		{"proportional": block{"enable": true}},
		{"proportional": block{"enable": true, "resources": gpu, "resourceProportion": block{gpu + ".cpu": -1}}},
		{"proportional": block{"enable": true, "resources": gpu, "resourceProportion": block{gpu + ".cpu": 1e12}}},
		{"proportional": block{"enable": true, "resources": gpu, "resourceProportion": block{gpu: 1}}},
		{"weight": 1},
	} {
		if _, err := resourcestrategyfit.New(args, framework.Env{Dim: table.Dim}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
