package relations_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	kubeframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/relations"
)

// flat is a plugin that likes all nodes the same.
type flat struct{}

func (flat) Name() string                              { return "nodeorder" }
func (flat) ScoreNode(*model.Class, *model.Node) int64 { return 7 }
func (flat) RateNodes(*model.Class) func(*model.Node) int64 {
	return func(*model.Node) int64 { return 0 }
}
func newFlat(framework.Args, framework.Env) (framework.Plugin, error) { return flat{}, nil }

// ordering is the part of the plugin that looks at other pods.
type ordering interface {
	framework.JudgesTasks
	framework.Begins
	framework.ScoresNodes
}

func newOrder(t fataler, w *world, args framework.Args) ordering {
	p, err := relations.NodeOrder(newFlat)(args, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	o, ok := p.(ordering)
	if !ok {
		t.Fatal("the plugin lacks an ability")
	}
	o.Begin(w.World, time.Time{})
	return o
}

func likes(weight int32, app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		term := corev1.WeightedPodAffinityTerm{Weight: max(weight, -weight), PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selects(app), TopologyKey: key}}
		if a := affine(p); weight > 0 {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, term)
		} else {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, term)
		}
	}
}

func spreadIfPossible(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		spread(app, key, 1)(p)
		p.Spec.TopologySpreadConstraints[len(p.Spec.TopologySpreadConstraints)-1].WhenUnsatisfiable = corev1.ScheduleAnyway
	}
}

func TestPreferencesRateNodes(t *testing.T) {
	const point = 10_000
	tests := map[string]struct {
		args framework.Args
		asks func(*corev1.Pod)
		want map[string]int64 // before anything is placed; two of b run in zone x, one in y
		then map[string]int64 // after one was placed on x1
	}{
		"near others": {
			nil, likes(1, "b", zone),
			map[string]int64{"x1": 200 * point, "x2": 200 * point, "y1": 100 * point, "z1": 0},
			map[string]int64{"x1": 200 * point, "y1": 100 * point, "z1": 0},
		},
		"apart from others": {
			nil, likes(-3, "b", zone),
			map[string]int64{"x1": 0, "y1": 100 * point, "z1": 200 * point},
			map[string]int64{"x1": 0, "y1": 100 * point, "z1": 200 * point},
		},
		"apart from its like": {
			nil, likes(-1, "a", host),
			map[string]int64{"x1": 0, "x2": 0, "y1": 0},
			map[string]int64{"x1": 0, "x2": 200 * point, "y1": 200 * point},
		},
		"spread over zones": {
			nil, spreadIfPossible("a", zone),
			map[string]int64{"x1": 200 * point, "y1": 200 * point, "z1": 200 * point},
			map[string]int64{"x1": 0, "x2": 0, "y1": 200 * point, "z1": 200 * point},
		},
		"a weight of its own": {
			framework.Args{"podaffinity.weight": "1", "plugin.weight": 3},
			likes(1, "b", zone),
			map[string]int64{"x1": 300 * point, "z1": 0},
			map[string]int64{"x1": 300 * point},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			for _, name := range []string{"x1", "x2", "y1", "z1"} {
				w.node(name, name[:1])
			}
			for i, on := range []string{"x1", "x2", "y1"} {
				w.task(pod(fmt.Sprint("b", i), "b"), "", on)
			}
			task, other := w.task(pod("p", "a", tt.asks), "ns/g", ""), w.task(pod("q", "a", tt.asks), "ns/g", "")
			o := newOrder(t, w, tt.args)
			if o.Kind(task) == "" || o.Kind(task) != o.Kind(other) {
				t.Errorf("kinds %q and %q, want one", o.Kind(task), o.Kind(other))
			}
			j, why, ok := o.Judge(task)
			if !ok {
				t.Fatal(why)
			}
			rated := func(want map[string]int64) {
				t.Helper()
				for name, score := range want {
					if got := j.Score(w.NodeNamed(name)); got != score {
						t.Errorf("node %s: score %d, want %d", name, got, score)
					}
				}
			}
			rated(tt.want)
			w.put(j, task, w.NodeNamed("x1"))
			rated(tt.then)
		})
	}
}

func TestWhoPrefersNothingIsOfNoKind(t *testing.T) {
	w := newWorld(t, nil)
	o := newOrder(t, w, framework.Args{"podtopologyspread.weight": 0})
	for name, edit := range map[string]func(*corev1.Pod){
		"a plain pod":                   func(*corev1.Pod) {},
		"a pod that requires":           near("b", zone),
		"a preference without a weight": spreadIfPossible("a", zone),
	} {
		if kind := o.Kind(w.task(pod(name, "a", edit), "", "")); kind != "" {
			t.Errorf("%s is of kind %q", name, kind)
		}
	}
	if o.ScoreNode(nil, nil) != 7 {
		t.Error("what the plugin rates by itself is lost")
	}
}

// rates is how kube-scheduler rates all nodes for a pod, by name.
func rates(t fataler, w *world, p *corev1.Pod, spreads bool) map[string]int64 {
	k, infos := kubeOf(t, w)
	var made fwk.Plugin
	var err error
	if spreads {
		made, err = podtopologyspread.New(context.Background(), &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}, k, defaults())
	} else {
		made, err = interpodaffinity.New(context.Background(), &config.InterPodAffinityArgs{HardPodAffinityWeight: 1}, k, defaults())
	}
	if err != nil {
		t.Fatal(err)
	}
	state := kubeframework.NewCycleState()
	scores := make(fwk.NodeScoreList, len(infos))
	s := made.(fwk.PreScorePlugin).PreScore(context.Background(), state, p, infos)
	for i, info := range infos {
		scores[i].Name = info.Node().Name
		if s.IsSuccess() {
			scores[i].Score, _ = made.(fwk.ScorePlugin).Score(context.Background(), state, p, info)
		}
	}
	if s.IsSuccess() {
		made.(fwk.ScorePlugin).ScoreExtensions().NormalizeScore(context.Background(), state, p, scores)
	}
	rated := map[string]int64{}
	for _, score := range scores {
		rated[score.Name] = score.Score
	}
	return rated
}

func TestPreferencesOrderNodesAsKubeSchedulerDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, nil)
		for i := range rapid.IntRange(2, 6).Draw(t, "nodes") {
			w.node(fmt.Sprintf("n%d", i), rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "zone"))
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "running") {
			w.task(pod(fmt.Sprint("running", i), app(t)), "", rapid.SampledFrom(w.Nodes()).Draw(t, "on").Name)
		}
		spreads, about, by := rapid.Bool().Draw(t, "spreads"), app(t), key(t)
		asks := likes(rapid.SampledFrom([]int32{-2, 1}).Draw(t, "weight"), about, by)
		if spreads {
			asks = spreadIfPossible(about, by)
		}
		var tasks []*model.Task
		for i := range 6 {
			tasks = append(tasks, w.task(pod(fmt.Sprint("t", i), "a", asks), "ns/g", ""))
		}
		j, _, _ := newOrder(t, w, nil).Judge(tasks[0])
		for _, task := range tasks {
			they := rates(t, w, task.Pod, spreads)
			for _, a := range w.Nodes() {
				for _, b := range w.Nodes() {
					if cmp.Compare(they[a.Name], they[b.Name])*cmp.Compare(j.Score(a), j.Score(b)) < 0 {
						t.Fatalf("kube-scheduler rates %s %d and %s %d, we %d and %d", a.Name, they[a.Name], b.Name, they[b.Name], j.Score(a), j.Score(b))
					}
				}
			}
			w.put(j, task, rapid.SampledFrom(w.Nodes()).Draw(t, "node"))
		}
	})
}
