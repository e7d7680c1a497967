package engine_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// fragile breaks where it is asked something of a certain name, from the time on that
// it was asked it so often.
type fragile struct {
	at    string
	after int
	asked map[string]int
}

func (f *fragile) on(name string) {
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	if f.asked[name]++; name == f.at && f.asked[name] > f.after {
		panic("broken plugin")
	}
}

func (*fragile) Name() string                            { return "fragile" }
func (*fragile) WakesOn() model.Change                   { return model.NodeChanged }
func (f *fragile) Begin(*model.World, time.Time)         { f.on("Begin") }
func (f *fragile) Learn(runtime.Object, bool)            { f.on("Learn") }
func (f *fragile) CompareQueues(_, _ *model.Queue) int   { f.on("CompareQueues"); return 0 }
func (f *fragile) CompareTasks(_, _ *model.Task) int     { f.on("CompareTasks"); return 0 }
func (f *fragile) Deserved(*model.Queue) resource.Vector { f.on("Deserved"); return nil }
func (f *fragile) Notices(*model.Gang) []string          { f.on("Notices"); return nil }
func (f *fragile) NoticesOnQueue(*model.Queue) []string  { f.on("NoticesOnQueue"); return nil }

// CompareGangs puts those of later names first.
func (f *fragile) CompareGangs(a, b *model.Gang) int {
	f.on("CompareGangs")
	return cmp.Compare(b.Key, a.Key)
}

func (f *fragile) RetryAt() (time.Time, bool) {
	f.on("RetryAt")
	return time.Time{}, false
}

func (f *fragile) Recount() ([]model.Devices, resource.List, bool) {
	f.on("Recount")
	return nil, nil, false
}

func (f *fragile) FilterNodes(c *model.Class) framework.NodeFilter {
	f.on("FilterNodes " + c.Shape.Key)
	return func(n *model.Node) (string, bool) {
		f.on("filter " + n.Name)
		return "", true
	}
}

func (f *fragile) RateNodes(c *model.Class) func(*model.Node) int64 {
	f.on("RateNodes " + c.Shape.Key)
	return func(n *model.Node) int64 {
		f.on("rate " + n.Name)
		return 0
	}
}

func (f *fragile) ScoreNode(c *model.Class, _ *model.Node) int64 {
	f.on("ScoreNode " + c.Shape.Key)
	return 0
}

func (f *fragile) Prepare(t *model.Task, _ *model.Node) []framework.Write {
	f.on("Prepare " + t.Class.Shape.Key)
	return nil
}

func (f *fragile) AdmitGang(g *model.Gang) (reason.Reason, bool) {
	f.on("AdmitGang " + g.Key)
	return reason.Reason{}, true
}

// TestWhatBreaksOverOneThingStopsNoOther has two gangs that ask for 3 and 2 GPUs for
// each of two tasks, one that fits nowhere, and a plugin that breaks.
func TestWhatBreaksOverOneThingStopsNoOther(t *testing.T) {
	type tests map[string]struct {
		at    string
		after int
		want  engine.Fault // without its words
		binds []string
	}
	all := []string{"bad/0", "bad/1", "good/0", "good/1"}
	plugin := func(doing string) engine.Fault { return engine.Fault{Kind: "Plugin", Object: "fragile", Doing: doing} }
	bad, good := all[:2], all[2:]
	for name, tt := range (tests{
		"a cycle's begin":                     {"Begin", 0, plugin("begin a cycle"), all},
		"an object":                           {"Learn", 0, plugin("learn"), all},
		"devices":                             {"Recount", 0, plugin("count devices"), all},
		"when to ask again":                   {"RetryAt", 0, plugin("say when to ask again"), all},
		"the order of queues":                 {"CompareQueues", 0, plugin("order who waits"), all},
		"the order of gangs":                  {"CompareGangs", 0, plugin("order who waits"), all},
		"the order of tasks":                  {"CompareTasks", 0, plugin("order who waits"), all},
		"a queue's part":                      {"Deserved", 0, plugin("divide the cluster among queues"), all},
		"a gang's hints":                      {"Notices", 0, plugin("look at the hints of PodGroup bad"), all},
		"a queue's hints":                     {"NoticesOnQueue", 0, plugin("look at the hints of Queue q"), all},
		"a node's filter":                     {"filter n1", 0, engine.Fault{Kind: "Node", Object: "n1", Doing: "filter it"}, bad},
		"a class's filter":                    {"FilterNodes 3", 0, engine.Fault{Kind: "Class", Object: "3", Doing: "filter nodes for it"}, good},
		"a node's rating":                     {"rate n1", 0, engine.Fault{Kind: "Node", Object: "n1", Doing: "rate it"}, all},
		"a class's ratings":                   {"RateNodes 3", 0, engine.Fault{Kind: "Class", Object: "3", Doing: "rate nodes for it"}, all},
		"an admission":                        {"AdmitGang bad", 0, engine.Fault{Kind: "PodGroup", Object: "bad", Doing: "place it"}, good},
		"a score when one task is placed":     {"ScoreNode 3", 2, engine.Fault{Kind: "PodGroup", Object: "bad", Doing: "place it"}, good},
		"a preparation when one task is sent": {"Prepare 3", 1, engine.Fault{Kind: "PodGroup", Object: "bad", Doing: "place it"}, good},
	}) {
		t.Run(name, func(t *testing.T) {
			config := conf.Default()
			config.Tiers = nil
			e := withGuest(t, config, &fragile{at: tt.at, after: tt.after})
			e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, engine.QueueSet{Queue: model.QueueSpec{Name: "other"}}, node(0, 8), node(1, 3))
			e.Apply(engine.ObjectSet{Object: &corev1.Namespace{}})
			submit(e, "bad", 2, 3)
			submit(e, "good", 2, 2)
			submit(e, "huge", 1, 9)
			e.Apply(gang("good", 2, "other"))
			var binds []string
			var faults []engine.Fault
			for range 3 {
				report := e.Run(start)
				for _, d := range report.Decisions {
					switch d := d.(type) { //nolint:gochecksumtype // the others are no matter here
					case engine.Bind:
						binds = append(binds, d.Name)
					case engine.Fault:
						if d.Value != "broken plugin" || d.Where == "" {
							t.Errorf("it says %q at %q", d.Value, d.Where)
						}
						d.Value, d.Where = "", ""
						faults = append(faults, d)
					}
				}
				e.Queues()
				e.Next()
			}
			slices.Sort(binds)
			if !slices.Equal(faults, []engine.Fault{tt.want}) {
				t.Errorf("faults %+v, want once %+v", faults, tt.want)
			}
			if !slices.Equal(binds, tt.binds) {
				t.Errorf("bound %q, want %q", binds, tt.binds)
			}
			if err := e.World.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestABrokenPluginIsHeardAgainAfterAWhile(t *testing.T) {
	config := conf.Default()
	config.Tiers = nil
	guest := &fragile{at: "CompareGangs"}
	e := withGuest(t, config, guest)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 1))
	first := func() string {
		submit(e, "a", 1, 1)
		submit(e, "b", 1, 1)
		name := ""
		for _, d := range e.Run(start).Decisions {
			if bind, ok := d.(engine.Bind); ok {
				name = bind.Gang
			}
		}
		e.Apply(engine.GangGone{Key: "a", UID: "a"}, engine.GangGone{Key: "b", UID: "b"}, engine.TaskGone{UID: "a/0"}, engine.TaskGone{UID: "b/0"})
		return name
	}
	if got := first(); got != "a" {
		t.Errorf("with a broken plugin %q goes first, want a, which came first", got)
	}
	guest.at = ""
	if got := first(); got != "a" {
		t.Errorf("right after it broke %q goes first, want a", got)
	}
	e.Run(start.Add(time.Minute))
	if got := first(); got != "b" {
		t.Errorf("after a minute %q goes first, want b, as the plugin says", got)
	}
}

func TestAFactThatCantBeTakenInKeepsNoOtherOut(t *testing.T) {
	e := withGuest(t, conf.Default(), nil)
	e.Apply(engine.ObjectSet{Object: (*corev1.Namespace)(nil)}, engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 8))
	submit(e, "good", 2, 2)
	report := e.Run(start)
	if report.Placed != 2 || report.Faults != 1 {
		t.Errorf("placed %d of 2, %d faults", report.Placed, report.Faults)
	}
}

// TestAGangThatSleepsIsQuarantined has a plugin break while it is looked whether a gang
// that waits could be placed.
func TestAGangThatSleepsIsQuarantined(t *testing.T) {
	config := conf.Default()
	config.Tiers = nil
	guest := &fragile{at: "ScoreNode 3", after: 1000}
	e := withGuest(t, config, guest)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, node(0, 3))
	submit(e, "runs", 1, 3)
	submit(e, "waits", 2, 3)
	submit(e, "other", 2, 2)
	e.Run(start)
	guest.after = 0
	e.Apply(node(1, 5))
	report := e.Run(start.Add(time.Second))
	if why, ok := e.Explain("waits"); !ok || why.Code != reason.Fault || report.Placed != 2 {
		t.Errorf("the gang waits for %+v; placed %d, want the 2 of the other", why, report.Placed)
	}
	guest.after = 1000
	e.Apply(node(2, 6))
	if placed := e.Run(start.Add(2 * time.Second)).Placed; placed != 0 {
		t.Errorf("placed %d tasks of a gang that was not changed", placed)
	}
	e.Apply(gang("waits", 1, "q"))
	if placed := e.Run(start.Add(3 * time.Second)).Placed; placed != 2 {
		t.Errorf("placed %d tasks of a gang that was changed, want 2", placed)
	}
}

// wordy turns nodes away from those who ask for 9, each time for another cause.
type wordy struct{ causes int }

func (*wordy) Name() string          { return "wordy" }
func (*wordy) WakesOn() model.Change { return model.NodeChanged }
func (w *wordy) FilterNodes(c *model.Class) framework.NodeFilter {
	return func(*model.Node) (string, bool) {
		w.causes++
		return fmt.Sprintf("cause %d", w.causes), c.Shape.Key != "9"
	}
}

// faultsOf are those of a report, without what broke.
func faultsOf(report engine.Report) []engine.Fault {
	var faults []engine.Fault
	for _, d := range report.Decisions {
		if f, ok := d.(engine.Fault); ok {
			f.Value, f.Where = "", ""
			faults = append(faults, f)
		}
	}
	return faults
}

// TestWhatBreaksOverNothingInParticularStopsNobody breaks the books by hand, where no
// plugin has a hand in it.
func TestWhatBreaksOverNothingInParticularStopsNobody(t *testing.T) {
	for name, tt := range map[string]struct {
		corrupt func(e *engine.Engine)
		want    engine.Fault
	}{
		"a promise can't be taken back": {
			func(e *engine.Engine) { e.World.GangOf("bad").Queue = nil },
			engine.Fault{Kind: "PodGroup", Object: "bad", Doing: "see what it waits for"},
		},
		"causes can't be numbered anew": {
			func(e *engine.Engine) {
				for _, label := range []string{"a", "b"} { // all nodes are filtered anew, for other causes
					for i := range 4200 {
						e.Apply(engine.NodeSet{Node: model.NodeSpec{Name: fmt.Sprintf("n%d", i), Allocatable: gpus(1), Labels: map[string]string{label: ""}}})
					}
				}
				e.World.Classes()[0].Causes[0] = math.MaxUint16
			},
			engine.Fault{Kind: "World", Object: "as a whole", Doing: "number anew why nodes are turned away"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := conf.Default()
			config.Tiers = nil
			e := withGuest(t, config, &wordy{})
			e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, engine.QueueSet{Queue: model.QueueSpec{Name: "other"}})
			submit(e, "huge", 1, 9)
			e.Apply(engine.GangSet{Gang: model.GangSpec{Key: "bad", UID: "bad", Queue: "other", Min: 1, MinResources: gpus(1), Created: start}})
			for i := range 4200 {
				e.Apply(node(i, 1))
			}
			e.Run(start)
			tt.corrupt(e)
			submit(e, "good", 2, 1)
			report := e.Run(start.Add(11 * time.Second))
			if got := faultsOf(report); report.Placed != 2 || !slices.Contains(got, tt.want) {
				t.Errorf("placed %d of 2; faults %+v, want %+v", report.Placed, got, tt.want)
			}
			if why, ok := e.Explain("huge"); !ok || len(why.Nodes) == 0 {
				t.Errorf("huge waits for %+v", why)
			}
			submit(e, "late", 1, 1)
			if report := e.Run(start.Add(12 * time.Second)); report.Placed != 1 {
				t.Errorf("then placed %d of 1; faults %+v", report.Placed, faultsOf(report))
			}
		})
	}
}
