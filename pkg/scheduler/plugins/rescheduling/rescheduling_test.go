package rescheduling_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/actions/shuffle"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/rescheduling"
)

// args are 30 % for idle and 70 % for too busy, of CPU.
func args() framework.Args {
	return framework.Args{"interval": "5m", "strategies": []any{map[string]any{
		"name":   "lowNodeUtilization",
		"params": map[string]any{"thresholds": map[string]any{"cpu": 30}, "targetThresholds": map[string]any{"cpu": 70}, "thresholdPriority": 100},
	}}}
}

// pod is a bound task; gangs are made of those that name them.
type pod struct {
	gang     string
	min      int32
	node     string
	cpu      int64
	priority int32
}

type cluster struct {
	*engine.Engine
	now time.Time
}

func newCluster(t *testing.T, args framework.Args, pods []pod) *cluster {
	t.Helper()
	registry := framework.Registry{rescheduling.Name: rescheduling.New}
	e, err := engine.New(engine.Config{
		Actions: []engine.Action{allocate.New(), shuffle.New()}, Tiers: [][]engine.PluginConfig{{{Name: rescheduling.Name, Args: args}}},
	}, registry)
	if err != nil {
		t.Fatal(err)
	}
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
	for _, n := range []string{"n1", "n2", "n3"} {
		e.Apply(engine.NodeSet{Node: model.NodeSpec{Name: n, Allocatable: resource.ListOf(map[string]int64{resource.CPU: 10_000})}})
	}
	for i, p := range pods {
		uid := fmt.Sprintf("%s-%d", p.gang, i)
		e.Apply(
			engine.GangSet{Gang: model.GangSpec{Key: p.gang, UID: p.gang, Queue: "q", Min: p.min}},
			engine.TaskSet{Task: model.TaskSpec{
				UID: uid, Name: uid, Gang: p.gang, Node: p.node, Priority: p.priority, Ours: true,
				Shape: model.Shape{Key: fmt.Sprint(p.cpu), Requests: resource.ListOf(map[string]int64{resource.CPU: p.cpu})},
			}},
		)
	}
	return &cluster{e, time.Unix(1_000_000, 0)}
}

// tell says how busy the nodes are, and returns who has to go.
func (c *cluster) tell(cpu ...int32) []string {
	u := &framework.Usage{ObjectMeta: metav1.ObjectMeta{Name: framework.UsageName}, At: c.now}
	for i, used := range cpu {
		u.Nodes = append(u.Nodes, framework.NodeUsage{Name: fmt.Sprintf("n%d", i+1), CPU: used})
	}
	c.Apply(engine.ObjectSet{Object: u})
	return c.run()
}

// run returns who has to go, which they begin to do.
func (c *cluster) run() []string {
	var gone []string
	for _, d := range c.Run(c.now).Decisions {
		if ev, ok := d.(engine.Evict); ok {
			gone = append(gone, ev.Name)
			going := c.World.TaskOf(ev.UID).TaskSpec
			going.Deleting = true
			c.Apply(engine.TaskSet{Task: going})
		}
	}
	return gone
}

func TestTasksLeaveBusyNodes(t *testing.T) {
	single := func(node string, cpu int64) pod { return pod{"single" + node, 1, node, cpu, 0} }
	tests := map[string]struct {
		pods []pod
		cpu  []int32
		want []string
	}{
		"one is enough":                       {[]pod{{"a", 0, "n1", 2000, 0}, {"a", 0, "n1", 2000, 0}, {"a", 0, "n1", 2000, 0}}, []int32{80, 20}, []string{"a-2"}},
		"two are needed":                      {[]pod{{"a", 0, "n1", 2000, 0}, {"a", 0, "n1", 2000, 0}, {"a", 0, "n1", 2000, 0}}, []int32{95, 20}, []string{"a-2", "a-1"}},
		"no node is idle":                     {[]pod{single("n1", 2000)}, []int32{95, 31, 50}, nil},
		"none is too busy":                    {[]pod{single("n1", 2000)}, []int32{70, 0}, nil},
		"the idle one would be too busy":      {[]pod{single("n1", 6000)}, []int32{95, 20}, nil},
		"others have asked for the idle one":  {[]pod{single("n1", 2000), {"b", 1, "n2", 9000, 0}}, []int32{95, 0}, nil},
		"nothing is known of the idle one":    {[]pod{single("n1", 2000)}, []int32{95}, nil},
		"a gang that is whole is not broken":  {[]pod{{"a", 2, "n1", 2000, 0}, {"a", 2, "n1", 2000, 0}}, []int32{95, 0}, nil},
		"what is beyond its minimum goes":     {[]pod{{"a", 2, "n1", 2000, 0}, {"a", 2, "n1", 2000, 0}, {"a", 2, "n3", 2000, 0}}, []int32{95, 0}, []string{"a-1"}},
		"a single pod goes":                   {[]pod{single("n1", 3000)}, []int32{95, 0}, []string{"singlen1-0"}},
		"low priority first":                  {[]pod{{"a", 0, "n1", 2000, 9}, {"b", 0, "n1", 2000, 3}, {"c", 0, "n1", 2000, 6}}, []int32{80, 0}, []string{"b-1"}},
		"high priority not at all":            {[]pod{{"a", 0, "n1", 2000, 100}}, []int32{80, 0}, nil},
		"who asks for nothing would not help": {[]pod{{"a", 0, "n1", 0, 0}}, []int32{80, 0}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, newCluster(t, args(), tt.pods).tell(tt.cpu...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestFewIdleNodesAreNotWorthARound: numberOfNodes says how many are too few.
func TestFewIdleNodesAreNotWorthARound(t *testing.T) {
	few := args()
	few["strategies"].([]any)[0].(map[string]any)["params"].(map[string]any)["numberOfNodes"] = 1
	pods := []pod{{"a", 0, "n1", 2000, 0}}
	if gone := newCluster(t, few, pods).tell(95, 0, 50); gone != nil {
		t.Errorf("%v had to go for one idle node", gone)
	}
	if gone := newCluster(t, few, pods).tell(95, 0, 0); len(gone) != 1 {
		t.Errorf("%v had to go, with two idle nodes", gone)
	}
}

// TestRoundsKeepTheirDistance: the interval is waited for, and what was read too long ago
// starts none.
func TestRoundsKeepTheirDistance(t *testing.T) {
	pods := []pod{{"a", 0, "n1", 1000, 0}, {"a", 0, "n1", 1000, 0}, {"a", 0, "n1", 1000, 0}}
	c := newCluster(t, args(), pods)
	begin := c.now
	if gone := c.tell(75, 0); len(gone) != 1 {
		t.Fatalf("first %v went", gone)
	}
	if at, ok := c.Next(); ok {
		t.Errorf("something is to be at %s, though nothing new was read", at)
	}
	c.now = begin.Add(4 * time.Minute)
	if gone := c.tell(75, 0); gone != nil {
		t.Errorf("%v went within the interval", gone)
	}
	at, ok := c.Next()
	if want := begin.Add(5 * time.Minute); !ok || !at.Equal(want) {
		t.Fatalf("next at %s, want %s", at, want)
	}
	c.now = at
	if gone := c.run(); len(gone) != 1 {
		t.Errorf("then %v went", gone)
	}
	c.now = at.Add(time.Minute)
	c.tell(75, 0)
	c.now = at.Add(10 * time.Minute)
	if gone := c.run(); gone != nil {
		t.Errorf("%v went for what was read nine minutes before", gone)
	}
	if at, ok := c.Next(); ok && !at.After(c.now) {
		t.Errorf("it wants to run at %s again and again", at)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	strategy := func(s map[string]any) framework.Args { return framework.Args{"strategies": []any{s}} }
	params := func(p map[string]any) framework.Args {
		return strategy(map[string]any{"name": "lowNodeUtilization", "params": p})
	}
	tests := map[string]struct {
		args framework.Args
		want string // empty: nothing is wrong
	}{
		"none":                 {nil, ""},
		"as upstream":          {framework.Args{"interval": "5m", "metricsPeriod": "5m", "strategies": []any{map[string]any{"name": "lowNodeUtilization", "params": map[string]any{"thresholds": map[string]any{"cpu": 20, "memory": 20, "pods": 20}, "targetThresholds": map[string]any{"cpu": 50, "memory": 50, "pods": 50}, "thresholdPriorityClassName": "system-cluster-critical", "nodeFit": true}}}}, ""},
		"no pause":             {framework.Args{"interval": "0s"}, "interval"},
		"another strategy":     {strategy(map[string]any{"name": "offlineOnly"}), `strategies: argument name is "offlineOnly"`},
		"no list":              {framework.Args{"strategies": "lowNodeUtilization"}, "give a list"},
		"idle above busy":      {params(map[string]any{"thresholds": map[string]any{"cpu": 80}, "targetThresholds": map[string]any{"cpu": 70}}), "no more cpu"},
		"an unknown resource":  {params(map[string]any{"thresholds": map[string]any{"gpu": 80}}), "gpu"},
		"a class nobody knows": {params(map[string]any{"thresholdPriorityClassName": "gold"}), "thresholdPriority"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := rescheduling.New(tt.args, framework.Env{Dim: func(string) int { return 0 }})
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
