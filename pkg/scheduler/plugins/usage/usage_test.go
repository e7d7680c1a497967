package usage

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

func TestIdleNodesScoreBest(t *testing.T) {
	tests := map[string]struct {
		args framework.Args
		node framework.NodeUsage
		want int64
	}{
		"idle":                  {nil, framework.NodeUsage{Name: "n"}, 5 * framework.FullScore},
		"full":                  {nil, framework.NodeUsage{Name: "n", CPU: 100, Memory: 100}, 0},
		"half":                  {nil, framework.NodeUsage{Name: "n", CPU: 100}, 5 * framework.FullScore / 2},
		"weighed":               {framework.Args{"usage.weight": 1, "cpu.weight": "3", "memory.weight": 1}, framework.NodeUsage{Name: "n", CPU: 100}, framework.FullScore / 4},
		"weighed by nothing":    {framework.Args{"cpu.weight": 0, "memory.weight": 0}, framework.NodeUsage{Name: "n"}, 0},
		"nothing is known of n": {nil, framework.NodeUsage{Name: "other"}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			made, err := New(tt.args, framework.Env{})
			if err != nil {
				t.Fatal(err)
			}
			p, w, now := made.(*plugin), model.New(), time.Unix(1000, 0)
			n, _ := w.SetNode(model.NodeSpec{Name: "n"})
			p.Learn(&framework.Usage{At: now, Nodes: []framework.NodeUsage{tt.node}}, false)
			p.Turned(w, now)
			if got := p.ScoreNode(nil, n); got != tt.want {
				t.Errorf("score %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for key, args := range map[string]framework.Args{
		"usage.weight": {"usage.weight": -1},
		"thresholds":   {"thresholds": 80},
		"cpu":          {"thresholds": map[string]any{"cpu": "much"}},
		"memory":       {"thresholds": map[string]any{"memory": 80}},
	} {
		if _, err := New(args, framework.Env{}); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestNoNodeIsSeenOtherwiseUnlessItTurned: whatever is read and however old it grows, what
// is said of a node is what was read last, if that is not too old; it is another only when
// the node turned, and a filter only when its traits did.
func TestNoNodeIsSeenOtherwiseUnlessItTurned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made, err := New(nil, framework.Env{})
		if err != nil {
			t.Fatal(err)
		}
		p, w, now := made.(*plugin), model.New(), time.Unix(1000, 0)
		for _, name := range []string{"a", "b", "c"} {
			w.SetNode(model.NodeSpec{Name: name})
		}
		before := look(p, w)
		var last *framework.Usage
		for range 15 {
			if rapid.Bool().Draw(t, "read") {
				last = &framework.Usage{At: now}
				for _, name := range []string{"a", "b", "x"} {
					if rapid.Bool().Draw(t, "knows "+name) {
						last.Nodes = append(last.Nodes, framework.NodeUsage{Name: name, CPU: rapid.SampledFrom([]int32{0, 80, 81}).Draw(t, "cpu"), Memory: rapid.SampledFrom([]int32{0, 90}).Draw(t, "memory")})
					}
				}
				p.Learn(last, false)
			}
			if mid := look(p, w); !same(before, mid) {
				t.Fatal("it changed its mind before it was asked")
			}
			before = compare(t, p, w, now, before)
			if fresh := last != nil && now.Before(last.At.Add(framework.UsageFor)); !fresh && len(p.counts) > 0 {
				t.Fatalf("at %s what was read at %s counts", now, last.At)
			} else if fresh && len(p.counts) != len(last.Nodes) {
				t.Fatal("what was read last does not count")
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "pause")) * time.Second)
		}
	})
}

// seen is what is said of a node.
type seen struct {
	cause string
	score int64
}

func look(p *plugin, w *model.World) map[string]seen {
	all := map[string]seen{}
	for _, n := range w.Nodes() {
		cause, _ := p.FilterNodes(nil)(n)
		all[n.Name] = seen{cause, p.ScoreNode(nil, n)}
	}
	return all
}

func same(a, b map[string]seen) bool {
	for name := range a {
		if a[name] != b[name] {
			return false
		}
	}
	return true
}

// compare asks who turned, and holds what is said then against that.
func compare(t *rapid.T, p *plugin, w *model.World, now time.Time, before map[string]seen) map[string]seen {
	turned := map[string]framework.Turn{}
	for _, turn := range p.Turned(w, now) {
		turned[turn.Node.Name] = turn
	}
	after := look(p, w)
	for name := range after {
		turn, did := turned[name]
		if (after[name] != before[name] && !did) || (after[name].cause != before[name].cause && !turn.Traits) {
			t.Fatalf("%s was %v and is %v; turned %v", name, before[name], after[name], turn)
		}
	}
	if again := p.Turned(w, now); again != nil {
		t.Fatalf("%d turned again at once", len(again))
	}
	return after
}
