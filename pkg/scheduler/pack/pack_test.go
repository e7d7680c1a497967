package pack_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/pack"
)

func anywhere(int) bool { return true }

func always(resource.Vector) bool { return true }

func TestWhatGreedMissesIsFound(t *testing.T) {
	tests := map[string]struct {
		problem pack.Problem
		want    bool
	}{
		"3+3 and 2+2+2 in two bins of 6": {pack.Problem{
			Items: []pack.Item{{Req: resource.Vector{3}, Most: 2, Parts: []int{0}, Fits: anywhere}, {Req: resource.Vector{2}, Most: 3, Parts: []int{0}, Fits: anywhere}},
			Bins:  []resource.Vector{{6}, {6}}, Least: []int64{5}, Need: 5,
		}, true},
		"3+3 and 2+2+2 in bins of 5 and 7": {pack.Problem{
			Items: []pack.Item{{Req: resource.Vector{3}, Most: 2, Parts: []int{0}, Fits: anywhere}, {Req: resource.Vector{2}, Most: 3, Parts: []int{0}, Fits: anywhere}},
			Bins:  []resource.Vector{{5}, {7}}, Least: []int64{5}, Need: 5,
		}, true},
		"any two of 8, 4 and 4 in a bin of 8": {pack.Problem{
			Items: []pack.Item{{Req: resource.Vector{8}, Most: 1, Fits: anywhere}, {Req: resource.Vector{4}, Most: 2, Fits: anywhere}},
			Bins:  []resource.Vector{{8}}, Least: []int64{0}, Need: 2,
		}, true},
		"too much": {pack.Problem{
			Items: []pack.Item{{Req: resource.Vector{4}, Most: 3, Parts: []int{0}, Fits: anywhere}},
			Bins:  []resource.Vector{{8}, {3}}, Least: []int64{3}, Need: 3,
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.problem.Allows, tt.problem.Budget = always, 1000
			if _, got := tt.problem.Solve(); got != tt.want {
				t.Errorf("found: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheSearchGivesUp(t *testing.T) {
	p := pack.Problem{Least: []int64{0}, Need: 41, Allows: always, Budget: 100}
	for size := range int64(8) {
		p.Items = append(p.Items, pack.Item{Req: resource.Vector{size + 3}, Most: 5, Fits: anywhere})
	}
	for range 30 {
		p.Bins = append(p.Bins, resource.Vector{11})
	}
	if _, found := p.Solve(); found {
		t.Error("found 41 of 40 tasks")
	}
}

// brute tries every assignment of single tasks to bins or to nothing.
func brute(p *pack.Problem, tasks []int, bins []resource.Vector, placed []int64, total int64) bool {
	if len(tasks) == 0 {
		for part, least := range p.Least {
			if placed[part] < least {
				return false
			}
		}
		return total >= p.Need
	}
	it := p.Items[tasks[0]]
	if brute(p, tasks[1:], bins, placed, total) {
		return true
	}
	for b := range bins {
		if it.Fits(b) && bins[b].Times(it.Req) > 0 {
			bins[b].Add(it.Req, -1)
			count(placed, it.Parts, 1)
			found := brute(p, tasks[1:], bins, placed, total+1)
			count(placed, it.Parts, -1)
			bins[b].Add(it.Req, 1)
			if found {
				return true
			}
		}
	}
	return false
}

func count(placed []int64, parts []int, n int64) {
	for _, part := range parts {
		placed[part] += n
	}
}

func TestTheSearchAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pack.Problem{Least: make([]int64, 2), Allows: always, Budget: 1 << 20}
		var tasks []int
		for i := range rapid.IntRange(1, 3).Draw(t, "items") {
			mask := rapid.IntRange(0, 7).Draw(t, "mask")
			it := pack.Item{
				Req:  resource.Vector{rapid.Int64Range(0, 4).Draw(t, "a"), rapid.Int64Range(0, 3).Draw(t, "b")},
				Most: rapid.Int64Range(0, 3).Draw(t, "most"), Parts: rapid.SampledFrom([][]int{nil, {0}, {1}, {0, 1}}).Draw(t, "parts"),
				Fits: func(b int) bool { return mask&(1<<b) != 0 },
			}
			p.Items = append(p.Items, it)
			for range it.Most {
				tasks = append(tasks, i)
			}
		}
		var bins []resource.Vector
		for range rapid.IntRange(1, 3).Draw(t, "bins") {
			v := resource.Vector{rapid.Int64Range(0, 8).Draw(t, "a"), rapid.Int64Range(0, 6).Draw(t, "b")}
			p.Bins = append(p.Bins, append(resource.Vector{}, v...))
			bins = append(bins, v)
		}
		p.Least[0], p.Least[1] = rapid.Int64Range(0, 3).Draw(t, "least"), rapid.Int64Range(0, 2).Draw(t, "least")
		p.Need = rapid.Int64Range(0, 6).Draw(t, "need")
		want := brute(&p, tasks, bins, make([]int64, 2), 0)
		counts, got := p.Solve()
		if got != want {
			t.Fatalf("found: %v, brute force: %v", got, want)
		}
		if !got {
			return
		}
		holds(t, &p, counts, bins)
	})
}

// holds checks that an arrangement keeps to the bins, which it fills, and has no task too many.
func holds(t *rapid.T, p *pack.Problem, counts [][]int64, bins []resource.Vector) {
	for i, it := range p.Items {
		for b, n := range counts[i] {
			if n > 0 && !it.Fits(b) {
				t.Fatalf("item %d in bin %d", i, b)
			}
			bins[b].Add(it.Req, -n)
		}
	}
	for b := range bins {
		if bins[b].At(0) < 0 || bins[b].At(1) < 0 {
			t.Fatalf("bin %d is over-full: %v", b, bins[b])
		}
		if bins[b].At(0)+0 > p.Bins[b].At(0) {
			t.Fatalf("bin %d was not given back", b)
		}
	}
	nothingToSpare(t, p, counts)
}

// nothingToSpare checks that every task of an arrangement is needed.
func nothingToSpare(t *rapid.T, p *pack.Problem, counts [][]int64) {
	var total int64
	placed := make([]int64, len(p.Least))
	for i, it := range p.Items {
		for _, n := range counts[i] {
			total += n
			count(placed, it.Parts, n)
		}
	}
	for i, it := range p.Items {
		for b, n := range counts[i] {
			needed := slices.ContainsFunc(it.Parts, func(part int) bool { return placed[part] == p.Least[part] })
			if n > 0 && total > p.Need && !needed {
				t.Fatalf("item %d in bin %d is more than what is needed: %v", i, b, counts)
			}
		}
	}
}
