package drf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-sh/muster/pkg/model"
)

// Annotations of a queue: its place, "root/sci/dev", and the weights along it, "1/2/8".
const (
	pathAnnotation    = "volcano.sh/hierarchy"
	weightsAnnotation = "volcano.sh/hierarchy-weights"
)

// root is where every path begins.
const root = "root"

// whole is the weight 1: weights are kept in thousandths.
const whole = 1000

// maxDepth is how many steps a path may have. It also ends circles of parents.
const maxDepth = 32

// step is one level of a path.
type step struct {
	name   string
	weight int64 // in units of 1/whole; at least 1
}

// pathOf is a queue's place: that of its annotations, and if they say nothing or
// nothing usable, that of its parents and their weights.
func pathOf(w *model.World, q *model.Queue) []step {
	if path, err := annotated(q); err == nil && path != nil {
		return path
	}
	var path []step
	for at := q; at != nil && len(path) < maxDepth; at = w.QueueNamed(at.Parent) {
		path = append(path, step{at.Name, int64(max(at.Weight, 1)) * whole})
	}
	slices.Reverse(path)
	return withRoot(path)
}

// annotated reads the place that a queue's annotations give; nil when they give
// none. The error says which annotation can't be right, and what counts instead.
func annotated(q *model.Queue) ([]step, error) {
	place, hasPlace := q.Annotations[pathAnnotation]
	weights, hasWeights := q.Annotations[weightsAnnotation]
	if !hasPlace && !hasWeights {
		return nil, nil
	}
	const instead = "; until then its place is that of spec.parent, with spec.weight"
	names, numbers := strings.Split(place, "/"), strings.Split(weights, "/")
	if len(names) != len(numbers) {
		return nil, fmt.Errorf("annotations %s %q and %s %q differ in length: give one weight per name%s", pathAnnotation, place, weightsAnnotation, weights, instead)
	}
	if len(names) > maxDepth {
		return nil, fmt.Errorf("annotation %s is %q: give at most %d names%s", pathAnnotation, place, maxDepth, instead)
	}
	path := make([]step, len(names))
	for i, name := range names {
		if name == "" {
			return nil, fmt.Errorf("annotation %s is %q: give names that are not empty, such as root/sci/dev%s", pathAnnotation, place, instead)
		}
		f, err := strconv.ParseFloat(numbers[i], 64)
		if err != nil || !(f >= 1.0/whole && f <= 1e9) {
			return nil, fmt.Errorf("annotation %s is %q: give numbers from 0.001 to 1000000000, such as 1/2/8%s", weightsAnnotation, weights, instead)
		}
		path[i] = step{name, int64(math.Round(f * whole))}
	}
	return withRoot(path), nil
}

// withRoot lets a path begin at the root.
func withRoot(path []step) []step {
	if path[0].name == root {
		return path
	}
	return append([]step{{root, whole}}, path...)
}
