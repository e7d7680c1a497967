package quota_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

func capped(n int64) quota.Limit {
	return quota.Limit{Amount: resource.Vector{n}, Named: []bool{true}}
}

func TestWhatIsGuaranteedToOthersIsNoRoom(t *testing.T) {
	total := resource.Vector{64}
	tests := map[string]struct {
		queue quota.ID
		need  int64
		want  []quota.Over
	}{
		"up to what others are guaranteed":                    {0, 40, nil},
		"not beyond":                                          {0, 41, []quota.Over{{Queue: quota.None, Need: 41, Used: 8, Kept: 16, Limit: 64, Keepers: []quota.Keeper{{Queue: 1, Kept: 16}}}}},
		"its own guarantee":                                   {1, 16, nil},
		"beyond its own, what nobody is guaranteed":           {1, 56, nil},
		"its ceiling counts above its guarantee":              {2, 9, []quota.Over{{Queue: 2, Need: 9, Used: 8, Limit: 16}}},
		"what a child is guaranteed is kept within a ceiling": {3, 4, []quota.Over{{Queue: 3, Need: 4, Kept: 8, Limit: 10, Keepers: []quota.Keeper{{Queue: 4, Kept: 8}}}}},
		"the child itself takes it":                           {4, 8, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var tree quota.Tree
			for range 5 {
				tree.Add()
			}
			tree.Set(1, quota.None, quota.Terms{Guarantee: resource.Vector{16}})
			tree.Set(2, quota.None, quota.Terms{Capability: capped(16)})
			tree.Charge(2, resource.Vector{8}, 1)
			if tt.queue >= 3 {
				tree.Set(3, quota.None, quota.Terms{Capability: capped(10)})
				tree.Set(4, 3, quota.Terms{Guarantee: resource.Vector{8}})
			}
			if diff := cmp.Diff(tt.want, tree.Exceeded(tt.queue, resource.Vector{tt.need}, total, false)); diff != "" {
				t.Error(diff)
			}
			if got := tree.Fits(tt.queue, resource.Vector{tt.need}, total); got != (tt.want == nil) {
				t.Errorf("Fits = %v beside Exceeded = %v", got, tt.want)
			}
		})
	}
}

func TestGuaranteesBeyondTheClusterStopNobodyFromUsingHisOwn(t *testing.T) {
	var tree quota.Tree
	a, b := tree.Add(), tree.Add()
	tree.Set(a, quota.None, quota.Terms{Guarantee: resource.Vector{40}})
	tree.Set(b, quota.None, quota.Terms{Guarantee: resource.Vector{40}})
	if over := tree.Exceeded(a, resource.Vector{8}, resource.Vector{32}, false); over != nil {
		t.Errorf("refused: %+v", over)
	}
}

func TestWhatIsSetAsideIsTakenButNotUsed(t *testing.T) {
	var tree quota.Tree
	q := tree.Add()
	tree.Set(q, quota.None, quota.Terms{Capability: capped(8)})
	tree.Reserve(q, resource.Vector{6}, 1)
	if tree.Fits(q, resource.Vector{3}, nil) {
		t.Error("room that is set aside was given to another")
	}
	if got := tree.Used(q).At(0); got != 0 {
		t.Errorf("%d used", got)
	}
	tree.Reserve(q, resource.Vector{6}, -1)
	if !tree.Fits(q, resource.Vector{8}, nil) {
		t.Error("room that was given back is not there")
	}
}

// TestGuaranteesAreKept plays random charges that the tree lets pass, and looks
// whether every queue can then still have its whole guarantee.
func TestGuaranteesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree quota.Tree
		n := rapid.IntRange(1, 6).Draw(t, "queues")
		guarantee := make([]int64, n)
		below := make([]int64, n) // guaranteed to the children of a queue
		parent := make([]quota.ID, n)
		total := int64(64)
		left := total
		for i := range n {
			tree.Add()
			parent[i] = quota.ID(rapid.IntRange(-1, i-1).Draw(t, "parent"))
			tree.Set(quota.ID(i), parent[i], quota.Terms{})
		}
		for i := range n {
			room := left
			if parent[i] != quota.None {
				room = guarantee[parent[i]] - below[parent[i]]
			}
			guarantee[i] = rapid.Int64Range(0, room).Draw(t, "guarantee")
			if parent[i] != quota.None {
				below[parent[i]] += guarantee[i]
			} else {
				left -= guarantee[i]
			}
			tree.Set(quota.ID(i), parent[i], quota.Terms{Guarantee: resource.Vector{guarantee[i]}})
		}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			q := quota.ID(rapid.IntRange(0, n-1).Draw(t, "queue"))
			v := resource.Vector{rapid.Int64Range(1, 20).Draw(t, "amount")}
			over := tree.Exceeded(q, v, resource.Vector{total}, false)
			if fits := tree.Fits(q, v, resource.Vector{total}); fits != (over == nil) {
				t.Fatalf("Fits = %v, Exceeded = %v", fits, over)
			}
			if over == nil && tree.Used(quota.None).At(0)+v[0] <= total {
				tree.Charge(q, v, 1)
			}
		}
		used := tree.Used(quota.None).At(0)
		var owed int64
		for i := range n {
			if parent[i] == quota.None {
				owed += max(0, guarantee[i]-tree.Used(quota.ID(i)).At(0))
			}
		}
		if used+owed > total {
			t.Fatalf("%d used, %d more guaranteed, of %d", used, owed, total)
		}
	})
}

// TestWhatAQueueCanComeTo: its ceiling and those above it, less what is guaranteed to
// those beside it and to those beside queues above it.
func TestWhatAQueueCanComeTo(t *testing.T) {
	var tree quota.Tree
	lone, rich, left, right := tree.Add(), tree.Add(), tree.Add(), tree.Add()
	tree.Set(lone, quota.None, quota.Terms{Guarantee: resource.Vector{16}})
	tree.Set(rich, quota.None, quota.Terms{Guarantee: resource.Vector{8}, Capability: capped(40)})
	tree.Set(left, rich, quota.Terms{Guarantee: resource.Vector{4}})
	tree.Set(right, rich, quota.Terms{Capability: capped(90)})
	for total, want := range map[int64][]int64{64: {56, 40, 40, 36}, 32: {24, 16, 16, 12}, 4: {0, 0, 0, 0}} {
		if diff := cmp.Diff(want, tree.Real(0, total)); diff != "" {
			t.Errorf("of %d: -want +got:\n%s", total, diff)
		}
	}
}
