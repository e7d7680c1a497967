package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// wired is a world of nodes and HyperNodes that brute force can search, with books of its own.
type wired struct {
	engine *engine.Engine
	free   []int64 // GPUs by node
	hypers []wiredHyper
	gangs  []*wiredGang
}

// wiredHyper is a HyperNode, and the nodes that it holds in the end.
type wiredHyper struct {
	tier  int
	nodes []int
	of    []int
	holds []bool // by node
}

type wiredGang struct {
	key   string
	near  *model.Near
	ring  *model.Near // of its sub-groups
	least int
	tasks []*wiredTask
}

type wiredTask struct {
	uid  string
	gpus int64
	ring string
	on   int // -1: waits; -2: over
}

// drawWired draws a world with one queue and tells an engine of it.
func drawWired(t *rapid.T) *wired {
	e := newEngine(t)
	e.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q", Weight: 1}})
	w := &wired{engine: e}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		w.free = append(w.free, rapid.Int64Range(0, 4).Draw(t, "gpus"))
		e.Apply(node(i, w.free[i]))
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "hypers") {
		h := wiredHyper{tier: rapid.IntRange(0, 3).Draw(t, "tier"), holds: make([]bool, len(w.free))}
		h.nodes = rapid.SliceOfNDistinct(rapid.IntRange(0, len(w.free)-1), 0, len(w.free), rapid.ID[int]).Draw(t, "members")
		h.of = rapid.SliceOfN(rapid.IntRange(0, 5), 0, 2).Draw(t, "of") // itself, or none, perhaps
		w.hypers = append(w.hypers, h)
		o := &topologyv1alpha1.HyperNode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("h%d", i)}}
		o.Spec.Tier = h.tier
		add := func(of topologyv1alpha1.MemberType, name string) {
			o.Spec.Members = append(o.Spec.Members, topologyv1alpha1.MemberSpec{
				Type: of, Selector: topologyv1alpha1.MemberSelector{ExactMatch: &topologyv1alpha1.ExactMatch{Name: name}},
			})
		}
		for _, n := range h.nodes {
			add(topologyv1alpha1.MemberTypeNode, fmt.Sprintf("n%d", n))
		}
		for _, of := range h.of {
			add(topologyv1alpha1.MemberTypeHyperNode, fmt.Sprintf("h%d", of))
		}
		e.Apply(engine.ObjectSet{Object: o})
	}
	for range w.hypers { // as deep as they may be nested
		for i := range w.hypers {
			h := &w.hypers[i]
			for _, n := range h.nodes {
				h.holds[n] = true
			}
			for _, of := range h.of {
				if of < len(w.hypers) {
					for n, in := range w.hypers[of].holds {
						h.holds[n] = h.holds[n] || in
					}
				}
			}
		}
	}
	return w
}

func drawNear(t *rapid.T, of string) *model.Near {
	n := &model.Near{Field: of, Hard: rapid.IntRange(0, 3).Draw(t, of+" hard") > 0}
	if rapid.Bool().Draw(t, of+" bounded") {
		n.Tier = new(rapid.IntRange(0, 3).Draw(t, of+" tier"))
	}
	return n
}

// come has a gang come: of equal tasks or not, in rings of two or not.
func (w *wired) come(t *rapid.T, rings bool) *wiredGang {
	g := &wiredGang{key: fmt.Sprintf("g%d", len(w.gangs)), near: drawNear(t, "near")}
	n := rapid.IntRange(1, 4).Draw(t, "tasks")
	equal := rapid.Bool().Draw(t, "equal")
	g.least = rapid.IntRange(1, n).Draw(t, "least")
	spec := model.GangSpec{Key: g.key, UID: g.key, Queue: "q", Min: int32(g.least), Created: start}
	if rings {
		g.ring = drawNear(t, "ring")
		spec.SubGroups = []model.SubGroup{{Name: "ring", By: []string{"ring"}, Size: 2, Near: g.ring}}
		if rapid.Bool().Draw(t, "free") {
			g.near = nil
		}
	}
	spec.Near = g.near
	w.engine.Apply(engine.GangSet{Gang: spec})
	for i := range n {
		task := &wiredTask{uid: fmt.Sprintf("%s/%d", g.key, i), gpus: 1, on: -1, ring: fmt.Sprint(i / 2)}
		if !equal {
			task.gpus = rapid.Int64Range(1, 3).Draw(t, "each")
		}
		g.tasks = append(g.tasks, task)
		w.engine.Apply(engine.TaskSet{Task: model.TaskSpec{
			UID: task.uid, Name: task.uid, Gang: g.key, Ours: true,
			Shape: model.Shape{Key: fmt.Sprint(task.gpus), Requests: gpus(task.gpus)},
			Pod:   &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"ring": task.ring}}},
		}})
	}
	w.gangs = append(w.gangs, g)
	return g
}

// run carries out what the engine decides, and reports whether that was anything.
func (w *wired) run(t *rapid.T, now time.Time) (placed bool) {
	for _, d := range w.engine.Run(now).Decisions {
		b, ok := d.(engine.Bind)
		if !ok {
			continue
		}
		placed = true
		for _, g := range w.gangs {
			for _, task := range g.tasks {
				if task.uid == b.UID {
					_, _ = fmt.Sscanf(b.Node, "n%d", &task.on)
					if w.free[task.on] -= task.gpus; w.free[task.on] < 0 {
						t.Fatalf("%s: %s is over-committed", b.UID, b.Node)
					}
				}
			}
		}
	}
	return placed
}

// within lists the HyperNodes, by index, in which tasks may be that must be near; lowest tier first.
func (w *wired) within(near *model.Near) (all []int) {
	for i, h := range w.hypers {
		if slices.Contains(h.holds, true) && (!near.Hard || near.Tier == nil || h.tier <= *near.Tier) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return w.hypers[a].tier - w.hypers[b].tier })
	return all
}

// together reports whether one HyperNode of those holds all tasks that are placed and chosen.
func (w *wired) together(of []int, tasks []*wiredTask) bool {
	return slices.ContainsFunc(of, func(i int) bool {
		return !slices.ContainsFunc(tasks, func(t *wiredTask) bool { return t.on >= 0 && !w.hypers[i].holds[t.on] })
	})
}

// fits reports whether as many more tasks of a gang find room on those nodes, any of them.
func (w *wired) fits(tasks []*wiredTask, more int, on func(node int) bool) bool {
	if more <= 0 {
		return true
	}
	for i, t := range tasks {
		if t.on != -1 {
			continue
		}
		for n := range w.free {
			if !on(n) || w.free[n] < t.gpus {
				continue
			}
			w.free[n] -= t.gpus
			ok := w.fits(tasks[i+1:], more-1, on)
			w.free[n] += t.gpus
			if ok {
				return true
			}
		}
	}
	return false
}

// could is the lowest tier within which a gang could be given so many more tasks, beside
// those that it has; false when there is none.
func (w *wired) could(g *wiredGang, more int) (int, bool) {
	for _, i := range w.within(g.near) {
		h := w.hypers[i]
		if w.together([]int{i}, g.tasks) && w.fits(g.tasks, more, func(n int) bool { return h.holds[n] }) {
			return h.tier, true
		}
	}
	return 0, !g.near.Hard && w.fits(g.tasks, more, func(int) bool { return true })
}

func (g *wiredGang) placed() (n int) {
	for _, t := range g.tasks {
		if t.on != -1 {
			n++
		}
	}
	return n
}

// sound checks that tasks that must be near are, and that no gang is partly placed.
func (w *wired) sound(t *rapid.T) {
	for _, g := range w.gangs {
		if n := g.placed(); n > 0 && n < g.least {
			t.Fatalf("%s has %d of %d", g.key, n, g.least)
		}
		if g.near != nil && g.near.Hard && g.placed() > 0 && !w.together(w.within(g.near), g.tasks) {
			t.Fatalf("%s is too far apart", g.key)
		}
		for _, first := range g.tasks {
			ring := slices.DeleteFunc(slices.Clone(g.tasks), func(o *wiredTask) bool { return o.ring != first.ring })
			if g.ring != nil && g.ring.Hard && first.on >= 0 && !w.together(w.within(g.ring), ring) {
				t.Fatalf("ring %s of %s is too far apart", first.ring, g.key)
			}
		}
	}
}

// TestGangsRunAsNearAsTheyMustAndCan: a gang that must be near is placed if, and only if, a
// HyperNode of at most its tier has room for what it lacks, and one that should be near if
// there is any room; either within a HyperNode of the lowest tier that does. The brute force
// knows nothing of the search.
func TestGangsRunAsNearAsTheyMustAndCan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWired(t)
		now := start
		for range rapid.IntRange(1, 4).Draw(t, "gangs") {
			g := w.come(t, false)
			tier, could := w.could(g, g.least)
			now = now.Add(time.Minute)
			for w.run(t, now) {
				w.sound(t)
			}
			if (g.placed() >= g.least) != could {
				t.Fatalf("%s has %d of %d, it could be placed: %v", g.key, g.placed(), g.least, could)
			}
			if near := w.within(&model.Near{Hard: true, Tier: &tier}); could && g.placed() == g.least && w.hypersHold(g) && !w.together(near, g.tasks) {
				t.Fatalf("%s is further apart than tier %d, where it could be", g.key, tier)
			}
			w.leave(t)
			now = now.Add(time.Minute)
			for w.run(t, now) {
				w.sound(t)
			}
			for _, g := range w.gangs {
				more := max(g.least-g.placed(), 1)
				if _, could := w.could(g, more); could && g.placed() < len(g.tasks) {
					t.Fatalf("%s has %d of %d and could have %d more", g.key, g.placed(), len(g.tasks), more)
				}
			}
		}
	})
}

// hypersHold reports whether any HyperNode holds all of a gang's tasks.
func (w *wired) hypersHold(g *wiredGang) bool {
	all := &model.Near{}
	return w.together(w.within(all), g.tasks)
}

// leave ends some tasks; their gangs keep what they have.
func (w *wired) leave(t *rapid.T) {
	for _, g := range w.gangs {
		for _, task := range g.tasks {
			if task.on >= 0 && rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
				w.free[task.on] += task.gpus
				spec := model.TaskSpec{
					UID: task.uid, Name: task.uid, Gang: g.key, Ours: true, Node: fmt.Sprintf("n%d", task.on), Ended: model.Succeeded,
					Shape: model.Shape{Key: fmt.Sprint(task.gpus), Requests: gpus(task.gpus)},
				}
				task.on = -2
				w.engine.Apply(engine.TaskSet{Task: spec})
			}
		}
	}
}

// TestRingsRunAsNearAsTheyMust: each sub-group within a HyperNode of at most its own tier,
// and all of them within one of at most their gang's.
func TestRingsRunAsNearAsTheyMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWired(t)
		now := start
		for range rapid.IntRange(1, 4).Draw(t, "gangs") {
			w.come(t, true)
			now = now.Add(time.Minute)
			for w.run(t, now) {
				w.sound(t)
			}
		}
	})
}
