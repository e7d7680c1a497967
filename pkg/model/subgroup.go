package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Part is one sub-group of a gang: tasks that a policy's selector matches and
// whose labels agree.
type Part struct {
	Policy int    // index into GangSpec.SubGroups
	Name   string // the values of the labels it is divided by, joined; empty when there are none
	Tasks  []*Task
	Held   int32 // tasks that have a node or did their work
	Alive  int32 // tasks that could still count
	// Confirmed is of Held those that the API server knows to have a node, or that did their work.
	Confirmed int32
}

// Parts divides a gang's tasks into sub-groups, in order of policy and of first
// arrival. A task belongs to the first policy that matches it, and to no part
// when none does.
func (g *Gang) Parts() []Part {
	if len(g.SubGroups) == 0 {
		return nil
	}
	type place struct {
		policy int
		name   string
	}
	var parts []Part
	at := map[place]int{}
	for _, t := range g.Tasks {
		if t.Bucket == Over && t.Ended == Failed || t.Bucket == Releasing || t.Bucket == Evicted {
			continue
		}
		in := place{policy: g.policyOf(t)}
		if in.policy < 0 {
			continue
		}
		in.name = t.values(g.SubGroups[in.policy].By)
		i, known := at[in]
		if !known {
			i = len(parts)
			at[in] = i
			parts = append(parts, Part{Policy: in.policy, Name: in.name})
		}
		p := &parts[i]
		p.Tasks = append(p.Tasks, t)
		p.Alive++
		if t.Placed() || t.Bucket == Over {
			p.Held++
			if t.Bucket != Assumed {
				p.Confirmed++
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(a.Policy, b.Policy) })
	return parts
}

// NearOf returns what a task's sub-group says of how near its tasks must or should be, and
// which sub-group that is: it has the same name for all its tasks. Nil when none says so.
func (g *Gang) NearOf(t *Task) (near *Near, part string) {
	if !slices.ContainsFunc(g.SubGroups, func(s SubGroup) bool { return s.Near != nil }) {
		return nil, ""
	}
	policy := g.policyOf(t)
	if policy < 0 || g.SubGroups[policy].Near == nil {
		return nil, ""
	}
	return g.SubGroups[policy].Near, strconv.Itoa(policy) + "/" + t.values(g.SubGroups[policy].By)
}

// policyOf returns which sub-group policy t falls under, -1 for none.
func (g *Gang) policyOf(t *Task) int {
	for i, selects := range g.selectors {
		if selects.Matches(t.labels()) {
			return i
		}
	}
	return -1
}

// parted reports whether enough sub-groups of each policy have all their tasks, by
// how many tasks of one count.
func (g *Gang) parted(count func(Part) int32) bool {
	if len(g.SubGroups) == 0 {
		return true
	}
	complete := make([]int32, len(g.SubGroups))
	for _, p := range g.Parts() {
		if count(p) >= g.SubGroups[p.Policy].Size {
			complete[p.Policy]++
		}
	}
	for i, s := range g.SubGroups {
		if complete[i] < s.Least {
			return false
		}
	}
	return true
}

// selectorsOf reads the selectors of sub-groups. One that can't be read matches
// nothing; the gang carries a Problem that says so.
func selectorsOf(groups []SubGroup) []labels.Selector {
	var selectors []labels.Selector
	for _, s := range groups {
		selector := labels.Everything()
		if s.Selector != nil {
			parsed, err := metav1.LabelSelectorAsSelector(s.Selector)
			if err != nil {
				parsed = labels.Nothing()
			}
			selector = parsed
		}
		selectors = append(selectors, selector)
	}
	return selectors
}

func (t *Task) labels() labels.Set {
	if t.Pod == nil {
		return nil
	}
	return t.Pod.Labels
}

// values joins the values of some of the task's labels.
func (t *Task) values(keys []string) string {
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = t.labels()[key]
	}
	return strings.Join(values, "/")
}
