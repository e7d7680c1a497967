package model_test

import (
	"testing"

	"github.com/muster-sh/muster/pkg/model"
)

// TestTasksTakeOverWhatTheirGangAllows: before or after they came, and give it up again.
func TestTasksTakeOverWhatTheirGangAllows(t *testing.T) {
	const zone = "volcano.sh/revocable-zone"
	w := model.New()
	gang := func(value string) {
		spec := model.GangSpec{Key: "g", UID: "g", Queue: "q", Min: 2}
		if value != "" {
			spec.Annotations = map[string]string{zone: value}
		}
		w.SetGang(spec)
	}
	check := func(when, first, second string) {
		t.Helper()
		for uid, want := range map[string]string{"1": first, "2": second} {
			if got := w.TaskOf(uid).Class.Shape.Hints[zone]; got != want {
				t.Errorf("%s: task %s has %q, want %q", when, uid, got, want)
			}
		}
		if same := w.TaskOf("1").Class == w.TaskOf("2").Class; same != (first == second) {
			t.Errorf("%s: of one class: %v", when, same)
		}
		if err := w.Check(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	w.SetTask(model.TaskSpec{UID: "1", Gang: "g", Shape: model.Shape{Key: "k"}})
	own := model.Shape{Key: "k night", Hints: map[string]string{zone: "night"}}
	w.SetTask(model.TaskSpec{UID: "2", Gang: "g", Shape: own})
	check("without a gang", "", "night")
	gang("*")
	check("it allows all", "*", "night")
	w.SetTask(model.TaskSpec{UID: "2", Gang: "g", Shape: model.Shape{Key: "k"}})
	check("the second has no wish of its own", "*", "*")
	w.SetTask(model.TaskSpec{UID: "1", Gang: "g", Running: true, Shape: model.Shape{Key: "k"}})
	check("the first is told again", "*", "*")
	gang("")
	check("it allows nothing", "", "")
	gang("day")
	w.DropGang("g", "g")
	check("it is gone", "", "")
}
