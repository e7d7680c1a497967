package model_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// Whatever happens, what gangs use and queues want is what a recount gives.
func TestSumsFollowWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := model.New()
		w.SetNode(model.NodeSpec{Name: "n", Allocatable: resource.ListOf(map[string]int64{"cpu": 8000})})
		w.SetQueue(model.QueueSpec{Name: "root"})
		pick := func(what string, n int) string { return what + strconv.Itoa(rapid.IntRange(1, n).Draw(t, what)) }
		happen := map[string]func(*rapid.T){
			"gang": func(*rapid.T) {
				w.SetGang(model.GangSpec{
					Key: pick("g", 3), UID: pick("u", 2), Queue: pick("q", 2), Min: 1,
					Annotations: rapid.SampledFrom([]map[string]string{nil, {"volcano.sh/preemptable": "true"}, {"volcano.sh/revocable-zone": "*"}}).Draw(t, "passed on"),
				})
			},
			"gang gone": func(*rapid.T) { w.DropGang(pick("g", 3), pick("u", 2)) },
			"await": func(*rapid.T) {
				if g := w.GangOf(pick("g", 3)); g != nil {
					w.Await(g, resource.Vector{rapid.Int64Range(0, 9).Draw(t, "need")})
				}
			},
			"queue": func(*rapid.T) { w.SetQueue(model.QueueSpec{Name: pick("q", 2), Parent: "root"}) },
			"task": func(*rapid.T) {
				s := model.TaskSpec{
					UID: pick("t", 4), Gang: rapid.SampledFrom([]string{"", "g1", "g2", "g3"}).Draw(t, "gang"), Ours: true,
					Node:     rapid.SampledFrom([]string{"", "", "n"}).Draw(t, "node"),
					Gated:    rapid.Bool().Draw(t, "gated"),
					Deleting: rapid.Bool().Draw(t, "deleting"),
					Ended:    rapid.SampledFrom([]model.Ended{model.NotEnded, model.NotEnded, model.Succeeded}).Draw(t, "ended"),
				}
				s.Claims = &model.Claims{}
				for i := range 3 {
					if rapid.Bool().Draw(t, "shares") {
						s.Claims.Refs = append(s.Claims.Refs, model.ClaimRef{Key: "c" + strconv.Itoa(i+1)})
					}
				}
				if rapid.Bool().Draw(t, "own") {
					s.Claims.Refs = append(s.Claims.Refs, model.ClaimRef{Key: s.UID + "/own", Template: pick("p", 2)})
				}
				s.Shape.Key = pick("s", 2)
				s.Shape.Requests = resource.ListOf(map[string]int64{"cpu": int64(len(s.Shape.Key) + int(s.Shape.Key[1]))})
				w.SetTask(s)
			},
			"task gone": func(*rapid.T) { w.DropTask(pick("t", 4)) },
			"placed": func(*rapid.T) {
				mark := w.Mark()
				if task := w.TaskOf(pick("t", 4)); task != nil && task.Bucket == model.Waiting {
					w.Place(task, w.NodeNamed("n"))
				}
				if rapid.Bool().Draw(t, "taken back") {
					w.Rollback(mark)
				}
				w.Commit()
			},
			"claim": func(*rapid.T) {
				w.SetDevices(model.Devices{Claim: pick("c", 3), Takes: few(t), Gone: rapid.Bool().Draw(t, "gone")})
			},
			"template": func(*rapid.T) {
				w.SetDevices(model.Devices{Template: pick("p", 2), Takes: few(t), Gone: rapid.Bool().Draw(t, "gone")})
			},
			"stock":  func(*rapid.T) { w.SetStock(few(t)) },
			"forget": func(*rapid.T) { w.ForgetDevices() },
			"failed": func(*rapid.T) { w.Unassume(pick("t", 4), "n") },
			"": func(t *rapid.T) {
				if err := w.Check(); err != nil {
					t.Fatal(err)
				}
			},
		}
		t.Repeat(happen)
	})
}

// few are some devices of two kinds.
func few(t *rapid.T) resource.List {
	return resource.ListOf(map[string]int64{"deviceclass/a": rapid.Int64Range(0, 4).Draw(t, "a"), "deviceclass/b": rapid.Int64Range(0, 4).Draw(t, "b")})
}

func TestAGangUsesWhatItsTasksAreCharged(t *testing.T) {
	w := model.New()
	w.SetQueue(model.QueueSpec{Name: "q"})
	w.SetGang(model.GangSpec{Key: "g", Queue: "q"})
	task := func(uid, node string) {
		w.SetTask(model.TaskSpec{UID: uid, Gang: "g", Node: node, Shape: model.Shape{Key: "s", Requests: resource.ListOf(map[string]int64{"cpu": 1000})}})
	}
	task("a", "n")
	task("b", "n")
	task("c", "")
	g, q := w.GangOf("g"), w.QueueNamed("q")
	w.Await(g, resource.Vector{500})
	if g.Used.At(0) != 2000 || w.Quota.Wanted(q.ID).At(0) != 1500 {
		t.Errorf("the gang uses %v and the queue wants %v", g.Used, w.Quota.Wanted(q.ID))
	}
}
