package resource

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Share is a part of a whole, to be compared with parts of other wholes without
// rounding. Something of a whole that is nothing counts as all of it; a part
// below 0 counts as none.
type Share struct{ Part, Whole int64 }

// lowest brings a share to 0 <= Part and 1 <= Whole.
func (s Share) lowest() (part, whole uint64) {
	switch {
	case s.Part <= 0:
		return 0, 1
	case s.Whole <= 0:
		return 1, 1
	default:
		return uint64(s.Part), uint64(s.Whole)
	}
}

// Compare returns a negative number when s is the smaller share, 0 when both are
// equal, a positive number when s is the greater.
func (s Share) Compare(o Share) int {
	a, b := s.lowest()
	c, d := o.lowest()
	leftHigh, leftLow := bits.Mul64(a, d)
	rightHigh, rightLow := bits.Mul64(c, b)
	return cmp.Or(cmp.Compare(leftHigh, rightHigh), cmp.Compare(leftLow, rightLow))
}

// Of returns the share of n, rounded down: Part/Whole times n. An n below 0
// counts as 0; what is beyond 64 bits is held at their end.
func (s Share) Of(n int64) int64 {
	part, whole := s.lowest()
	return mulDiv(part, uint64(max(n, 0)), whole)
}

// mulDiv returns a*b/c, rounded down and held at the end of the int64 range. C must not be 0.
func mulDiv(a, b, c uint64) int64 {
	high, low := bits.Mul64(a, b)
	if high >= c {
		return math.MaxInt64
	}
	q, _ := bits.Div64(high, low, c)
	return int64(min(q, math.MaxInt64))
}

// Dominant returns the greatest share that v has of total in any dimension but
// those in without.
func (v Vector) Dominant(total Vector, without ...int) Share {
	most := Share{Whole: 1}
	for d, n := range v {
		if s := (Share{n, total.At(d)}); !slices.Contains(without, d) && s.Compare(most) > 0 {
			most = s
		}
	}
	return most
}
