package model

import (
	"iter"
	"maps"
	"slices"
)

// NodeFacts tells each node that is there, by ID.
func (w *World) NodeFacts() []NodeSpec {
	var specs []NodeSpec
	for _, n := range w.nodes {
		if n.Known {
			specs = append(specs, NodeSpec{
				Name: n.Name, Labels: n.Labels, Taints: n.Taints, Unschedulable: n.Unschedulable,
				Allocatable: w.Resources.List(w.ownOf(n)), Object: n.Object,
			})
		}
	}
	return specs
}

// Gangs yields all gangs in order of arrival.
func (w *World) Gangs() iter.Seq[*Gang] {
	return func(yield func(*Gang) bool) {
		for _, g := range w.arrived {
			if g != nil && !yield(g) {
				return
			}
		}
	}
}

// GangFacts tells each gang that is there, in order of arrival.
func (w *World) GangFacts() []GangSpec {
	var specs []GangSpec
	for g := range w.Gangs() {
		if g.Known {
			specs = append(specs, g.GangSpec)
		}
	}
	return specs
}

// TaskFacts tells each task, in order of arrival; one that is placed or told to
// go, and not known to be, is told as if it were.
func (w *World) TaskFacts() []TaskSpec {
	tasks := slices.SortedFunc(maps.Values(w.tasks), func(a, b *Task) int { return int(a.Seq) - int(b.Seq) })
	specs := make([]TaskSpec, len(tasks))
	for i, t := range tasks {
		specs[i] = t.TaskSpec
		if t.Bucket == Assumed {
			specs[i].Node = t.On.Name
		}
		specs[i].Deleting = t.Deleting || t.Leaving
	}
	return specs
}
