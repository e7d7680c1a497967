package fault_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-sh/muster/pkg/fault"
)

func TestThoseAfterOneThatBreaksFollow(t *testing.T) {
	tests := map[string]struct {
		items, done, blamed []int
	}{
		"none":              {},
		"none that breaks":  {items: []int{1, 2, 3}, done: []int{1, 2, 3}},
		"the first":         {items: []int{0, 2, 3}, done: []int{2, 3}, blamed: []int{0}},
		"the last":          {items: []int{1, 2, 0}, done: []int{1, 2}, blamed: []int{0}},
		"two, side by side": {items: []int{1, 0, -1, 3}, done: []int{1, 3}, blamed: []int{0, -1}},
		"all":               {items: []int{0, 0}, blamed: []int{0, 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var done, blamed []int
			fault.Each(tt.items, func(i int) {
				_ = tt.items[min(0, i-1):] // breaks below 1
				done = append(done, i)
			}, func(i int, f fault.Fault) {
				blamed = append(blamed, i)
				if !strings.Contains(f.Value, "out of range") || !strings.HasPrefix(f.Where, "fault_test.TestThoseAfterOneThatBreaksFollow") {
					t.Errorf("blamed for %q at %q", f.Value, f.Where)
				}
			})
			if !slices.Equal(done, tt.done) || !slices.Equal(blamed, tt.blamed) {
				t.Errorf("done %v, want %v; blamed %v, want %v", done, tt.done, blamed, tt.blamed)
			}
		})
	}
}

func TestWhatDoesNotBreakIsNoFault(t *testing.T) {
	if broke := fault.Try(func() {}); broke != nil {
		t.Errorf("got %+v", broke)
	}
	if broke := fault.Try(func() { panic("so be it") }); broke == nil || broke.Value != "so be it" {
		t.Errorf("got %+v", broke)
	}
}

func BenchmarkEach(b *testing.B) {
	items := make([]int, 10_000)
	sum := 0
	b.ReportAllocs()
	for b.Loop() {
		fault.Each(items, func(i int) { sum += i }, func(int, fault.Fault) { b.Error("it broke") })
	}
}
