package quota_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

func TestFillDividesByWeight(t *testing.T) {
	all := func(weights ...int64) []quota.Part {
		var parts []quota.Part
		for _, w := range weights {
			parts = append(parts, quota.Part{Weight: w, Most: 1 << 40})
		}
		return parts
	}
	tests := map[string]struct {
		total int64
		parts []quota.Part
		want  []int64
	}{
		"64 GPUs by 3:2:1, in whole ones":           {64, all(3, 2, 1), []int64{32, 21, 11}},
		"the same in thousandths: 32, 21⅓ and 10⅔":  {64000, all(3, 2, 1), []int64{32000, 21333, 10667}},
		"what one does not want goes to the others": {64, []quota.Part{{3, 0, 12}, {2, 0, 99}, {1, 0, 99}}, []int64{12, 35, 17}},
		"nobody gets more than it wants":            {64, []quota.Part{{1, 0, 3}, {1, 0, 5}}, []int64{3, 5}},
		"a guarantee stands above the weight":       {12, []quota.Part{{1, 8, 99}, {1, 0, 99}, {1, 0, 99}}, []int64{8, 2, 2}},
		"a guarantee stands without any wish":       {10, []quota.Part{{1, 4, 0}, {1, 0, 99}}, []int64{4, 6}},
		"guarantees beyond what there is":           {4, []quota.Part{{1, 4, 9}, {1, 4, 9}}, []int64{4, 4}},
		"no weight counts as one":                   {4, []quota.Part{{0, 0, 9}, {1, 0, 9}}, []int64{2, 2}},
		"nothing":                                   {0, all(1, 2), []int64{0, 0}},
		"nobody":                                    {8, nil, []int64{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, quota.Fill(tt.total, tt.parts)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFillIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "parts")
		parts := make([]quota.Part, n)
		var least, most int64
		for i := range parts {
			parts[i] = quota.Part{
				Weight: rapid.Int64Range(1, 9).Draw(t, "weight"),
				Least:  rapid.Int64Range(0, 5).Draw(t, "least"),
				Most:   rapid.Int64Range(0, 50).Draw(t, "most"),
			}
			least += parts[i].Least
			most += max(parts[i].Most, parts[i].Least)
		}
		total := rapid.Int64Range(0, 200).Draw(t, "total")
		got := quota.Fill(total, parts)
		var sum int64
		for i, p := range parts {
			sum += got[i]
			if got[i] < p.Least || got[i] > max(p.Most, p.Least) {
				t.Fatalf("part %d got %d of %+v", i, got[i], p)
			}
		}
		if want := max(least, min(total, most)); sum != want {
			t.Fatalf("%v sums to %d, want %d", got, sum, want)
		}
		// Who has more per weight than another by a whole unit has it by guarantee, or the other wants no more.
		for i, p := range parts {
			for j, q := range parts {
				if (got[i]-1)*q.Weight > (got[j]+1)*p.Weight && got[i] > p.Least && got[j] < q.Most {
					t.Fatalf("%v: part %d has too much beside part %d", got, i, j)
				}
			}
		}
	})
}

func TestDivideGoesFromTheTopDown(t *testing.T) {
	var tree quota.Tree
	a, b, a1, a2 := tree.Add(), tree.Add(), tree.Add(), tree.Add()
	tree.Set(a, quota.None, quota.Terms{Weight: 1})
	tree.Set(b, quota.None, quota.Terms{Weight: 1})
	tree.Set(a1, a, quota.Terms{Weight: 3})
	tree.Set(a2, a, quota.Terms{Weight: 1, Capability: capped(2)})
	tree.Want(a1, resource.Vector{100}, 1)
	tree.Want(a2, resource.Vector{100}, 1)
	tree.Want(b, resource.Vector{100}, 1)
	got := tree.Divide(resource.Vector{24}, nil)
	if diff := cmp.Diff([]resource.Vector{{12}, {12}, {10}, {2}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSharesOfTheWorkedExample(t *testing.T) {
	shares := []quota.Share{{30, 32}, {10, 21}, {5, 11}}
	want := []float64{0.9375, 10.0 / 21, 5.0 / 11}
	for i, s := range shares {
		if s.Float() != want[i] {
			t.Errorf("share %v is %v, want %v", s, s.Float(), want[i])
		}
	}
	if shares[2].Cmp(shares[1]) >= 0 || shares[1].Cmp(shares[0]) >= 0 {
		t.Error("C does not go before B, or B not before A")
	}
}

func TestSharesAreATotalOrder(t *testing.T) {
	share := rapid.Custom(func(t *rapid.T) quota.Share {
		return quota.Share{Used: rapid.Int64Range(0, 5).Draw(t, "used"), Part: rapid.Int64Range(0, 4).Draw(t, "part")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := share.Draw(t, "a"), share.Draw(t, "b"), share.Draw(t, "c")
		if a.Cmp(b) != -b.Cmp(a) {
			t.Fatalf("%v and %v: %d and %d", a, b, a.Cmp(b), b.Cmp(a))
		}
		if a.Cmp(b) <= 0 && b.Cmp(c) <= 0 && a.Cmp(c) > 0 {
			t.Fatalf("%v <= %v <= %v, but not %v <= %v", a, b, c, a, c)
		}
	})
}
