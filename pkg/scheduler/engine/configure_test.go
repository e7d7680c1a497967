package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
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
