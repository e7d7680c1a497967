package framework

import (
	"fmt"
	"math"

	"github.com/muster-sh/muster/pkg/resource"
)

// Point is one point of a score. Scores of all plugins are added up as whole
// numbers of 1/Point of a point, so that nodes of nearly equal merit still differ:
// a plugin gives a node 0 to MaxScore points, each Point, times its own weight.
const Point = 10_000

// FullScore is MaxScore points: the best score a plugin gives before its own weight.
const FullScore = MaxScore * Point

// Share is part/all of FullScore: 0 when part is 0 or less, FullScore when it is
// all or more. It is exact to 1/Point of a point, whatever the sizes.
func Share(part, all int64) int64 {
	switch {
	case part <= 0:
		return 0
	case part >= all:
		return FullScore
	case part <= math.MaxInt64/FullScore:
		return part * FullScore / all
	}
	return resource.Share{Part: part, Whole: all}.Of(FullScore)
}

// MaxWeight is the largest weight that an argument may have: a score times two of
// them, added up over all plugins, stays far from the ends of the number range.
const MaxWeight = 10_000

// Weight reads a whole number from 0 to MaxWeight; fallback when it is not given.
func (r *Reader) Weight(key string, fallback int64) int64 {
	w := r.Int(key, fallback, 0)
	if w > MaxWeight {
		r.Wrong(key, fmt.Sprintf("give a whole number from 0 to %d", MaxWeight))
		return fallback
	}
	return w
}
