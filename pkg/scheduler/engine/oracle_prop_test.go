package engine_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// small is a world that brute force can search, with books of its own.
type small struct {
	nodes  [][2]int64 // free, by node: GPUs and CPUs
	specs  []model.NodeSpec
	queues []smallQueue
	gangs  []smallGang
	groups []string // of nodes; empty: in none
	single bool     // tasks ask for GPUs only
	parted bool     // gangs have sub-groups
	judged bool     // queues name groups of nodes
}

type smallQueue struct {
	parent             int    // -1: the cluster
	guarantee, ceiling int64  // of GPUs; ceiling -1: none
	used               int64  // GPUs of its own gangs
	group              string // of nodes where it must be
}

type smallGang struct {
	queue int
	min   int
	roles [2]int      // minimum by role
	tasks []smallTask // that wait or run
	rings int         // how many rings must have size tasks each
	size  int
}

type smallTask struct {
	role int
	ask  [2]int64
	node int // -1: waits
	ring string
}

// drawSmall draws a world and tells the engine of it.
func drawSmall(t *rapid.T, e *engine.Engine, s *small) *small {
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		size := [2]int64{rapid.Int64Range(0, 6).Draw(t, "gpus"), rapid.Int64Range(0, 8).Draw(t, "cpus")}
		s.nodes = append(s.nodes, size)
		spec := model.NodeSpec{Name: fmt.Sprintf("n%d", i), Allocatable: amounts(size)}
		for _, key := range []string{"a", "b"} { // nobody tolerates them
			if rapid.IntRange(0, 4).Draw(t, "taint") == 0 {
				spec.Taints = append(spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
			}
		}
		s.groups = append(s.groups, s.drawGroup(t))
		if s.groups[i] != "" {
			spec.Labels = map[string]string{"volcano.sh/nodegroup-name": s.groups[i]}
		}
		s.specs = append(s.specs, spec)
		e.Apply(engine.NodeSet{Node: spec})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "queues") {
		q := smallQueue{parent: rapid.IntRange(-1, i-1).Draw(t, "parent"), ceiling: -1}
		q.guarantee = rapid.Int64Range(0, 3).Draw(t, "guarantee")
		if rapid.Bool().Draw(t, "capped") {
			q.ceiling = rapid.Int64Range(q.guarantee, 9).Draw(t, "ceiling")
		}
		q.group = s.drawGroup(t)
		s.queues = append(s.queues, q)
		spec := model.QueueSpec{Name: fmt.Sprintf("q%d", i), Weight: rapid.Int32Range(1, 3).Draw(t, "weight"), Guarantee: gpus(q.guarantee)}
		if q.group != "" {
			spec.Groups.Required = []string{q.group}
		}
		if q.parent >= 0 {
			spec.Parent = fmt.Sprintf("q%d", q.parent)
		}
		if q.ceiling >= 0 {
			spec.Capability = gpus(q.ceiling)
		}
		e.Apply(engine.QueueSet{Queue: spec})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "gangs") {
		s.drawGang(t, e, i)
	}
	return s
}

func (s *small) drawGroup(t *rapid.T) string {
	if !s.judged {
		return ""
	}
	return rapid.SampledFrom([]string{"", "x"}).Draw(t, "group")
}

func (s *small) drawGang(t *rapid.T, e *engine.Engine, i int) {
	g := smallGang{queue: rapid.IntRange(0, len(s.queues)-1).Draw(t, "queue")}
	n := rapid.IntRange(1, 4).Draw(t, "tasks")
	count := [2]int{}
	for range n {
		task := smallTask{role: rapid.IntRange(0, 1).Draw(t, "role"), node: -1}
		task.ask = [2]int64{rapid.Int64Range(0, 4).Draw(t, "gpu"), rapid.Int64Range(0, 3).Draw(t, "cpu")}
		if s.single {
			task.ask = [2]int64{max(task.ask[0], 1), 0}
		}
		if s.parted {
			task.ring = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "ring")
		}
		count[task.role]++
		g.tasks = append(g.tasks, task)
	}
	g.min = rapid.IntRange(0, n).Draw(t, "min")
	spec := model.GangSpec{Key: fmt.Sprintf("g%d", i), UID: fmt.Sprintf("g%d", i), Queue: fmt.Sprintf("q%d", g.queue), Min: int32(g.min), Created: start}
	for role := range g.roles {
		g.roles[role] = rapid.IntRange(0, count[role]).Draw(t, "least")
		spec.RoleMin = append(spec.RoleMin, model.RoleMin{Role: fmt.Sprint(role), Min: int32(g.roles[role])})
	}
	if s.parted {
		g.rings, g.size = rapid.IntRange(0, 2).Draw(t, "rings"), rapid.IntRange(1, 2).Draw(t, "size")
		spec.SubGroups = []model.SubGroup{{Name: "rings", By: []string{"ring"}, Size: int32(g.size), Least: int32(g.rings)}}
	}
	s.gangs = append(s.gangs, g)
	e.Apply(engine.GangSet{Gang: spec})
	for k, task := range g.tasks {
		uid := fmt.Sprintf("g%d/%d", i, k)
		e.Apply(engine.TaskSet{Task: model.TaskSpec{
			UID: uid, Name: uid, Gang: spec.Key, Role: fmt.Sprint(task.role), Ours: true,
			Shape: model.Shape{Key: fmt.Sprint(task.ask), Requests: amounts(task.ask)},
			Pod:   &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"ring": task.ring}}},
		}})
	}
}

func amounts(v [2]int64) resource.List {
	return resource.ListOf(map[string]int64{"gpu": v[0], "cpu": v[1]})
}

// bind notes one decision in the books.
func (s *small) bind(b engine.Bind) {
	var g, k, n int
	_, _ = fmt.Sscanf(b.Name, "g%d/%d", &g, &k)
	_, _ = fmt.Sscanf(b.Node, "n%d", &n)
	s.put(&s.gangs[g], k, n)
}

func (s *small) put(g *smallGang, k, n int) {
	task := &g.tasks[k]
	task.node = n
	for r := range task.ask {
		s.nodes[n][r] -= task.ask[r]
	}
	s.queues[g.queue].used += task.ask[0]
}

func (s *small) unput(g *smallGang, k int) {
	task := &g.tasks[k]
	for r := range task.ask {
		s.nodes[task.node][r] += task.ask[r]
	}
	s.queues[g.queue].used -= task.ask[0]
	task.node = -1
}

// claim is what a queue takes of its parent: what is used in and below it, and
// what is guaranteed to it and to those below it.
func (s *small) claim(q int) (claimed, used int64) {
	inner, used := s.queues[q].used, s.queues[q].used
	for c := range s.queues {
		if s.queues[c].parent == q {
			claim, below := s.claim(c)
			inner, used = inner+claim, used+below
		}
	}
	return max(inner, s.queues[q].guarantee), used
}

// holds reports whether no node is over-full and every queue is within its
// ceiling with what it and those below it use.
func (s *small) holds() error {
	for i, free := range s.nodes {
		if free[0] < 0 || free[1] < 0 {
			return fmt.Errorf("node %d has %v free", i, free)
		}
	}
	for i, q := range s.queues {
		if _, used := s.claim(i); q.ceiling >= 0 && used > q.ceiling {
			return fmt.Errorf("queue %d uses %d of %d", i, used, q.ceiling)
		}
	}
	return nil
}

// total is what the cluster has of GPUs.
func (s *small) total() int64 {
	var sum int64
	for _, free := range s.nodes {
		sum += free[0]
	}
	for _, q := range s.queues {
		sum += q.used
	}
	return sum
}

// keeps reports whether the guarantees of others leave room for ask more GPUs in queue q:
// at every level, either the claims grow within the limit, or they do not grow.
func (s *small) keeps(q int, ask int64) bool {
	if ask == 0 {
		return true
	}
	before := make([]int64, len(s.queues))
	var all int64
	for i := range s.queues {
		before[i], _ = s.claim(i)
		if s.queues[i].parent < 0 {
			all += before[i]
		}
	}
	s.queues[q].used += ask
	defer func() { s.queues[q].used -= ask }()
	for at, grown := q, true; ; at = s.queues[at].parent {
		claim, used := s.claim(at)
		inner := s.inner(at)
		if limit := s.queues[at].ceiling; limit >= 0 && (used > limit || (grown && inner > limit)) {
			return false
		}
		grown = claim > before[at]
		if s.queues[at].parent < 0 {
			kept := all + claim - before[at] - s.usedAll()
			return !grown || kept <= 0 || all+claim-before[at] <= s.total()-ask
		}
	}
}

func (s *small) inner(q int) int64 {
	sum := s.queues[q].used
	for c := range s.queues {
		if s.queues[c].parent == q {
			claim, _ := s.claim(c)
			sum += claim
		}
	}
	return sum
}

func (s *small) usedAll() int64 {
	var sum int64
	for _, q := range s.queues {
		sum += q.used
	}
	return sum
}

func (g *smallGang) whole() bool {
	var all, rings int
	var roles [2]int
	ring := map[string]int{}
	for _, task := range g.tasks {
		if task.node >= 0 {
			all++
			roles[task.role]++
			if ring[task.ring]++; ring[task.ring] == g.size {
				rings++
			}
		}
	}
	return all >= g.min && roles[0] >= g.roles[0] && roles[1] >= g.roles[1] && rings >= g.rings
}

// couldRun searches for a placement of any of the waiting tasks from the k-th on that makes the gang whole.
func (s *small) couldRun(g *smallGang, k int) bool {
	if g.whole() {
		return true
	}
	for ; k < len(g.tasks); k++ {
		if g.tasks[k].node >= 0 {
			continue
		}
		for n := range s.nodes {
			if len(s.specs[n].Taints) > 0 || s.groups[n] != s.queues[g.queue].group || s.nodes[n][0] < g.tasks[k].ask[0] || s.nodes[n][1] < g.tasks[k].ask[1] || !s.keeps(g.queue, g.tasks[k].ask[0]) {
				continue
			}
			s.put(g, k, n)
			found := s.couldRun(g, k+1)
			s.unput(g, k)
			if found {
				return true
			}
		}
	}
	return false
}

func TestAGangIsRefusedOnlyWhenNoArrangementHoldsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &small{parted: rapid.Bool().Draw(t, "parted"), judged: rapid.Bool().Draw(t, "judged")}
		config := conf.Default()
		if s.judged {
			config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: "nodegroup", Args: framework.Args{"strict": false}}})
		}
		e := withGuest(t, config, nil)
		drawSmall(t, e, s)
		for _, d := range e.Run(start).Decisions {
			if b, ok := d.(engine.Bind); ok {
				s.bind(b)
			}
		}
		if err := s.holds(); err != nil {
			t.Fatal(err)
		}
		if err := e.World.Check(); err != nil {
			t.Fatal(err)
		}
		for i := range s.gangs {
			g := &s.gangs[i]
			placed := slices.ContainsFunc(g.tasks, func(task smallTask) bool { return task.node >= 0 })
			if placed && !g.whole() {
				t.Fatalf("gang %d is placed in part: %+v", i, g)
			}
			why, waits := e.Explain(fmt.Sprintf("g%d", i))
			if g.whole() {
				continue
			}
			if !waits {
				t.Fatalf("gang %d is not whole and does not wait", i)
			}
			if s.couldRun(g, 0) {
				t.Fatalf("gang %d was refused, %s, though it could run: %+v", i, why, s)
			}
		}
	})
}

// deserved reads what the engine says that a queue deserves, and wants, of GPUs.
func deserved(e *engine.Engine, queue int) (part, wanted int64) {
	for _, sum := range e.Queues()[queue].Sums {
		if sum.Resource == "gpu" {
			return sum.Deserved, sum.Wanted
		}
	}
	return 0, 0
}

func TestNobodyBorrowsBeforeOthersHaveTheirPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := newEngine(t)
		s := drawSmall(t, e, &small{single: true})
		for i := range s.queues { // one level, so that a part is not a part of a part
			if s.queues[i].parent >= 0 {
				t.Skip("a tree")
			}
		}
		report := e.Run(start)
		parts := make([]int64, len(s.queues))
		for i := range parts {
			parts[i], _ = deserved(e, i)
		}
		last := -1
		for _, d := range report.Decisions {
			b, ok := d.(engine.Bind)
			if !ok {
				continue
			}
			var gi, k int
			_, _ = fmt.Sscanf(b.Name, "g%d/%d", &gi, &k)
			g := &s.gangs[gi]
			if begins := gi != last || g.whole(); begins && g.tasks[k].ask[0] > 0 && s.queues[g.queue].used >= parts[g.queue] {
				s.nobodyIsPassedOver(t, parts, g.queue)
			}
			s.bind(b)
			if last = gi; g.whole() {
				last = -1
			}
		}
	})
}

// nobodyIsPassedOver fails when a queue below its part has a gang that could run.
func (s *small) nobodyIsPassedOver(t *rapid.T, parts []int64, served int) {
	for i := range s.gangs {
		g := &s.gangs[i]
		if g.queue == served || s.queues[g.queue].used >= parts[g.queue] || g.whole() {
			continue
		}
		if s.couldRun(g, 0) {
			t.Fatalf("queue %d borrows while gang %d of queue %d, which has %d of %d, could run", served, i, g.queue, s.queues[g.queue].used, parts[g.queue])
		}
	}
}
