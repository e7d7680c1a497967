package quota_test

import (
	"testing"

	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/resource"
)

// gpu and cpu are the dimensions of the tables below.
const (
	gpu = iota
	cpu
)

func TestAQueueReclaimsUpToItsPartOfWhatOthersHaveBeyondTheirs(t *testing.T) {
	type amounts = resource.Vector
	// team deserves 8 GPUs, of which mine has 6 and its sibling twin 2; other deserves 4
	// and is guaranteed 2; CPUs are in nobody's part.
	type test struct {
		used     map[quota.ID]amounts
		transfer quota.Transfer
		waived   int
		want     bool
	}
	const team, mine, twin, other = quota.ID(0), quota.ID(1), quota.ID(2), quota.ID(3)
	take := func(need, takes amounts) quota.Transfer {
		return quota.Transfer{To: mine, Need: need, From: other, Takes: takes}
	}
	spare := func(n int64) func(quota.ID) amounts {
		return func(quota.ID) amounts { return amounts{n} }
	}
	tests := map[string]test{
		"of one that borrows":                     {map[quota.ID]amounts{other: {8}}, take(amounts{4}, amounts{4}), 0, true},
		"whatever else is asked for":              {map[quota.ID]amounts{other: {8, 9}}, take(amounts{4, 9}, amounts{4, 4}), 0, true},
		"not beyond its part":                     {map[quota.ID]amounts{mine: {4}, other: {8}}, take(amounts{4}, amounts{4}), 0, false},
		"not beyond the part of the one above":    {map[quota.ID]amounts{twin: {6}, other: {8}}, take(amounts{4}, amounts{4}), 0, false},
		"beyond its own, where that is waived":    {map[quota.ID]amounts{mine: {4}, other: {8}}, take(amounts{4}, amounts{4}), 1, true},
		"not beyond the one above, even so":       {map[quota.ID]amounts{mine: {4}, twin: {2}, other: {8}}, take(amounts{4}, amounts{4}), 1, false},
		"not of one that has its part":            {map[quota.ID]amounts{other: {4}}, take(amounts{4}, amounts{4}), 0, false},
		"not of one that has more of another's":   {map[quota.ID]amounts{other: {4, 9}}, take(amounts{2, 9}, amounts{2, 4}), 0, false},
		"more at once than was borrowed":          {map[quota.ID]amounts{other: {5}}, take(amounts{3}, amounts{3}), 0, true},
		"not of what is guaranteed":               {map[quota.ID]amounts{other: {5}}, take(amounts{4}, amounts{4}), 0, false},
		"not what is in nobody's part":            {map[quota.ID]amounts{other: {0, 8}}, take(amounts{0, 4}, amounts{0, 4}), 0, false},
		"not what helps nobody":                   {map[quota.ID]amounts{other: {8, 8}}, take(amounts{4}, amounts{0, 4}), 0, false},
		"of its sibling":                          {map[quota.ID]amounts{twin: {8}}, quota.Transfer{To: mine, Need: amounts{4}, From: twin, Takes: amounts{4}}, 0, true},
		"not of one above it":                     {map[quota.ID]amounts{team: {20}}, quota.Transfer{To: mine, Need: amounts{4}, From: team, Takes: amounts{4}}, 0, false},
		"no gang while others can give of theirs": {map[quota.ID]amounts{other: {8}}, quota.Transfer{To: mine, Need: amounts{4}, From: other, Takes: amounts{4}, Spare: spare(4)}, 0, false},
		"a gang when they can't give enough":      {map[quota.ID]amounts{other: {8}}, quota.Transfer{To: mine, Need: amounts{4}, From: other, Takes: amounts{4}, Spare: spare(3)}, 0, true},
		"what it gave counts as its own":          {map[quota.ID]amounts{mine: {2}, other: {8}}, quota.Transfer{To: mine, Need: amounts{4}, From: other, Takes: amounts{4}, Given: spare(1)}, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var table resource.Table
			table.Dim("gpu")
			table.Dim("cpu")
			var tree quota.Tree
			for range 4 {
				tree.Add()
			}
			deserves := func(n int64) quota.Limit {
				return quota.LimitOf(&table, resource.ListOf(map[string]int64{"gpu": n}))
			}
			tree.Set(team, quota.None, quota.Terms{Deserved: deserves(8)})
			tree.Set(mine, team, quota.Terms{Deserved: deserves(6)})
			tree.Set(twin, team, quota.Terms{Deserved: deserves(2)})
			tree.Set(other, quota.None, quota.Terms{Deserved: deserves(4), Guarantee: amounts{2}})
			for id, used := range tt.used {
				tree.Charge(id, used, 1)
			}
			parts := tree.Parts()
			s := quota.Standing{Tree: &tree, Total: amounts{gpu: 32, cpu: 64}, Part: func(id quota.ID) quota.Limit { return parts[id] }}
			if got := s.MayReclaim(tt.transfer, tt.waived); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestGuaranteesAreKeptAndKnown: team is guaranteed 6 GPUs, of which mine has none of its
// own; other is guaranteed 4.
func TestGuaranteesAreKeptAndKnown(t *testing.T) {
	tree := &quota.Tree{}
	team, mine, other := tree.Add(), tree.Add(), tree.Add()
	terms := func(gpus int64) quota.Terms { return quota.Terms{Guarantee: resource.Vector{gpus}} }
	tree.Set(team, quota.None, terms(6))
	tree.Set(mine, team, quota.Terms{})
	tree.Set(other, quota.None, terms(4))
	tree.Charge(mine, resource.Vector{3, 9}, 1)
	tree.Charge(other, resource.Vector{6, 9}, 1)
	for name, tt := range map[string]struct {
		need, takes       resource.Vector
		keeps, guaranteed bool
	}{
		"what other has beyond its guarantee": {resource.Vector{2}, resource.Vector{2}, true, true},
		"what it is guaranteed":               {resource.Vector{3}, resource.Vector{3}, false, true},
		"what nobody is guaranteed":           {resource.Vector{0, 9}, resource.Vector{0, 9}, true, false},
		"more than team is guaranteed":        {resource.Vector{4}, resource.Vector{2}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			move := quota.Transfer{To: mine, Need: tt.need, From: other, Takes: tt.takes}
			if got := tree.KeepsGuarantees(move); got != tt.keeps {
				t.Errorf("other keeps its guarantee: %v, want %v", got, tt.keeps)
			}
			if got := tree.IsGuaranteed(move); got != tt.guaranteed {
				t.Errorf("mine is guaranteed it: %v, want %v", got, tt.guaranteed)
			}
		})
	}
	if tree.KeepsGuarantees(quota.Transfer{To: mine, From: team}) || tree.IsGuaranteed(quota.Transfer{To: mine, From: team}) {
		t.Error("a queue takes from the one above it")
	}
}
