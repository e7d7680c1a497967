package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
)

// without takes a plugin out of a configuration.
func without(config engine.Config, name string) engine.Config {
	var tiers [][]engine.PluginConfig
	for _, tier := range config.Tiers {
		var left []engine.PluginConfig
		for _, p := range tier {
			if p.Name != name {
				left = append(left, p)
			}
		}
		tiers = append(tiers, left)
	}
	config.Tiers = tiers
	return config
}

func TestAnotherConfigurationWakesWhoItCouldHelp(t *testing.T) {
	e := newEngine(t)
	cordoned := engine.NodeSet{Node: model.NodeSpec{Name: "n0", Allocatable: gpus(8), Unschedulable: true}}
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, cordoned)
	submit(e, "a", 2, 1)
	if placed := e.Run(start).Placed; placed != 0 {
		t.Fatalf("%d tasks were placed on a cordoned node", placed)
	}
	if err := e.Reconfigure(without(conf.Default(), predicates.Name)); err != nil {
		t.Fatal(err)
	}
	if placed := e.Run(start.Add(time.Second)).Placed; placed != 2 {
		t.Errorf("%d tasks were placed once nothing forbade it, want 2", placed)
	}
	if err := e.Reconfigure(conf.Default()); err != nil {
		t.Fatal(err)
	}
	submit(e, "b", 2, 1)
	if placed := e.Run(start.Add(2 * time.Second)).Placed; placed != 0 {
		t.Errorf("%d tasks were placed on a cordoned node after the filters were back", placed)
	}
	if err := e.World.Check(); err != nil {
		t.Error(err)
	}
}

func TestAConfigurationThatCantBeChangesNothing(t *testing.T) {
	e := newEngine(t)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 8))
	err := e.Reconfigure(engine.Config{Tiers: [][]engine.PluginConfig{{{Name: "binpak"}}}, NodesToScorePercent: 101})
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, want := range []string{`did you mean "binpack"?`, "actions: there are none", "nodesToScorePercent 101: give 0 to 100"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	submit(e, "a", 2, 1)
	if placed := e.Run(start).Placed; placed != 2 {
		t.Errorf("%d tasks were placed, want 2", placed)
	}
}

// keeping counts what it learned, and goes on with other arguments.
type keeping struct {
	args    framework.Args
	learned int
}

func (*keeping) Name() string                 { return "keeping" }
func (k *keeping) Learn(runtime.Object, bool) { k.learned++ }
func (k *keeping) Continue(as framework.Plugin) error {
	fresh, ok := as.(*keeping)
	if !ok || fresh.args["bad"] != nil {
		return errors.New("no")
	}
	k.args = fresh.args
	return nil
}

func TestAPluginThatHoldsWhatWasChosenGoesOn(t *testing.T) {
	var made []*keeping
	registry := framework.Registry{"keeping": func(args framework.Args, _ framework.Env) (framework.Plugin, error) {
		made = append(made, &keeping{args: args})
		return made[len(made)-1], nil
	}}
	config := func(args framework.Args) engine.Config {
		return engine.Config{Actions: []engine.Action{allocate.New()}, Tiers: [][]engine.PluginConfig{{{Name: "keeping", Args: args}}}}
	}
	e, err := engine.New(config(nil), registry)
	if err != nil {
		t.Fatal(err)
	}
	e.Apply(engine.ObjectSet{Object: &corev1.Namespace{}})
	if err := e.Reconfigure(config(framework.Args{"x": 1})); err != nil {
		t.Fatal(err)
	}
	if err := e.Reconfigure(config(framework.Args{"bad": 1})); err == nil || err.Error() != `plugin "keeping": no` {
		t.Errorf("a plugin that can't go on: %v", err)
	}
	e.Apply(engine.ObjectSet{Object: &corev1.Namespace{}})
	if first := made[0]; first.args["x"] != 1 || first.learned != 3 || made[1].learned+made[2].learned != 0 {
		t.Errorf("the first plugin has %+v, the others %+v", first, made[1:])
	}
}

// TestOnlyAPartOfTheNodesIsScored: the best nodes are beyond the part that is looked at, and
// are used last; none is left out.
func TestOnlyAPartOfTheNodesIsScored(t *testing.T) {
	const nodes, scored = 300, 100
	for percent, first := range map[int]string{0: "n100", 10: "n0"} {
		config := conf.Default()
		config.NodesToScorePercent = percent
		e, err := engine.New(config, plugins.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
		for i := range nodes {
			name := fmt.Sprint("n", i)
			e.Apply(engine.NodeSet{Node: model.NodeSpec{Name: name, Allocatable: gpus(8)}})
			if i >= scored { // fuller, so better for binpack
				e.Apply(engine.TaskSet{Task: model.TaskSpec{UID: name, Name: name, Node: name, Shape: model.Shape{Key: "4", Requests: gpus(4)}}})
			}
		}
		submit(e, "one", 1, 1)
		on := ""
		for _, d := range e.Run(start).Decisions {
			if bind, ok := d.(engine.Bind); ok {
				on = bind.Node
			}
		}
		if on != first {
			t.Errorf("%d percent: the first task is on %s, want %s", percent, on, first)
		}
		rest := scored*8 + (nodes-scored)*4 - 1
		submit(e, "rest", rest, 1)
		if placed := e.Run(start).Placed; placed != rest {
			t.Errorf("%d percent: %d tasks are placed where %d fit", percent, placed, rest)
		}
	}
}

// TestEachPartOfARunIsHandedToWhoHasAClock, plugins' beginnings before actions, after
// another configuration as before; and is done.
func TestEachPartOfARunIsHandedToWhoHasAClock(t *testing.T) {
	e := cluster(t, 1)
	var parts []string
	e.Around = func(part engine.Part, name string, do func()) {
		parts = append(parts, fmt.Sprint(part, " ", name))
		do()
	}
	submit(e, "a", 1, 1)
	if placed := e.Run(start).Placed; placed != 1 {
		t.Errorf("%d tasks were placed, want 1", placed)
	}
	first := slices.Clone(parts)
	want := []string{"0 overcommit", "0 drf", "0 proportion", "0 network-topology-aware", "1 enqueue", "1 allocate", "1 backfill"}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := e.Reconfigure(conf.Default()); err != nil {
		t.Fatal(err)
	}
	parts = nil
	e.Run(start)
	if diff := cmp.Diff(first, parts); diff != "" {
		t.Errorf("after another configuration: -want +got:\n%s", diff)
	}
}

// TestFiguresAreOfNow: shares of gangs in what the cluster has, and what queues can come to.
func TestFiguresAreOfNow(t *testing.T) {
	e := cluster(t, 2)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "kept", Guarantee: gpus(4)}})
	submit(e, "a", 2, 2)
	submit(e, "waits", 3, 8)
	e.Run(start)
	want := engine.Figures{
		Shares: []engine.GangShare{{Gang: "a", Share: 0.25}},
		Real:   []engine.RealCapacity{{Queue: "q", Resource: "gpu", Amount: 12}, {Queue: "kept", Resource: "gpu", Amount: 16}},
	}
	if diff := cmp.Diff(want, e.Figures()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
