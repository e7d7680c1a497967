package model_test

import (
	"fmt"
	"testing"

	"github.com/muster-sh/muster/pkg/model"
)

func TestADisruptionBudgetSaysHowManyMustStay(t *testing.T) {
	const pods = 200
	for text, want := range map[string]int32{
		"": 0, "3": 3, "50%": 100, "1%": 2, "100%": pods, "2147483647": 2147483647, "2147483647%": 2147483647, "-1": 0, "x": 0, "1.5": 0,
	} {
		w := model.New()
		w.SetGang(model.GangSpec{Key: "g", UID: "u", Annotations: map[string]string{"volcano.sh/jdb-min-available": text}})
		for i := range pods {
			w.SetTask(model.TaskSpec{UID: fmt.Sprint(i), Gang: "g", Shape: model.Shape{Key: "s"}})
		}
		if keep, _ := w.GangOf("g").MustStay(); keep != want {
			t.Errorf("of %d pods with %q, %d must stay, want %d", pods, text, keep, want)
		}
	}
}
