package framework_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

func TestAShareIsExactWhateverTheSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.Int64Range(1, math.MaxInt64).Draw(t, "all")
		part := rapid.Int64Range(math.MinInt64, math.MaxInt64).Draw(t, "part")
		held := new(big.Int).SetInt64(min(max(part, 0), all))
		want := held.Mul(held, big.NewInt(framework.FullScore)).Div(held, big.NewInt(all)).Int64()
		if got := framework.Share(part, all); got != want {
			t.Fatalf("share %d, want %d", got, want)
		}
	})
}

func TestAWeightIsWithinItsBounds(t *testing.T) {
	tests := map[string]struct {
		args framework.Args
		want int64
		ok   bool
	}{
		"not given":     {nil, 3, true},
		"none":          {framework.Args{"w": 0}, 0, true},
		"the largest":   {framework.Args{"w": "10000"}, 10_000, true},
		"too large":     {framework.Args{"w": 10_001}, 3, false},
		"below none":    {framework.Args{"w": -1}, 3, false},
		"not a number":  {framework.Args{"w": "heavy"}, 3, false},
		"not even that": {framework.Args{"w": map[string]any{}}, 3, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := tt.args.Read()
			if got := r.Weight("w", 3); got != tt.want || (r.Err() == nil) != tt.ok {
				t.Errorf("weight %d, fault %v, want %d and ok %v", got, r.Err(), tt.want, tt.ok)
			}
		})
	}
}
