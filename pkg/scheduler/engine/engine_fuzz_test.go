package engine_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

// bytesOf hands out the bytes of a fuzz input one by one, zeros at its end.
type bytesOf struct{ left []byte }

func (b *bytesOf) next(n int) int {
	if len(b.left) == 0 || n <= 0 {
		return 0
	}
	v := int(b.left[0]) % n
	b.left = b.left[1:]
	return v
}

// amount is mostly small, at times absurd.
func (b *bytesOf) amount() int64 {
	switch n := b.next(16); n {
	case 14:
		return math.MaxInt64
	case 15:
		return -3
	default:
		return int64(n)
	}
}

func (b *bytesOf) list() resource.List {
	return resource.ListOf(map[string]int64{"gpu": b.amount(), "cpu": b.amount()})
}

// event makes a fact that may make little sense.
func (b *bytesOf) event() engine.Event {
	node, queue := fmt.Sprintf("n%d", b.next(4)), fmt.Sprintf("q%d", b.next(4))
	gang := fmt.Sprintf("g%d", b.next(4))
	task := fmt.Sprintf("%s/%d", gang, b.next(5))
	switch b.next(11) {
	case 0, 1:
		return engine.NodeSet{Node: model.NodeSpec{Name: node, Allocatable: b.list(), Unschedulable: b.next(5) == 1}}
	case 2:
		return engine.NodeGone{Name: node}
	case 3, 4:
		return engine.QueueSet{Queue: model.QueueSpec{
			Name: queue, Parent: []string{"", "q0", "q1", "q2", "nowhere"}[b.next(5)], Weight: int32(b.amount()), Priority: int32(b.next(3)),
			Guarantee: b.list(), Deserved: b.list(), Capability: b.list(), Strict: b.next(3) == 1, Closed: []string{"", "", "Closed"}[b.next(3)],
		}}
	case 5:
		return engine.QueueGone{Name: queue}
	case 6, 7:
		return engine.GangSet{Gang: model.GangSpec{
			Key: gang, UID: fmt.Sprint(b.next(2)), Queue: queue, Min: int32(b.amount()), Priority: int32(b.next(3)), MinResources: b.list(),
			RoleMin: []model.RoleMin{{Role: "a", Min: int32(b.next(4))}}, Created: start.Add(time.Duration(b.next(100)) * time.Second),
			SubGroups: make([]model.SubGroup, b.next(2)), Annotations: b.hints(),
		}}
	case 8:
		return engine.GangGone{Key: gang, UID: fmt.Sprint(b.next(2))}
	case 9:
		return []engine.Event{engine.TaskGone{UID: task}, engine.BindFailed{UID: task, Node: node}, engine.BindRefused{UID: task, Node: node, Why: "no"}}[b.next(3)]
	default:
		on := ""
		if b.next(4) == 1 {
			on = node
		}
		req := b.list()
		return engine.TaskSet{Task: model.TaskSpec{
			UID: task, Name: task, Gang: gang, Role: []string{"", "a"}[b.next(2)], Ours: true, Node: on,
			Gated: b.next(6) == 1, Deleting: b.next(8) == 1, Running: b.next(3) == 1, Ended: model.Ended(b.next(12) / 10),
			Nominated: []string{"", "", "n0", "n3"}[b.next(4)],
			Shape:     model.Shape{Key: fmt.Sprint(req), Requests: req},
		}}
	}
}

// hints makes annotations of a gang, of which some can't be read.
func (b *bytesOf) hints() map[string]string {
	return []map[string]string{
		nil, nil, nil,
		{"volcano.sh/task-topology-affinity": "a"},
		{"volcano.sh/task-topology-anti-affinity": "a;a,", "volcano.sh/preemptable": "true"},
		{"volcano.sh/sla-waiting-time": "10s"},
		{"scheduling.volcano.sh/slo-deadline": "1970-01-12T13:48:20Z", "scheduling.volcano.sh/slo-running-estimate": "50s"},
		{"volcano.sh/jdb-min-available": "50%", "volcano.sh/jdb-max-unavailable": "x", "volcano.sh/sla-waiting-time": "x"},
	}[b.next(8)]
}

// step is some seconds, at times back, and now and then years: clocks jump.
func (b *bytesOf) step() time.Duration {
	const years = 10 * 365 * 24 * time.Hour
	switch n := b.next(34); n {
	case 30, 31:
		return years
	case 32, 33:
		return -years
	default:
		return time.Duration(n-5) * time.Second
	}
}

// config is one of those that let gangs take from others, or the default.
func (b *bytesOf) config(t *testing.T) engine.Config {
	t.Helper()
	config := conf.Default()
	config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: "sla", Args: map[string]any{"sla-waiting-time": "20s"}}})
	text := []string{"", "proportion", "capacity"}[b.next(3)]
	if text == "" {
		return config
	}
	config, err := conf.Parse([]byte(`actions: "enqueue, allocate, backfill, preempt, reclaim, shuffle"
tiers:
- plugins: [{name: slo}, {name: priority}, {name: gang, arguments: {gang-repair-timeout: 30s}}, {name: sla}]
- plugins: [{name: drf}, {name: predicates}, {name: `+text+`}, {name: nodeorder}, {name: task-topology}, {name: tdm, arguments: {tdm.revocable-zone.z: "00:00-12:00"}}]
`), actions.Builtin(), plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// FuzzEngineEvents feeds the engine facts in any order and looks at its books after
// each run: nothing panics, no gang is placed in part, and nobody is given room that
// is not there.
func FuzzEngineEvents(f *testing.F) {
	f.Add([]byte("nodes, queues and gangs in any order whatever"))
	f.Add([]byte{0, 1, 2, 3, 0, 8, 8, 1, 3, 0, 0, 0, 6, 1, 2, 3, 4, 10, 0, 1, 2, 3, 10, 10, 10, 9, 1, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		b, now := &bytesOf{data}, start
		e, err := engine.New(b.config(t), plugins.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		for len(b.left) > 0 {
			for range 1 + b.next(6) {
				e.Apply(b.event())
			}
			now = now.Add(b.step())
			checkRun(t, e, e.Run(now))
		}
	})
}

// checkRun looks at what a run decided and at the books after it.
func checkRun(t *testing.T, e *engine.Engine, report engine.Report) {
	t.Helper()
	for _, d := range report.Decisions {
		if broke, ok := d.(engine.Fault); ok {
			t.Fatalf("%s (%s)", broke, broke.Where)
		}
		b, ok := d.(engine.Bind)
		if !ok {
			continue
		}
		if g := e.World.GangOf(b.Gang); !g.Whole() {
			t.Fatalf("gang %s is bound with %d of %d", b.Gang, g.Counts.Held(), g.Min)
		}
		task := e.World.TaskOf(b.UID)
		for dim, asked := range task.Class.Req {
			if asked > 0 && task.On.Free.At(dim)+task.On.Claimed.At(dim) < 0 { // a claim may be for room to come
				t.Fatalf("%s was put on %s, which has %v free", b.Name, b.Node, task.On.Free)
			}
		}
	}
	if err := e.World.Check(); err != nil {
		t.Fatal(err)
	}
	e.Next()
	e.Queues()
}
