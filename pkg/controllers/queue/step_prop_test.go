package queue_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/controllers/queue"
	"github.com/muster-sh/muster/pkg/outcome"
)

// tree is a queue and one below it, as the API server keeps them, and who works in each.
type tree struct {
	queues   map[string]*schedulingv1beta1.Queue
	parent   map[string]string
	work     map[string]int
	commands []busv1alpha1.Command
}

func (tr *tree) seen(name string) queue.Observed {
	o := queue.Observed{Queue: tr.queues[name], Parent: tr.queues[tr.parent[name]], AtWork: tr.work[name]}
	if name == "team" {
		o.AtWork += tr.work["below"]
	}
	for _, c := range tr.commands {
		if c.TargetObject.Name == name {
			o.Commands = append(o.Commands, c)
		}
	}
	return o
}

// do carries out at most so many writes of an outcome, and reports whether there were any.
func (tr *tree) do(name string, out outcome.Outcome, writes int) bool {
	q := tr.queues[name]
	left := func() bool { writes--; return writes >= 0 }
	for _, p := range out.Patch {
		if len(p.Fields) > 0 && left() {
			if spec, ok := p.Fields["spec"].(map[string]any); ok {
				q.Spec.Parent = spec["parent"].(string)
			}
			if meta, ok := p.Fields["metadata"].(map[string]any); ok {
				q.Annotations = map[string]string{}
				if value := meta["annotations"].(map[string]any)[closedByParent]; value != nil {
					q.Annotations[closedByParent] = value.(string)
				}
			}
		}
		if state, ok := p.Status["state"]; ok && left() {
			q.Status.State = state.(schedulingv1beta1.QueueState)
		}
	}
	for _, c := range out.Delete {
		if left() {
			for i := range tr.commands {
				if tr.commands[i].Name == c.GetName() {
					tr.commands = append(tr.commands[:i:i], tr.commands[i+1:]...)
					break
				}
			}
		}
	}
	return len(out.Patch)+len(out.Delete) > 0
}

// TestStatesSettleAsAskedHoweverOftenItIsInterrupted gives Commands to two queues,
// one below the other, lets gangs come and go, and breaks off after any write.
func TestStatesSettleAsAskedHoweverOftenItIsInterrupted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &tree{
			queues: map[string]*schedulingv1beta1.Queue{"team": named("team", ""), "below": named("below", "")},
			parent: map[string]string{"below": "team"}, work: map[string]int{},
		}
		closed := map[string]bool{} // as asked for
		for n := range rapid.IntRange(1, 12).Draw(t, "happenings") {
			name := rapid.SampledFrom([]string{"team", "below"}).Draw(t, "queue")
			switch what := rapid.SampledFrom([]string{"CloseQueue", "OpenQueue", "work", "rest"}).Draw(t, "what"); what {
			case "work":
				tr.work[name]++
			case "rest":
				tr.work[name] = 0
			default:
				tr.commands = append(tr.commands, command(what, name, n, func(c *busv1alpha1.Command) { c.Name = fmt.Sprint(n) }))
				if what == "CloseQueue" || name == "team" || !closed["team"] {
					closed[name] = what == "CloseQueue"
				}
			}
			settle(t, tr)
			team, below := tr.queues["team"].Status.State, tr.queues["below"].Status.State
			if want := stateOf(closed["team"], tr.work["team"]+tr.work["below"]); team != want {
				t.Fatalf("the queue above is %s, want %s", team, want)
			}
			if want := stateOf(closed["team"] || closed["below"], tr.work["below"]); below != want {
				t.Fatalf("the queue below is %s, want %s (above: %s)", below, want, team)
			}
			if len(tr.commands) > 0 {
				t.Fatalf("%d Commands are left", len(tr.commands))
			}
		}
	})
}

func stateOf(closed bool, work int) schedulingv1beta1.QueueState {
	switch {
	case !closed:
		return schedulingv1beta1.QueueStateOpen
	case work > 0:
		return schedulingv1beta1.QueueStateClosing
	default:
		return schedulingv1beta1.QueueStateClosed
	}
}

// settle steps until nothing is left to do; it must come to that soon.
func settle(t *rapid.T, tr *tree) {
	interrupted := 0
	for range 40 {
		busy := false
		for _, name := range []string{"below", "team"} {
			writes := 100
			if interrupted < 10 {
				writes = rapid.IntRange(0, 4).Draw(t, "writes")
				interrupted++
			}
			busy = tr.do(name, queue.Step(tr.seen(name)), writes) || busy
		}
		if !busy {
			return
		}
	}
	t.Fatal("it does not come to rest")
}
