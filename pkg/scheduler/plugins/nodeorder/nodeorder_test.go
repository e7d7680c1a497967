package nodeorder_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/nodeorder"
)

type amounts map[string]int64

// rater is what the plugin can do.
type rater interface {
	framework.ScoresNodes
	framework.RatesNodes
}

// only returns arguments that switch every part off but those given.
func only(args framework.Args) framework.Args {
	all := framework.Args{
		"leastrequested.weight": 0, "balancedresource.weight": 0, "nodeaffinity.weight": 0, "tainttoleration.weight": 0,
		"imagelocality.weight": 0,
	}
	maps.Copy(all, args)
	return all
}

func build(t interface{ Fatal(...any) }, args framework.Args, table *resource.Table) rater {
	p, err := nodeorder.New(args, framework.Env{Dim: table.Dim})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := p.(rater)
	if !ok {
		t.Fatal("nodeorder rates no nodes")
	}
	return r
}

// TestWeightsThatAreNotGiven are upstream's: each part alone, times its weight, adds up to the whole.
func TestWeightsThatAreNotGiven(t *testing.T) {
	var table resource.Table
	defaults := map[string]int64{
		"leastrequested.weight": 1, "mostrequested.weight": 0, "balancedresource.weight": 1, "nodeaffinity.weight": 2, "tainttoleration.weight": 3, "imagelocality.weight": 1,
	}
	c := &model.Class{Shape: model.Shape{
		Images: []string{"there:1"},
		Affinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "fast", Operator: corev1.NodeSelectorOpExists}},
		}}}},
	}, Req: resource.Vector{1000, 1 << 30}}
	table.Dim("cpu")
	table.Dim("memory")
	n := &model.Node{Allocatable: resource.Vector{8000, 16 << 30}, Free: resource.Vector{4000, 16 << 30}}
	n.Labels = map[string]string{"fast": ""}
	n.Object = &corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"there:1"}, SizeBytes: 600 << 20}}}}
	points := func(args framework.Args) int64 {
		r := build(t, args, &table)
		return r.ScoreNode(c, n) + r.RateNodes(c)(n)
	}
	var want int64
	for key, weight := range defaults {
		part := points(only(framework.Args{key: 1}))
		if part <= 0 {
			t.Errorf("%s: %d points, so that its weight does not show", key, part)
		}
		want += weight * part
	}
	if got := points(nil); got != want {
		t.Errorf("%d points, want %d", got, want)
	}
}

func TestANodeIsScoredByWhatIsTakenOfIt(t *testing.T) {
	node := amounts{"cpu": 8000, "memory": 16 << 30, "nvidia.com/gpu": 8, "pods": 110}
	half := amounts{"cpu": 4000, "memory": 8 << 30, "nvidia.com/gpu": 4, "pods": 100}
	tests := map[string]struct {
		args  framework.Args
		free  amounts
		req   amounts
		tasks int
		want  int64 // hundredths of a point
	}{
		"what stays free, the task included":        {framework.Args{"leastrequested.weight": 1}, node, amounts{"cpu": 2000}, 0, 87_50},
		"what is taken, the task included":          {framework.Args{"mostrequested.weight": 1}, half, amounts{"cpu": 2000, "memory": 4 << 30}, 0, 75_00},
		"a full node has nothing free":              {framework.Args{"leastrequested.weight": 1}, amounts{"cpu": 1000, "memory": 1 << 30}, amounts{"cpu": 1000, "memory": 1 << 30}, 0, 0},
		"an overbooked node has not less":           {framework.Args{"leastrequested.weight": 1}, amounts{"cpu": -4000, "memory": -1}, amounts{}, 0, 0},
		"GPUs count only for balance":               {framework.Args{"leastrequested.weight": 1}, half, amounts{"nvidia.com/gpu": 4}, 0, 50_00},
		"an even node stays even":                   {framework.Args{"balancedresource.weight": 1}, node, amounts{"cpu": 4000, "memory": 8 << 30, "nvidia.com/gpu": 4}, 0, 75_00},
		"an even node becomes uneven":               {framework.Args{"balancedresource.weight": 1}, node, amounts{"cpu": 8000}, 0, 50_00},
		"GPUs count where they are asked for":       {framework.Args{"balancedresource.weight": 1}, node, amounts{"cpu": 8000, "memory": 16 << 30, "nvidia.com/gpu": 4}, 0, 63_21},
		"GPUs count nowhere else":                   {framework.Args{"balancedresource.weight": 1}, node, amounts{"cpu": 8000, "memory": 16 << 30}, 0, 75_00},
		"an uneven node becomes even":               {framework.Args{"balancedresource.weight": 1}, amounts{"nvidia.com/gpu": 8}, amounts{"nvidia.com/gpu": 8}, 0, 98_57},
		"a task that asks for nothing":              {framework.Args{"balancedresource.weight": 1}, amounts{"cpu": 8000}, amounts{}, 0, 75_00},
		"an empty node has fewest tasks":            {framework.Args{"plugin.least-task.weight": 1}, node, amounts{}, 0, 100_00},
		"three tasks are more":                      {framework.Args{"plugin.least-task.weight": 1}, node, amounts{}, 3, 25_00},
		"the fuller in what is asked for":           {framework.Args{"plugin.binpack.weight": 1}, half, amounts{"cpu": 2000, "nvidia.com/gpu": 4, "pods": 1}, 0, 87_50},
		"weights of resources":                      {framework.Args{"plugin.binpack.weight": 1, "plugin.binpack.nvidia.com/gpu": "3"}, half, amounts{"cpu": 2000, "nvidia.com/gpu": 4}, 0, 93_75},
		"a resource that does not count":            {framework.Args{"plugin.binpack.weight": 1, "plugin.binpack.cpu": 0}, half, amounts{"cpu": 2000}, 0, 0},
		"parts add up by weight":                    {framework.Args{"leastrequested.weight": 2, "mostrequested.weight": 1}, half, amounts{}, 0, 150_00},
		"the whole has a weight":                    {framework.Args{"leastrequested.weight": 2, "plugin.weight": "10"}, half, amounts{}, 0, 1000_00},
		"the seed's spellings, beside the defaults": {framework.Args{"leastrequested.weight": 1, "balancedresource.weight": 1, "plugin.weight": 10, "plugin.least-task.weight": 5, "plugin.binpack.weight": 8, "plugin.binpack.nvidia.com/gpu": "2"}, half, amounts{"nvidia.com/gpu": 4}, 1, 11632_14},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var table resource.Table
			p := build(t, only(tt.args), &table)
			vector := func(a amounts) resource.Vector { return table.Vector(resource.ListOf(a)) }
			n := &model.Node{Allocatable: vector(node), Free: vector(tt.free), Tasks: make([]*model.Task, tt.tasks)}
			if got := p.ScoreNode(&model.Class{Req: vector(tt.req)}, n) / (framework.Point / 100); got != tt.want {
				t.Errorf("score %d, want %d", got, tt.want)
			}
		})
	}
}

func TestANodeIsRatedByItsTraits(t *testing.T) {
	term := func(weight int32, value string) corev1.PreferredSchedulingTerm {
		return corev1.PreferredSchedulingTerm{Weight: weight, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
		}}
	}
	prefers := func(terms ...corev1.PreferredSchedulingTerm) model.Shape {
		return model.Shape{Affinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}}
	}
	soft := func(keys ...string) model.Node {
		var n model.Node
		for _, key := range keys {
			n.Taints = append(n.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectPreferNoSchedule})
		}
		return n
	}
	holding := func(name string, size int64) model.Node {
		return model.Node{Object: &corev1.Node{Status: corev1.NodeStatus{Images: []corev1.ContainerImage{
			{Names: []string{"other:1"}, SizeBytes: 1 << 40}, {Names: []string{"alias@sha256:0", name}, SizeBytes: size},
		}}}}
	}
	gpu := model.Node{Labels: map[string]string{"pool": "gpu"}}
	const affinity, taints, images = "nodeaffinity.weight", "tainttoleration.weight", "imagelocality.weight"
	tests := map[string]struct {
		part  string
		shape model.Shape
		node  model.Node
		want  int64 // hundredths of a point
	}{
		"no preference":                        {affinity, model.Shape{}, gpu, 0},
		"all preferences met":                  {affinity, prefers(term(10, "gpu")), gpu, 100_00},
		"part of them, by weight":              {affinity, prefers(term(30, "gpu"), term(10, "cpu")), gpu, 75_00},
		"none of them":                         {affinity, prefers(term(10, "cpu")), gpu, 0},
		"an empty term counts for nothing":     {affinity, prefers(term(10, "gpu"), corev1.PreferredSchedulingTerm{Weight: 90}), gpu, 100_00},
		"no taint":                             {taints, model.Shape{}, model.Node{}, 100_00},
		"a taint that only asks":               {taints, model.Shape{}, soft("a"), 10_00},
		"two of them":                          {taints, model.Shape{}, soft("a", "b"), 5_00},
		"one is tolerated":                     {taints, model.Shape{Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}}, soft("a", "b"), 10_00},
		"tolerated for another effect":         {taints, model.Shape{Tolerations: []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}}, soft("a"), 10_00},
		"no image":                             {images, model.Shape{Images: []string{"a:1"}}, model.Node{}, 0},
		"a tiny image":                         {images, model.Shape{Images: []string{"a:1"}}, holding("a:1", 23<<20), 0},
		"an image halfway":                     {images, model.Shape{Images: []string{"a:1"}}, holding("a:1", (23+977/2)<<20), 49_94},
		"a huge image":                         {images, model.Shape{Images: []string{"a:1"}}, holding("a:1", 1<<40), 100_00},
		"one image of two":                     {images, model.Shape{Images: []string{"a:1", "b:1"}}, holding("a:1", 1000<<20), 49_41},
		"an image without a tag":               {images, model.Shape{Images: []string{"a"}}, holding("a:latest", 1<<40), 100_00},
		"a registry with a port, but no tag":   {images, model.Shape{Images: []string{"r:5000/a"}}, holding("r:5000/a:latest", 1<<40), 100_00},
		"containers without images":            {images, model.Shape{}, holding("a:1", 1<<40), 0},
		"a size that no image can have":        {images, model.Shape{Images: []string{"a:1", "a:1"}}, holding("a:1", 1<<63-1), 100_00},
		"a preference that can't be read":      {affinity, prefers(corev1.PreferredSchedulingTerm{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: "Odd"}}}}), gpu, 0},
		"required affinity alone rates nobody": {affinity, model.Shape{Affinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}}, gpu, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var table resource.Table
			p := build(t, only(framework.Args{tt.part: 1}), &table)
			got := p.RateNodes(&model.Class{Shape: tt.shape})(&tt.node) / (framework.Point / 100)
			if got != tt.want {
				t.Errorf("rating %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWeightsOfRatingsMultiply(t *testing.T) {
	var table resource.Table
	p := build(t, framework.Args{"plugin.weight": 2}, &table)
	if got, want := p.RateNodes(&model.Class{})(&model.Node{}), int64(2*3*framework.FullScore); got != want {
		t.Errorf("rating of a node without taints %d, want 2 times 3 times a full score, %d", got, want)
	}
}

func TestScoresStayWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table resource.Table
		p := build(t, only(framework.Args{"leastrequested.weight": 1, "balancedresource.weight": 1, "plugin.binpack.weight": 1, "plugin.least-task.weight": 1}), &table)
		amount := rapid.Int64()
		vector := func(label string) resource.Vector { return rapid.SliceOfN(amount, 0, 5).Draw(t, label) }
		n := &model.Node{Allocatable: vector("allocatable"), Free: vector("free"), Tasks: make([]*model.Task, rapid.IntRange(0, 300).Draw(t, "tasks"))}
		for d := range n.Allocatable {
			n.Allocatable[d] = max(n.Allocatable[d], 0)
			if d < len(n.Free) {
				n.Free[d] = min(n.Free[d], n.Allocatable[d])
			}
		}
		if got := p.ScoreNode(&model.Class{Req: vector("request")}, n); got < 0 || got > 4*framework.FullScore {
			t.Fatalf("score %d", got)
		}
	})
}

func TestScoringAllocatesNothing(t *testing.T) {
	p, c, n := whole(t)
	if allocated := testing.AllocsPerRun(100, func() { p.ScoreNode(c, n) }); allocated != 0 {
		t.Errorf("%v allocations for one score, want none", allocated)
	}
}

func BenchmarkScoreNode(b *testing.B) {
	p, c, n := whole(b)
	for b.Loop() {
		p.ScoreNode(c, n)
	}
}

// whole returns the plugin with every part on, and a node half taken.
func whole(t interface{ Fatal(...any) }) (rater, *model.Class, *model.Node) {
	var table resource.Table
	p := build(t, framework.Args{"mostrequested.weight": 1, "plugin.least-task.weight": 1, "plugin.binpack.weight": 1}, &table)
	vector := func(a amounts) resource.Vector { return table.Vector(resource.ListOf(a)) }
	n := &model.Node{
		Allocatable: vector(amounts{"cpu": 96_000, "memory": 1 << 40, "nvidia.com/gpu": 8, "pods": 110}),
		Free:        vector(amounts{"cpu": 48_000, "memory": 1 << 39, "nvidia.com/gpu": 4, "pods": 100}),
	}
	return p, &model.Class{Req: vector(amounts{"cpu": 8000, "memory": 1 << 36, "nvidia.com/gpu": 1, "pods": 1})}, n
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	var table resource.Table
	for _, args := range []framework.Args{
		{"leastrequested.weight": -1},
		{"nodeaffinity.weight": "much"},
		{"plugin.weight": 1 << 30},
		{"plugin.binpack.cpu": "1.5"},
		{"leastrequest.weight": 1},
		{"plugin.binpack.wieght": 1},
	} {
		if _, err := nodeorder.New(args, framework.Env{Dim: table.Dim}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestArgumentsOfTheOtherRoomAreKnown(t *testing.T) {
	var table resource.Table
	if _, err := nodeorder.New(framework.Args{"podaffinity.weight": "2", "podtopologyspread.weight": 2}, framework.Env{Dim: table.Dim}); err != nil {
		t.Error(err)
	}
}
