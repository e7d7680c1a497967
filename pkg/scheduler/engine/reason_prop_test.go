package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// TestWhatAReasonAsksForIsEnough makes the one change that an explanation asks for,
// and no other: the gang is then placed. Where an explanation has several causes,
// what each of them asks for is done, once, and then all is tried once. A change is:
//
//   - a ceiling that is named is raised by what is named as short of it;
//   - for guarantees that are kept in the cluster, so much of that resource is added;
//   - for tasks without room, so many times what one asks for, as named, is added to
//     what is free on one node that they may use, or comes as a node of just that size;
//   - or the taints that are named are taken off, where the explanation says that
//     there is room for so many behind them.
//
// The worlds have nodes with taints and pods of others, trees of queues with ceilings and guarantees, and
// gangs of unequal tasks with roles. Nobody else may take what is granted: other
// gangs that wait are taken away before. Not covered are plugins that judge tasks
// (affinity, volumes, devices), sub-groups, selectors, whose remedy is the gang's to
// change, gangs that are yet to be told to go ahead, and what waits beyond a minimum.
// That a smaller change would not do is not claimed either.
func TestWhatAReasonAsksForIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEngine(t)
		s := drawSmall(t, e, &small{})
		for i, free := range s.nodes { // what others run there
			uid := fmt.Sprintf("x%d", i)
			used := amounts([2]int64{rapid.Int64Range(0, free[0]).Draw(t, "used"), rapid.Int64Range(0, free[1]).Draw(t, "used")})
			e.Apply(engine.TaskSet{Task: model.TaskSpec{UID: uid, Name: uid, Node: s.specs[i].Name, Shape: model.Shape{Key: uid, Requests: used}}})
		}
		e.Run(start)
		i := rapid.IntRange(0, len(s.gangs)-1).Draw(t, "gang")
		for other := range s.gangs {
			for _, task := range slices.Clone(e.World.GangOf(fmt.Sprintf("g%d", other)).Tasks) {
				if other != i && task.Bucket == model.Waiting {
					e.Apply(engine.TaskGone{UID: task.UID})
				}
			}
		}
		e.Run(start.Add(time.Minute))
		key := fmt.Sprintf("g%d", i)
		why, waits := e.Explain(key)
		if !waits || e.World.GangOf(key).Whole() {
			return
		}
		for _, cause := range append([]reason.Reason{why}, why.Also...) {
			grant(t, e, s, cause)
		}
		e.Run(start.Add(2 * time.Minute))
		if !e.World.GangOf(key).Whole() {
			after, _ := e.Explain(key)
			t.Fatalf("%s waited: %s\nthat was granted, and it still waits: %s", key, why, after)
		}
	})
}

// grant makes the change that one cause asks for.
func grant(t *rapid.T, e *engine.Engine, s *small, why reason.Reason) {
	switch why.Code {
	case reason.QueueCapability, reason.QueueGuarantee:
		raise(t, e, s, why)
	case reason.NotEnoughNodes, reason.NeverFits:
		if why.Shut >= why.Need-why.Room && rapid.Bool().Draw(t, "lift") {
			s.lift(e, why)
			return
		}
		s.add(t, e, times(t, why.Each, why.Need-why.Room))
	default:
		t.Fatalf("unexpected reason %s: %s", why.Code, why)
	}
}

// raise lifts the ceilings that a reason names by what is short; what guarantees
// keep of the cluster is mended by so much more of it.
func raise(t *rapid.T, e *engine.Engine, s *small, why reason.Reason) {
	for _, short := range why.Short {
		if why.Object == "" {
			s.add(t, e, times(t, short.Resource+" "+short.Short, 1))
			continue
		}
		spec := e.World.QueueNamed(why.Object).QueueSpec
		limit, _ := spec.Capability.Get(short.Resource)
		more, _ := times(t, short.Resource+" "+short.Short, 1).Get(short.Resource)
		spec.Capability = resource.ListOf(map[string]int64{short.Resource: limit + more})
		e.Apply(engine.QueueSet{Queue: spec})
	}
}

// times reads amounts as reasons write them, such as "cpu 2m, gpu 1", so many times.
func times(t *rapid.T, each string, n int64) resource.List {
	sums := map[string]int64{}
	for part := range strings.SplitSeq(each, ", ") {
		var name string
		var amount int64
		if each == "" {
			break
		}
		if _, err := fmt.Sscanf(strings.TrimSuffix(part, "m"), "%s %d", &name, &amount); err != nil {
			t.Fatalf("%q: %v", each, err)
		}
		sums[name] = amount * n
	}
	return resource.ListOf(sums)
}

// add gives amounts to one node without taints, or to a new one.
func (s *small) add(t *rapid.T, e *engine.Engine, more resource.List) {
	var usable []int
	for i := range s.specs {
		if len(s.specs[i].Taints) == 0 {
			usable = append(usable, i)
		}
	}
	i := rapid.IntRange(0, len(usable)).Draw(t, "node")
	if i == len(usable) {
		s.specs = append(s.specs, model.NodeSpec{Name: fmt.Sprintf("n%d", len(s.specs))})
		usable = append(usable, len(s.specs)-1)
	}
	spec := &s.specs[usable[i]]
	sums := map[string]int64{}
	for _, a := range slices.Concat(spec.Allocatable, more) {
		sums[a.Name] += a.Value
	}
	spec.Allocatable = resource.ListOf(sums)
	e.Apply(engine.NodeSet{Node: *spec})
}

// lift takes off the taints that a reason names, and none besides.
func (s *small) lift(e *engine.Engine, why reason.Reason) {
	named := func(taint corev1.Taint) bool {
		return slices.ContainsFunc(why.Nodes, func(n reason.Tally) bool {
			return strings.Contains(n.Cause, "untolerated taint "+taint.ToString())
		})
	}
	for i := range s.specs {
		s.specs[i].Taints = slices.DeleteFunc(slices.Clone(s.specs[i].Taints), named)
		e.Apply(engine.NodeSet{Node: s.specs[i]})
	}
}
