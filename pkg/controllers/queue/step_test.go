package queue_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/controllers/queue"
	"github.com/muster-sh/muster/pkg/outcome"
)

const closedByParent = "volcano.sh/closed-by-parent"

func named(name string, state schedulingv1beta1.QueueState, edits ...func(*schedulingv1beta1.Queue)) *schedulingv1beta1.Queue {
	q := &schedulingv1beta1.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"},
		Spec:       schedulingv1beta1.QueueSpec{Parent: "root"},
		Status:     schedulingv1beta1.QueueStatus{State: state},
	}
	for _, edit := range edits {
		edit(q)
	}
	return q
}

func noted(q *schedulingv1beta1.Queue) { q.Annotations = map[string]string{closedByParent: "true"} }

// command asks for an action on a queue; after orders it.
func command(action, target string, after int, edits ...func(*busv1alpha1.Command)) busv1alpha1.Command {
	c := busv1alpha1.Command{
		ObjectMeta:   metav1.ObjectMeta{Namespace: "default", Name: "c", CreationTimestamp: metav1.Unix(int64(after), 0)},
		Action:       action,
		TargetObject: &metav1.OwnerReference{Kind: "Queue", Name: target},
	}
	for _, edit := range edits {
		edit(&c)
	}
	return c
}

func state(s string) map[string]any { return map[string]any{"state": schedulingv1beta1.QueueState(s)} }

func annotation(value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{closedByParent: value}}}
}

// TestAQueuesStateFollowsCommandsAndItsGangs holds every transition of the state machine.
func TestAQueuesStateFollowsCommandsAndItsGangs(t *testing.T) {
	tests := map[string]struct {
		was    schedulingv1beta1.QueueState
		action string
		atWork int
		want   schedulingv1beta1.QueueState
	}{
		"a new queue opens":                                           {"", "", 0, "Open"},
		"an unknown one opens":                                        {"Unknown", "", 0, "Open"},
		"an open one stays open":                                      {"Open", "", 0, "Open"},
		"an open one with gangs stays open":                           {"Open", "", 3, "Open"},
		"a new one, closed while empty, is closed":                    {"", "CloseQueue", 0, "Closed"},
		"a new one, closed with gangs, is closing":                    {"", "CloseQueue", 1, "Closing"},
		"an unknown one, closed while empty, is closed":               {"Unknown", "CloseQueue", 0, "Closed"},
		"an unknown one, closed with gangs, is closing":               {"Unknown", "CloseQueue", 1, "Closing"},
		"an open one, closed while empty, is closed":                  {"Open", "CloseQueue", 0, "Closed"},
		"an open one, closed with gangs, is closing":                  {"Open", "CloseQueue", 1, "Closing"},
		"a closing one with gangs goes on closing":                    {"Closing", "", 1, "Closing"},
		"a closing one is closed once it is empty":                    {"Closing", "", 0, "Closed"},
		"a closing one that is closed again goes on":                  {"Closing", "CloseQueue", 1, "Closing"},
		"a closing one opens":                                         {"Closing", "OpenQueue", 1, "Open"},
		"a closed one stays closed":                                   {"Closed", "", 0, "Closed"},
		"a closed one in which a gang is at work after all closes on": {"Closed", "", 1, "Closing"},
		"a closed one that is closed again stays so":                  {"Closed", "CloseQueue", 0, "Closed"},
		"a closed one opens":                                          {"Closed", "OpenQueue", 0, "Open"},
		"an open one that is opened stays open":                       {"Open", "OpenQueue", 2, "Open"},
		"an unknown one that is opened is open":                       {"Unknown", "OpenQueue", 0, "Open"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			seen := queue.Observed{Queue: named("q", tt.was), Parent: named("root", "Open"), AtWork: tt.atWork}
			if tt.action != "" {
				seen.Commands = []busv1alpha1.Command{command(tt.action, "q", 1)}
			}
			if closes := tt.want == "Closed" || tt.want == "Closing"; queue.Closes(seen) != closes {
				t.Errorf("Closes says %v", !closes)
			}
			got := queue.Step(seen)
			var want []outcome.Patch
			if tt.was != tt.want {
				want = []outcome.Patch{{Object: seen.Queue, Fields: map[string]any{}, Status: state(string(tt.want))}}
			}
			if diff := cmp.Diff(want, got.Patch); diff != "" {
				t.Error(diff)
			}
			if len(got.Delete) != len(seen.Commands) {
				t.Errorf("%d Commands are deleted, want %d", len(got.Delete), len(seen.Commands))
			}
		})
	}
}

// step is what is seen and what must follow.
type step struct {
	seen queue.Observed
	want outcome.Outcome
}

func check(t *testing.T, tests map[string]step) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, queue.Step(tt.seen)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAQueueClosesAndOpensWithTheOneAboveIt(t *testing.T) {
	open, closed := named("team", "Open"), named("team", "Closed")
	in := func(q *schedulingv1beta1.Queue) { q.Spec.Parent = "team" }
	child, sleeping := named("q", "Open", in), named("q", "Closed", in, noted)
	own := named("q", "Closed", in)
	awake := named("q", "Open", in, noted)
	closing := command("CloseQueue", "q", 1)
	opening := command("OpenQueue", "q", 1)
	refused := `target.name is "q": the queue "team" above it is Closed; open that first`
	check(t, map[string]step{
		"it closes with it, and notes why": {
			queue.Observed{Queue: child, Parent: closed, AtWork: 1},
			outcome.Outcome{
				Patch:  []outcome.Patch{{Object: child, Fields: annotation("true"), Status: state("Closing")}},
				Events: []outcome.Event{{On: child, Reason: "CloseQueue", Message: `closed to new gangs with queue "team" above it; what runs goes on`}},
			},
		},
		"it opens with it": {
			queue.Observed{Queue: sleeping, Parent: open},
			outcome.Outcome{
				Patch:  []outcome.Patch{{Object: sleeping, Fields: map[string]any{}, Status: state("Open")}},
				Events: []outcome.Event{{On: sleeping, Reason: "OpenQueue", Message: `opened with queue "team" above it`}},
			},
		},
		"only then the note goes": {
			queue.Observed{Queue: awake, Parent: open},
			outcome.Outcome{Patch: []outcome.Patch{{Object: awake, Fields: annotation(nil)}}},
		},
		"one that was closed itself stays closed": {
			queue.Observed{Queue: own, Parent: open}, outcome.Outcome{},
		},
		"also while the one above it is closed": {
			queue.Observed{Queue: own, Parent: closed}, outcome.Outcome{},
		},
		"closed itself while asleep, it stays closed later": {
			queue.Observed{Queue: sleeping, Parent: closed, Commands: []busv1alpha1.Command{closing}},
			outcome.Outcome{
				Patch:  []outcome.Patch{{Object: sleeping, Fields: annotation(nil)}},
				Delete: []apis.Object{&closing},
				Events: []outcome.Event{{On: sleeping, Reason: "CloseQueue", Message: "closed to new gangs by Command default/c; what runs goes on"}},
			},
		},
		"it can't be opened alone": {
			queue.Observed{Queue: sleeping, Parent: closed, Commands: []busv1alpha1.Command{opening}},
			outcome.Outcome{
				Delete: []apis.Object{&opening},
				Events: []outcome.Event{
					{On: &opening, Warning: true, Reason: "InvalidCommand", Message: refused},
					{On: sleeping, Warning: true, Reason: "InvalidCommand", Message: "Command default/c: " + refused},
				},
			},
		},
	})
}

func TestCommandsAreCarriedOutInOrderAndOnce(t *testing.T) {
	q := named("q", "Open")
	first := command("CloseQueue", "q", 1, func(c *busv1alpha1.Command) { c.Name, c.Message = "first", "maintenance" })
	second := command("OpenQueue", "q", 2, func(c *busv1alpha1.Command) { c.Name = "second" })
	twin := command("OpenQueue", "q", 1, func(c *busv1alpha1.Command) { c.Name, c.ResourceVersion = "a", "12" })
	earlier := command("CloseQueue", "q", 1, func(c *busv1alpha1.Command) { c.Name, c.ResourceVersion = "b", "9" })
	going := command("CloseQueue", "q", 1, func(c *busv1alpha1.Command) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	by := func(what, name, more string) outcome.Event {
		text := "opened by Command default/" + name
		if what == "CloseQueue" {
			text = "closed to new gangs by Command default/" + name + "; what runs goes on"
		}
		return outcome.Event{On: q, Reason: what, Message: text + more}
	}
	check(t, map[string]step{
		"the last one counts": {
			queue.Observed{Queue: q, Commands: []busv1alpha1.Command{second, first}},
			outcome.Outcome{
				Delete: []apis.Object{&first, &second},
				Events: []outcome.Event{by("CloseQueue", "first", ": maintenance"), by("OpenQueue", "second", "")},
			},
		},
		"of two within a second, the later revision": {
			queue.Observed{Queue: q, Commands: []busv1alpha1.Command{twin, earlier}},
			outcome.Outcome{
				Delete: []apis.Object{&earlier, &twin},
				Events: []outcome.Event{by("CloseQueue", "b", ""), by("OpenQueue", "a", "")},
			},
		},
		"one that is on its way out was carried out": {
			queue.Observed{Queue: q, Commands: []busv1alpha1.Command{going}}, outcome.Outcome{},
		},
	})
}

func TestACommandThatCantBeIsRefusedAndGone(t *testing.T) {
	q, root := named("q", "Open"), named("root", "Open", func(q *schedulingv1beta1.Queue) { q.Spec.Parent = "" })
	refuse := func(q *schedulingv1beta1.Queue, c busv1alpha1.Command, why string) step {
		s := step{seen: queue.Observed{Queue: q, Commands: []busv1alpha1.Command{c}}, want: outcome.Outcome{
			Delete: []apis.Object{&c},
			Events: []outcome.Event{{On: &c, Warning: true, Reason: "InvalidCommand", Message: why}},
		}}
		if q != nil {
			s.want.Events = append(s.want.Events, outcome.Event{On: q, Warning: true, Reason: "InvalidCommand", Message: "Command default/c: " + why})
		}
		return s
	}
	check(t, map[string]step{
		"root stays open":       refuse(root, command("CloseQueue", "root", 1), `target.name is "root": that queue is above all others and stays open; close the queues below it`),
		"an action of jobs":     refuse(q, command("AbortJob", "q", 1), `action is "AbortJob": give OpenQueue or CloseQueue to a queue`),
		"no action":             refuse(q, command("", "q", 1), `action is "": give OpenQueue or CloseQueue to a queue`),
		"a queue that is not":   refuse(nil, command("CloseQueue", "nope", 1), `target.name is "nope": there is no such queue; create it, or name another`),
		"a queue that was":      refuse(q, command("CloseQueue", "q", 1, func(c *busv1alpha1.Command) { c.TargetObject.UID = "old" }), `target.uid is "old": the queue of that name is another now, with uid "u"; name that, or none`),
		"no target":             refuse(nil, command("CloseQueue", "", 1, func(c *busv1alpha1.Command) { c.TargetObject = nil }), "target is missing: give kind and name of a queue or job"),
		"a target without kind": refuse(nil, command("CloseQueue", "q", 1, func(c *busv1alpha1.Command) { c.TargetObject.Kind = "" }), `target.kind is "": give Queue or Job`),
	})
}

func TestAQueueWithoutParentIsPutBelowRoot(t *testing.T) {
	top := func(q *schedulingv1beta1.Queue) { q.Spec.Parent = "" }
	orphan := named("q", "", top)
	check(t, map[string]step{
		"any queue": {
			queue.Observed{Queue: orphan},
			outcome.Outcome{Patch: []outcome.Patch{{Object: orphan, Fields: map[string]any{"spec": map[string]any{"parent": "root"}}, Status: state("Open")}}},
		},
		"but root": {queue.Observed{Queue: named("root", "Open", top)}, outcome.Outcome{}},
	})
}

func TestAGangIsAtWorkWhileItHoldsRoomOrMayTakeIt(t *testing.T) {
	waits := []schedulingv1beta1.PodGroupCondition{{Type: "Unschedulable", Status: corev1.ConditionTrue}}
	tests := map[string]struct {
		status schedulingv1beta1.PodGroupStatus
		want   bool
	}{
		"new":                    {schedulingv1beta1.PodGroupStatus{}, false},
		"waiting":                {schedulingv1beta1.PodGroupStatus{Phase: "Pending", Conditions: waits}, false},
		"admitted":               {schedulingv1beta1.PodGroupStatus{Phase: "Inqueue"}, true},
		"admitted, then refused": {schedulingv1beta1.PodGroupStatus{Phase: "Inqueue", Conditions: waits}, false},
		"half of it runs":        {schedulingv1beta1.PodGroupStatus{Phase: "Inqueue", Running: 1, Conditions: waits}, true},
		"running":                {schedulingv1beta1.PodGroupStatus{Phase: "Running", Running: 2}, true},
		"lost members":           {schedulingv1beta1.PodGroupStatus{Phase: "Unknown"}, true},
		"completed":              {schedulingv1beta1.PodGroupStatus{Phase: "Completed", Succeeded: 2}, false},
		"failed":                 {schedulingv1beta1.PodGroupStatus{Phase: "Failed", Failed: 2}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := queue.AtWork(&schedulingv1beta1.PodGroup{Status: tt.status}); got != tt.want {
				t.Errorf("at work: %v", got)
			}
		})
	}
}
