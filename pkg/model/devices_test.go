package model_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

const gpus = "deviceclass/gpu"

// shop is a world of a node and the queues a and b below top. Each gang is in the queue
// after which it is called, and the claim c takes 3 devices.
func shop() *model.World {
	w := model.New()
	w.SetNode(model.NodeSpec{Name: "n", Allocatable: resource.ListOf(map[string]int64{"cpu": 1_000_000})})
	w.SetQueue(model.QueueSpec{Name: "top"})
	for _, name := range []string{"a", "b"} {
		w.SetQueue(model.QueueSpec{Name: name, Parent: "top"})
		w.SetGang(model.GangSpec{Key: name, UID: name, Queue: name})
	}
	w.SetDevices(model.Devices{Claim: "c", Takes: resource.ListOf(map[string]int64{gpus: 3})})
	return w
}

func user(gang string, i int, node string) model.TaskSpec {
	return model.TaskSpec{
		UID: gang + strconv.Itoa(i), Gang: gang, Node: node, Ours: true, Claims: &model.Claims{Refs: []model.ClaimRef{{Key: "c"}}},
		Shape: model.Shape{Key: "s", Requests: resource.ListOf(map[string]int64{"cpu": 1000})},
	}
}

// use tells what top, a and b use and want of the devices.
func use(w *model.World) (used, wanted [3]int64) {
	d := w.Resources.Dim(gpus)
	for i, name := range []string{"top", "a", "b"} {
		q := w.QueueNamed(name)
		used[i], wanted[i] = w.Quota.Used(q.ID).At(d), w.Quota.Wanted(q.ID).At(d)
	}
	return used, wanted
}

func TestASharedClaimIsChargedOnceToWhoHasItLongest(t *testing.T) {
	w := shop()
	steps := []struct {
		what         string
		do           func()
		used, wanted [3]int64 // in top, a and b
	}{
		{"two of one gang wait", func() { w.SetTask(user("a", 1, "")); w.SetTask(user("a", 2, "")) }, [3]int64{}, [3]int64{3, 3, 0}},
		{"one of another queue comes later", func() { w.SetTask(user("b", 1, "")) }, [3]int64{}, [3]int64{3, 3, 0}},
		{"it is placed before them", func() { w.Place(w.TaskOf("b1"), w.NodeNamed("n")) }, [3]int64{3, 0, 3}, [3]int64{}},
		{"they are placed", func() {
			w.Place(w.TaskOf("a1"), w.NodeNamed("n"))
			w.Place(w.TaskOf("a2"), w.NodeNamed("n"))
			w.Commit()
		}, [3]int64{3, 0, 3}, [3]int64{}},
		{"its binding is confirmed", func() { w.SetTask(user("b", 1, "n")) }, [3]int64{3, 0, 3}, [3]int64{}},
		{"it was given another number", func() {
			w.SetDevices(model.Devices{Claim: "c", Takes: resource.ListOf(map[string]int64{gpus: 2})})
		}, [3]int64{2, 0, 2}, [3]int64{}},
		{"the first to have it goes", func() { w.DropTask("b1") }, [3]int64{2, 2, 0}, [3]int64{}},
		{"another of them goes", func() { w.DropTask("a1") }, [3]int64{2, 2, 0}, [3]int64{}},
		{"the last ends", func() {
			done := user("a", 2, "n")
			done.Ended = model.Succeeded
			w.SetTask(done)
		}, [3]int64{}, [3]int64{}},
	}
	for _, step := range steps {
		step.do()
		used, wanted := use(w)
		if diff := cmp.Diff([2][3]int64{step.used, step.wanted}, [2][3]int64{used, wanted}); diff != "" {
			t.Errorf("%s: used and wanted differ:\n%s", step.what, diff)
		}
		if err := w.Check(); err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
	}
}

func TestATakenBackPlacementLeavesNoTraceOfItsClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := shop()
		for i := range rapid.IntRange(1, 6).Draw(t, "tasks") {
			spec := user(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "gang"), i, rapid.SampledFrom([]string{"", "", "n"}).Draw(t, "node"))
			if rapid.Bool().Draw(t, "another claim") {
				spec.Claims = &model.Claims{Refs: []model.ClaimRef{{Key: "d", Template: "t"}}}
			}
			w.SetTask(spec)
		}
		w.SetDevices(model.Devices{Template: "t", Takes: resource.ListOf(map[string]int64{gpus: 5})})
		used, wanted := use(w)
		mark := w.Mark()
		for _, name := range []string{"b", "a"} {
			for _, task := range w.GangOf(name).Tasks {
				if task.Bucket == model.Waiting && rapid.Bool().Draw(t, "placed") {
					w.Place(task, w.NodeNamed("n"))
				}
			}
		}
		w.Rollback(mark)
		used2, wanted2 := use(w)
		if used != used2 || wanted != wanted2 {
			t.Fatalf("used %v and wanted %v became %v and %v", used, wanted, used2, wanted2)
		}
		if err := w.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestABillCountsWhatIsNotChargedYetOnce(t *testing.T) {
	w := shop()
	d := w.Resources.Dim(gpus)
	for i := range 3 {
		w.SetTask(user("a", i, ""))
	}
	tasks := w.GangOf("a").Tasks
	bill := func(tasks []*model.Task) (int64, bool) {
		var b model.Bill
		b.Add(w, tasks[0].Class, tasks)
		return b.Sum.At(d), b.Moves(w)
	}
	if n, moves := bill(tasks); n != 3 || moves {
		t.Errorf("three tasks with one claim are charged %d devices, which may change: %v", n, moves)
	}
	if n, moves := bill(tasks[:2]); n != 3 || !moves {
		t.Errorf("two of them, where another shares the claim: %d, %v", n, moves)
	}
	w.TakeTouched()
	w.SetTask(user("b", 1, "n"))
	if touched := w.TakeTouched(); len(touched) != 2 {
		t.Errorf("the gang that waits with the claim is not told that another shares it: %v", touched)
	}
	if n, _ := bill(tasks); n != 0 {
		t.Errorf("what another is charged for already costs %d", n)
	}
}

func TestATrialGivesNobodyAnOlderRight(t *testing.T) {
	w := shop()
	w.SetTask(user("a", 1, ""))
	w.SetTask(user("b", 1, ""))
	mark := w.Mark()
	w.Place(w.TaskOf("a1"), w.NodeNamed("n"))
	w.Rollback(mark)
	w.Place(w.TaskOf("b1"), w.NodeNamed("n"))
	w.Place(w.TaskOf("a1"), w.NodeNamed("n"))
	if used, _ := use(w); used != [3]int64{3, 0, 3} {
		t.Errorf("the claim is charged to %v, not to b, which has had it longest", used)
	}
}
