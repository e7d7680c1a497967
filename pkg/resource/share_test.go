package resource_test

import (
	"cmp"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/resource"
)

func TestDominantIsTheGreatestShare(t *testing.T) {
	total := resource.Vector{100_000, 32, 0, 110}
	tests := map[string]struct {
		used resource.Vector
		want resource.Share
	}{
		"a quarter of the GPUs is more than a fifth of the cores": {resource.Vector{20_000, 8}, resource.Share{Part: 8, Whole: 32}},
		"a fifth of the cores":                  {resource.Vector{20_000}, resource.Share{Part: 20_000, Whole: 100_000}},
		"nothing":                               {nil, resource.Share{Whole: 1}},
		"something of what there is nothing of": {resource.Vector{20_000, 8, 1}, resource.Share{Part: 1, Whole: 0}},
		"a dimension that is left out":          {resource.Vector{0, 0, 0, 110}, resource.Share{Whole: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.used.Dominant(total, 3); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func rational(s resource.Share) *big.Rat {
	switch {
	case s.Part <= 0:
		return new(big.Rat)
	case s.Whole <= 0:
		return big.NewRat(1, 1)
	default:
		return big.NewRat(s.Part, s.Whole)
	}
}

func TestSharesCompareAsRationalNumbersDo(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 5), rapid.Int64Range(math.MaxInt64-5, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		a := resource.Share{Part: number.Draw(t, "a"), Whole: number.Draw(t, "of A")}
		b := resource.Share{Part: number.Draw(t, "b"), Whole: number.Draw(t, "of B")}
		if got, want := a.Compare(b), rational(a).Cmp(rational(b)); cmp.Compare(got, 0) != want {
			t.Fatalf("%v against %v: %d, want %d", a, b, got, want)
		}
		if got := b.Compare(a); cmp.Compare(got, 0) != -cmp.Compare(a.Compare(b), 0) {
			t.Fatalf("%v against %v differs by the side", a, b)
		}
	})
}

func TestAShareOfANumberIsExactAndRoundedDown(t *testing.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 20_000))
	rapid.Check(t, func(t *rapid.T) {
		s := resource.Share{Part: number.Draw(t, "part"), Whole: number.Draw(t, "whole")}
		n := number.Draw(t, "n")
		exact := new(big.Rat).Mul(rational(s), new(big.Rat).SetInt64(max(n, 0)))
		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := s.Of(n); got != want.Int64() {
			t.Fatalf("%v of %d is %d, want %d", s, n, got, want.Int64())
		}
	})
}
