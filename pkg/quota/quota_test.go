package quota_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

func TestExceededNamesTheLowestCeilingThatBreaks(t *testing.T) {
	var table resource.Table
	gpu := table.Dim("gpu")
	limit := func(n int64) quota.Terms {
		return quota.Terms{Capability: quota.LimitOf(&table, resource.ListOf(map[string]int64{"gpu": n}))}
	}
	tests := map[string]struct {
		need int64
		want []quota.Over
	}{
		"within both":             {4, nil},
		"over the child's":        {13, []quota.Over{{Queue: 1, Dim: gpu, Need: 13, Used: 4, Limit: 16}}},
		"over the parent's alone": {7, []quota.Over{{Queue: 0, Dim: gpu, Need: 7, Used: 18, Limit: 24}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var tree quota.Tree
			root, child, sibling := tree.Add(), tree.Add(), tree.Add()
			tree.Set(root, quota.None, limit(24))
			tree.Set(child, root, limit(16))
			tree.Set(sibling, root, quota.Terms{})
			tree.Charge(child, resource.Vector{4}, 1)
			tree.Charge(sibling, resource.Vector{7}, 2)
			if diff := cmp.Diff(tt.want, tree.Exceeded(child, resource.Vector{tt.need}, nil, false)); diff != "" {
				t.Error(diff)
			}
			if got := tree.Fits(child, resource.Vector{tt.need}, nil); got != (tt.want == nil) {
				t.Errorf("Fits = %v beside Exceeded = %v", got, tt.want)
			}
		})
	}
}

func TestPromisesCountOnlyWhereAsked(t *testing.T) {
	var table resource.Table
	var tree quota.Tree
	q := tree.Add()
	tree.Set(q, quota.None, quota.Terms{Capability: quota.LimitOf(&table, resource.ListOf(map[string]int64{"gpu": 8}))})
	tree.Hold(q, resource.Vector{8}, 1)
	if got := tree.Exceeded(q, resource.Vector{1}, nil, false); got != nil {
		t.Errorf("a promise blocked a placement: %v", got)
	}
	if got := tree.Exceeded(q, resource.Vector{1}, nil, true); got == nil {
		t.Error("a promise did not block a further promise")
	}
}

func TestAQueueCanNotBeAboveItself(t *testing.T) {
	var tree quota.Tree
	a, b := tree.Add(), tree.Add()
	if !tree.Set(b, a, quota.Terms{}) {
		t.Fatal("b below a was refused")
	}
	if tree.Set(a, b, quota.Terms{}) || tree.Set(a, a, quota.Terms{}) {
		t.Error("a cycle was accepted")
	}
}

func TestAParentUsesWhatItsChildrenUseWhereverTheyMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree quota.Tree
		n := rapid.IntRange(2, 6).Draw(t, "queues")
		own := make([]int64, n)
		parent := make([]quota.ID, n)
		for i := range n {
			tree.Add()
			parent[i] = quota.None
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			q := quota.ID(rapid.IntRange(0, n-1).Draw(t, "queue"))
			if rapid.Bool().Draw(t, "move") {
				to := quota.ID(rapid.IntRange(-1, n-1).Draw(t, "parent"))
				if tree.Set(q, to, quota.Terms{}) {
					parent[q] = to
				}
				continue
			}
			amount := rapid.Int64Range(-5, 9).Draw(t, "amount")
			own[q] += amount
			tree.Charge(q, resource.Vector{amount}, 1)
		}
		want := make([]int64, n)
		for i := range n {
			for up := quota.ID(i); up != quota.None; up = parent[up] {
				want[up] += own[i]
			}
		}
		for i := range n {
			if got := tree.Used(quota.ID(i)).At(0); got != want[i] {
				t.Fatalf("queue %d uses %d, want %d", i, got, want[i])
			}
		}
	})
}
