package victims_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// guard protects the tasks it names.
type guard map[string]bool

func (guard) Name() string { return "guard" }

func (g guard) Protects(t *model.Task, _ time.Time) (string, bool) { return "it is named", g[t.UID] }

// TestNobodyIsDismissedWhoMustStay: whatever is wished of a gang, nobody goes who is
// protected or was not wished to go, but with all of the gang; what stays is its minimum,
// in all and of each role, or nothing; its budget is kept; and no more go at once than
// was wished. What one round does not do the next ones do, until nothing can go any more.
func TestNobodyIsDismissedWhoMustStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := model.New()
		w.SetNode(model.NodeSpec{Name: "n", Allocatable: resource.ListOf(map[string]int64{resource.CPU: 100})})
		spec := model.GangSpec{
			Key: "g", UID: "g", Queue: "q", Min: int32(rapid.IntRange(0, 6).Draw(t, "min")),
			RoleMin: []model.RoleMin{{Role: "a", Min: int32(rapid.IntRange(0, 3).Draw(t, "min of a"))}},
			Annotations: map[string]string{
				"volcano.sh/jdb-min-available":   rapid.SampledFrom([]string{"", "2", "50%"}).Draw(t, "min available"),
				"volcano.sh/jdb-max-unavailable": rapid.SampledFrom([]string{"", "1", "50%"}).Draw(t, "max unavailable"),
			},
		}
		w.SetGang(spec)
		r := &rounds{
			w: w, g: w.GangOf("g"), protected: guard{}, wished: map[string]bool{},
			most: int32(rapid.IntRange(0, 2).Draw(t, "most")), whole: rapid.Bool().Draw(t, "whole"),
		}
		for i := range rapid.IntRange(1, 8).Draw(t, "tasks") {
			uid := fmt.Sprint(i)
			w.SetTask(model.TaskSpec{UID: uid, Name: uid, Gang: "g", Role: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "role"), Node: "n", Shape: model.Shape{Key: "k"}})
			r.protected[uid] = rapid.IntRange(0, 5).Draw(t, "protected") == 0
			r.wished[uid] = rapid.Bool().Draw(t, "wished")
		}
		for round := 0; r.next(t); round++ {
			if round > 8 {
				t.Fatal("it does not end")
			}
		}
	})
}

// rounds dismisses tasks of a gang again and again.
type rounds struct {
	w         *model.World
	g         *model.Gang
	protected guard
	wished    map[string]bool
	most      int32
	whole     bool
}

// next is one round; false when nobody went.
func (r *rounds) next(t *rapid.T) bool {
	var wishes []framework.Wish
	for _, task := range r.g.Tasks {
		if r.wished[task.UID] && !task.Leaving {
			wishes = append(wishes, framework.Wish{Task: task, Why: "why", Most: r.most, Whole: r.whole})
		}
	}
	was := r.g.Whole()
	gone := map[string]bool{}
	for _, unit := range victims.Dismissed(r.w, framework.Compose([][]framework.Enabled{{{Plugin: r.protected}}}), r.g, wishes, time.Time{}) {
		for _, l := range unit {
			gone[l.UID] = true
			r.w.Leave(l.Task)
		}
	}
	judge(t, r.g, gone, was)
	left := r.g.Counts.Placed
	if r.most > 0 && left > 0 && int32(len(gone)) > r.most {
		t.Fatalf("%d went at once, at most %d were to", len(gone), r.most)
	}
	for uid := range gone {
		if r.protected[uid] || (!r.wished[uid] && left > 0) {
			t.Fatalf("%s went: protected %v, wished %v, %d stay", uid, r.protected[uid], r.wished[uid], left)
		}
	}
	return len(gone) > 0
}

// judge looks at what is left of a gang.
func judge(t *rapid.T, g *model.Gang, gone map[string]bool, whole bool) {
	if whole && !g.Whole() && g.Counts.Placed > 0 {
		t.Fatalf("it was whole, and %d of it are left; gone %v", g.Counts.Placed, gone)
	}
	if keep, said := g.MustStay(); said && len(gone) > 0 && g.Counts.Held() < keep {
		t.Fatalf("%d are left, %d must stay", g.Counts.Held(), keep)
	}
}
