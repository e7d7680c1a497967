package drf_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/drf"
)

type abilities interface {
	framework.Begins
	framework.OrdersGangs
	framework.OrdersQueues
	framework.NoticesOnQueues
}

func build(t interface{ Fatal(...any) }, args framework.Args, w *model.World) abilities {
	p, err := drf.New(args, framework.Env{Dim: w.Resources.Dim})
	if err != nil {
		t.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		t.Fatal("drf lacks abilities")
	}
	able.Begin(w, time.Unix(0, 0))
	return able
}

type amounts = map[string]int64

// world has one node of that size.
func world(size amounts) *model.World {
	w := model.New()
	w.SetNode(model.NodeSpec{Name: "n", Allocatable: resource.ListOf(size)})
	w.SetQueue(model.QueueSpec{Name: "default"})
	return w
}

// On which node a task is.
const (
	waits = ""
	bound = "n"
)

// task adds a task to the gang of that queue, which is made if need be.
func task(w *model.World, queue, uid, node string, req amounts) {
	gang := "gang-" + queue
	if g := w.GangOf(gang); g == nil || !g.Known {
		w.SetGang(model.GangSpec{Key: gang, Queue: queue})
	}
	w.SetTask(model.TaskSpec{UID: uid, Gang: gang, Node: node, Shape: model.Shape{Key: uid, Requests: resource.ListOf(req)}})
}

func TestTheGangWithTheSmallerDominantShareGoesFirst(t *testing.T) {
	size := amounts{"cpu": 100_000, "nvidia.com/gpu": 32, "pods": 10}
	tests := map[string]struct {
		a, b amounts // what each uses
		want int
	}{
		"8 of 32 GPUs is more than 20 of 100 cores":     {amounts{"nvidia.com/gpu": 8, "cpu": 1000}, amounts{"cpu": 20_000}, 1},
		"8 of 32 GPUs is less than 26 of 100 cores":     {amounts{"nvidia.com/gpu": 8}, amounts{"cpu": 26_000}, -1},
		"8 of 32 GPUs is as much as 25 of 100 cores":    {amounts{"nvidia.com/gpu": 8}, amounts{"cpu": 25_000}, 0},
		"nothing goes before something":                 {nil, amounts{"cpu": 1}, -1},
		"pods do not count":                             {amounts{"pods": 9}, amounts{"cpu": 1}, -1},
		"what the cluster lacks is all there is of it":  {amounts{"x/y": 1}, amounts{"cpu": 99_000}, 1},
		"a share that no float could tell from another": {amounts{"cpu": 50_000}, amounts{"cpu": 49_999}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := world(size)
			task(w, "a", "a", bound, tt.a)
			task(w, "b", "b", bound, tt.b)
			p := build(t, nil, w)
			if got := p.CompareGangs(w.GangOf("gang-a"), w.GangOf("gang-b")); cmp.Compare(got, 0) != tt.want {
				t.Errorf("order %d, want %d", got, tt.want)
			}
			if got := p.CompareQueues(w.Queues()[0], w.Queues()[0]); got != 0 {
				t.Errorf("without hierarchy it has an opinion on queues: %d", got)
			}
		})
	}
}

// fill places waiting tasks one by one, always of the queue that goes first, and
// returns what each queue then uses.
func fill(t interface{ Fatal(...any) }, w *model.World, p abilities, queues map[string]string) map[string]string {
	n := w.NodeNamed("n")
	for {
		order := slices.Clone(w.Queues())
		slices.SortStableFunc(order, p.CompareQueues)
		placed := false
		for _, q := range order {
			g := w.GangOf("gang-" + q.Name)
			if g == nil {
				continue
			}
			i := slices.IndexFunc(g.Tasks, func(t *model.Task) bool { return t.Bucket == model.Waiting && n.Free.Times(t.Class.Req) > 0 })
			if i >= 0 {
				w.Place(g.Tasks[i], n)
				placed = true
				break
			}
		}
		if !placed {
			break
		}
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	used := map[string]string{}
	for name := range queues {
		used[name] = w.Resources.List(w.Quota.Used(w.QueueNamed(name).ID)).String()
	}
	return used
}

func annotations(path, weights string) map[string]string {
	return map[string]string{"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
}

func TestQueuesShareAlongTheirHierarchy(t *testing.T) {
	type queue struct {
		path, weights string
		want          amounts // of each of its tasks, without end
	}
	const gi = 1 << 30
	core, memory, both := amounts{"cpu": 1000}, amounts{"memory": gi}, amounts{"cpu": 1000, "memory": gi}
	tests := map[string]struct {
		size   amounts
		queues map[string]queue
		want   map[string]string
	}{
		"two branches share evenly, though one is of two queues that want different things": {
			amounts{"cpu": 10_000, "memory": 10 * gi},
			map[string]queue{
				"sci":  {"root/sci", "100/50", both},
				"dev":  {"root/eng/dev", "100/50/50", core},
				"prod": {"root/eng/prod", "100/50/50", memory},
			},
			map[string]string{"sci": "cpu 5, memory 5Gi", "dev": "cpu 5", "prod": "memory 5Gi"},
		},
		"a queue that can't have more does not hold up its sibling": {
			amounts{"cpu": 30_000, "memory": 30 * gi},
			map[string]queue{
				"one":         {"root/one", "100/25", core},
				"two":         {"root/two", "100/25", core},
				"three-cpu":   {"root/three/cpu", "100/25/50", core},
				"three-bytes": {"root/three/bytes", "100/25/50", memory},
				"four":        {"root/four", "100/25", memory},
			},
			map[string]string{"one": "cpu 10", "two": "cpu 10", "three-cpu": "cpu 10", "three-bytes": "memory 15Gi", "four": "memory 15Gi"},
		},
		"by weight, fractions too": {
			amounts{"cpu": 9000},
			map[string]queue{"a": {"root/a", "1/0.5", core}, "b": {"root/b", "1/1", core}},
			map[string]string{"a": "cpu 3", "b": "cpu 6"},
		},
		"a path need not name the root": {
			amounts{"cpu": 8000},
			map[string]queue{"a": {"a", "3", core}, "b": {"root/b", "1/1", core}},
			map[string]string{"a": "cpu 6", "b": "cpu 2"},
		},
		"weights of a branch count for all below it": {
			amounts{"cpu": 12_000},
			map[string]queue{"a": {"root/x/a", "1/3/1", core}, "b": {"root/x/b", "1/3/2", core}, "c": {"root/c", "1/1", core}},
			map[string]string{"a": "cpu 3", "b": "cpu 6", "c": "cpu 3"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := world(tt.size)
			names := map[string]string{}
			for name, q := range tt.queues {
				w.SetQueue(model.QueueSpec{Name: name, Annotations: annotations(q.path, q.weights)})
				names[name] = name
				for i := range 30 {
					task(w, name, name+string(rune('a'+i)), waits, q.want)
				}
			}
			p := build(t, framework.Args{"enableHierarchy": true}, w)
			if diff := gocmp.Diff(tt.want, fill(t, w, p, names)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithoutAnnotationsParentsAndWeightsCount(t *testing.T) {
	w := world(amounts{"cpu": 12_000})
	w.SetQueue(model.QueueSpec{Name: "root"})
	w.SetQueue(model.QueueSpec{Name: "x", Parent: "root", Weight: 3})
	w.SetQueue(model.QueueSpec{Name: "a", Parent: "x"})
	w.SetQueue(model.QueueSpec{Name: "b", Parent: "x", Weight: 2, Annotations: annotations("root/x", "1/2/3")})
	w.SetQueue(model.QueueSpec{Name: "c", Parent: "root"})
	names := map[string]string{"a": "", "b": "", "c": ""}
	for name := range names {
		for i := range 12 {
			task(w, name, name+string(rune('a'+i)), waits, amounts{"cpu": 1000})
		}
	}
	p := build(t, framework.Args{"drf.enableHierarchy": "true"}, w)
	want := map[string]string{"a": "cpu 3", "b": "cpu 6", "c": "cpu 3"}
	if diff := gocmp.Diff(want, fill(t, w, p, names)); diff != "" {
		t.Error(diff)
	}
}

func TestAQueueThatLacksNothingGoesLast(t *testing.T) {
	w := world(amounts{"cpu": 10_000})
	for _, name := range []string{"content", "hungry", "awaiting"} {
		w.SetQueue(model.QueueSpec{Name: name})
	}
	task(w, "content", "1", bound, amounts{"cpu": 1000})
	task(w, "hungry", "2", bound, amounts{"cpu": 5000})
	task(w, "hungry", "3", waits, amounts{"cpu": 1000})
	task(w, "awaiting", "4", bound, amounts{"cpu": 2000})
	p := build(t, framework.Args{"enableHierarchy": true}, w)
	content, hungry, awaiting := w.QueueNamed("content"), w.QueueNamed("hungry"), w.QueueNamed("awaiting")
	if p.CompareQueues(hungry, content) >= 0 || p.CompareQueues(awaiting, hungry) <= 0 {
		t.Error("a queue that waits for nothing goes before one that does")
	}
	w.Await(w.GangOf("gang-awaiting"), resource.Vector{1000})
	p.Begin(w, time.Unix(1, 0))
	if p.CompareQueues(awaiting, hungry) >= 0 {
		t.Error("a gang that waits to be told to go ahead does not count as waiting")
	}
}

func TestPlacesThatCantBeRightAreSaid(t *testing.T) {
	tests := map[string]struct {
		path, weights string
		want          string
	}{
		"fine":                {"root/sci/dev", "1/2/8", ""},
		"fractions are fine":  {"root/sci", "1/0.5", ""},
		"too few weights":     {"root/sci/dev", "1/2", `annotations volcano.sh/hierarchy "root/sci/dev" and volcano.sh/hierarchy-weights "1/2" differ in length: give one weight per name`},
		"no weights":          {"root/sci", "", "differ in length"},
		"an empty name":       {"root//dev", "1/1/1", "names that are not empty"},
		"a word for a weight": {"root/sci", "1/much", `annotation volcano.sh/hierarchy-weights is "1/much": give numbers from 0.001`},
		"a weight of 0":       {"root/sci", "1/0", "give numbers"},
		"a negative weight":   {"root/sci", "1/-2", "give numbers"},
		"not a number":        {"root/sci", "1/NaN", "give numbers"},
		"endless":             {"root/sci", "1/Inf", "give numbers"},
		"far too deep":        {strings.Repeat("a/", 40) + "a", strings.Repeat("1/", 40) + "1", "at most 32 names"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := world(nil)
			p := build(t, framework.Args{"enableHierarchy": true}, w)
			got := strings.Join(p.NoticesOnQueue(&model.Queue{QueueSpec: model.QueueSpec{Annotations: annotations(tt.path, tt.weights)}}), "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("notice %q, want one with %q", got, tt.want)
			}
			if got != "" && !strings.HasSuffix(got, "until then its place is that of spec.parent, with spec.weight") {
				t.Errorf("notice %q does not say what counts instead", got)
			}
		})
	}
}

func TestTheOrderOfQueuesIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world(amounts{"cpu": 20_000, "gpu": 10})
		for i := range rapid.IntRange(2, 7).Draw(t, "queues") {
			name := string(rune('a' + i))
			path := strings.TrimSuffix(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"root", "x", "y"}), 1, 3).Draw(t, "path"), "/"), "/")
			weights := strings.Repeat("1/", strings.Count(path, "/")) + rapid.SampledFrom([]string{"1", "2", "x"}).Draw(t, "weight")
			w.SetQueue(model.QueueSpec{Name: name, Parent: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "parent"), Annotations: annotations(path, weights)})
			for j := range rapid.IntRange(0, 3).Draw(t, "tasks") {
				task(w, name, name+string(rune('0'+j)), rapid.SampledFrom([]string{waits, bound}).Draw(t, "node"), amounts{
					"cpu": rapid.Int64Range(0, 3000).Draw(t, "cpu"), "gpu": rapid.Int64Range(0, 3).Draw(t, "gpu"),
				})
			}
		}
		p := build(t, framework.Args{"enableHierarchy": true}, w)
		queue := rapid.SampledFrom(w.Queues())
		a, b, c := queue.Draw(t, "a"), queue.Draw(t, "b"), queue.Draw(t, "c")
		sign := func(x, y *model.Queue) int { return cmp.Compare(p.CompareQueues(x, y), 0) }
		if sign(a, b) != -sign(b, a) || sign(a, a) != 0 {
			t.Fatal("the order depends on the side")
		}
		if sign(a, b) <= 0 && sign(b, c) <= 0 && sign(a, c) > 0 {
			t.Fatal("the order runs in a circle")
		}
	})
}

func TestArguments(t *testing.T) {
	var table resource.Table
	for _, args := range []framework.Args{nil, {"drf.weight": 5}, {"drf.weight": "5"}, {"enableHierarchy": "false"}, {"enableHierarchy": true, "drf.enableHierarchy": true}} {
		if _, err := drf.New(args, framework.Env{Dim: table.Dim}); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, args := range []framework.Args{{"drf.weight": "x"}, {"drf.weight": -1}, {"enableHierarchy": "maybe"}, {"weight": 1}} {
		if _, err := drf.New(args, framework.Env{Dim: table.Dim}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
