package resource_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/resource"
)

func TestTimesCountsWholeCopies(t *testing.T) {
	tests := map[string]struct {
		room, req resource.Vector
		want      int64
	}{
		"limited by the scarcest":         {resource.Vector{96000, 8}, resource.Vector{4000, 2}, 4},
		"a dimension the room lacks":      {resource.Vector{96000}, resource.Vector{1000, 1}, 0},
		"room below zero holds nothing":   {resource.Vector{-5}, resource.Vector{1}, 0},
		"asking for nothing always fits":  {resource.Vector{0}, resource.Vector{0, 0}, math.MaxInt64},
		"a remainder is no further copy":  {resource.Vector{7}, resource.Vector{2}, 3},
		"negative requests count as none": {resource.Vector{7}, resource.Vector{-2}, math.MaxInt64},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.room.Times(tt.req); got != tt.want {
				t.Errorf("Times = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestFormatPrintsUsersUnits(t *testing.T) {
	tests := map[string]struct {
		name  string
		value int64
		want  string
	}{
		"whole cores":      {"cpu", 4000, "4"},
		"parts of a core":  {"cpu", 1500, "1500m"},
		"gibibytes":        {"memory", 16 << 30, "16Gi"},
		"odd bytes":        {"memory", 1000, "1000"},
		"pieces":           {"nvidia.com/gpu", 1024, "1024"},
		"nothing of bytes": {"memory", 0, "0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := resource.Format(tt.name, tt.value); got != tt.want {
				t.Errorf("Format = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAbsurdAmountsAreHeld(t *testing.T) {
	var table resource.Table
	got := table.Vector(resource.ListOf(map[string]int64{"a": math.MaxInt64, "b": -5, "c": 7}))
	if diff := cmp.Diff(resource.Vector{resource.Most, 0, 7}, got); diff != "" {
		t.Error(diff)
	}
}

func TestListsSurviveTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.MapOf(rapid.StringMatching(`[a-z]{1,3}`), rapid.Int64Range(1, 1<<50)).Draw(t, "amounts")
		var table resource.Table
		table.Dim("already-there")
		want := resource.ListOf(amounts)
		if diff := cmp.Diff(want, table.List(table.Vector(want)), cmp.Transformer("len", func(l resource.List) []resource.Amount { return append([]resource.Amount{}, l...) })); diff != "" {
			t.Fatalf("list changed on its way through the table:\n%s", diff)
		}
	})
}

func TestAddThenTakeAwayRestores(t *testing.T) {
	amount := rapid.Int64()
	rapid.Check(t, func(t *rapid.T) {
		v := resource.Vector(rapid.SliceOfN(amount, 4, 4).Draw(t, "v"))
		o := resource.Vector(rapid.SliceOfN(amount, 0, 4).Draw(t, "o"))
		times := rapid.Int64Range(0, 100).Draw(t, "times")
		got := append(resource.Vector{}, v...)
		got.Add(o, times)
		got.Add(o, -times)
		if diff := cmp.Diff(v, got); diff != "" {
			t.Fatalf("not restored:\n%s", diff)
		}
	})
}

// TestNamesThatNobodyHasStayFew: pods may name any number of resources.
func TestNamesThatNobodyHasStayFew(t *testing.T) {
	var table resource.Table
	amounts := map[string]int64{}
	for i := range 5 * resource.MostNames {
		amounts[fmt.Sprintf("a.example/%05d", i)] = 1
	}
	asked := table.Vector(resource.ListOf(amounts))
	if n := table.Len(); n != resource.MostNames+1 || len(asked) != n {
		t.Errorf("%d numbers for %d names, in a vector of %d", n, len(amounts), len(asked))
	}
	for name, fits := range map[string]int64{"a.example/00007": 1, "a.example/04999": 0, "never.seen/before": 0} {
		one := resource.ListOf(map[string]int64{name: 1})
		if n := table.Stock(one).Times(table.Vector(one)); n != fits {
			t.Errorf("a node that has 1 %s holds %d pods that ask for one, want %d", name, n, fits)
		}
	}
}
