package model_test

import (
	"fmt"
	"testing"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

func some(n int64) resource.List { return resource.ListOf(map[string]int64{"gpu": n}) }

// TestWhoIsGoneIsForgotten: a cluster that scales up and down for years, with new
// names each time, must not grow.
func TestWhoIsGoneIsForgotten(t *testing.T) {
	w := model.New()
	for i := range 1000 {
		node, queue, pod := fmt.Sprint("n", i), fmt.Sprint("q", i), fmt.Sprint("p", i)
		w.SetNode(model.NodeSpec{Name: node, Allocatable: some(8)})
		w.SetQueue(model.QueueSpec{Name: queue, Parent: "up" + queue})
		w.SetGang(model.GangSpec{Key: pod, UID: pod, Queue: queue})
		w.SetTask(model.TaskSpec{UID: pod, Gang: pod, Node: node, Shape: model.Shape{Key: "s", Requests: some(1)}})
		w.DropNode(node)
		w.DropQueue(queue)
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			w.DropTask(pod)
		case 1:
			w.SetTask(model.TaskSpec{UID: pod, Gang: pod, Node: node, Shape: model.Shape{Key: "s", Requests: some(1)}, Ended: model.Succeeded})
		default:
			w.SetTask(model.TaskSpec{UID: pod, Gang: pod, Node: "other", Shape: model.Shape{Key: "s", Requests: some(1)}})
		}
		w.DropTask(pod)
		w.DropGang(pod, pod)
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if nodes, queues := len(w.Nodes()), len(w.Queues()); nodes > 2 || queues > 2 {
		t.Errorf("%d nodes and %d queues are remembered", nodes, queues)
	}
}

// TestWhoIsSpokenOfIsRemembered: what is charged to a node or a queue that is gone
// is there when it comes back.
func TestWhoIsSpokenOfIsRemembered(t *testing.T) {
	w := model.New()
	w.SetNode(model.NodeSpec{Name: "n", Allocatable: some(8)})
	w.SetQueue(model.QueueSpec{Name: "up"})
	w.SetQueue(model.QueueSpec{Name: "q", Parent: "up"})
	w.SetGang(model.GangSpec{Key: "g", UID: "g", Queue: "q"})
	w.SetTask(model.TaskSpec{UID: "p", Gang: "g", Node: "n", Shape: model.Shape{Key: "s", Requests: some(3)}})
	w.DropNode("n")
	w.DropQueue("up")
	w.DropQueue("q")
	w.SetNode(model.NodeSpec{Name: "m", Allocatable: some(8)})
	w.SetQueue(model.QueueSpec{Name: "other"})
	w.SetNode(model.NodeSpec{Name: "n", Allocatable: some(8)})
	w.SetQueue(model.QueueSpec{Name: "q", Parent: "up"})
	gpu := w.Resources.Dim("gpu")
	if free := w.NodeNamed("n").Free.At(gpu); free != 5 {
		t.Errorf("%d free on the node that came back, want 5", free)
	}
	if used := w.Quota.Used(w.QueueNamed("q").ID).At(gpu); used != 3 {
		t.Errorf("the queue that came back uses %d, want 3", used)
	}
	if err := w.Check(); err != nil {
		t.Error(err)
	}
}
