package rescheduling

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// load is how busy a node is, and would be.
type load struct {
	node *model.Node
	used levels
	free resource.Vector // of an idle one: what nobody asked for yet
}

// over is the first thing of which a node uses more than some levels; false when there is none.
func (l *load) over(most levels) (int, bool) {
	for i := range l.used {
		if l.used[i] > most[i] {
			return i, true
		}
	}
	return 0, false
}

// move adds a task to what a node uses, or takes it away: by what it asks for.
func (p *plugin) move(l *load, t *model.Task, times float64) {
	for i, d := range p.dims {
		if has := l.node.Allocatable.At(d); has > 0 {
			l.used[i] += times * 100 * float64(t.Class.Req.At(d)) / float64(has)
		}
	}
}

// loads sorts the nodes into busy ones, the busiest first, and idle ones, the idlest first.
func (p *plugin) loads(w *model.World) (busy, idle []*load) {
	for _, u := range p.heard.Nodes {
		n := w.NodeNamed(u.Name)
		if n == nil || !n.Known {
			continue
		}
		l := &load{node: n, used: levels{float64(u.CPU), float64(u.Memory)}}
		if has := n.Allocatable.At(p.dims[pods]); has > 0 {
			l.used[pods] = 100 * float64(len(n.Tasks)) / float64(has)
		}
		if _, over := l.over(p.high); over {
			busy = append(busy, l)
		} else if _, over := l.over(p.low); !over && !n.Unschedulable {
			l.free = slices.Clone(n.Free)
			idle = append(idle, l)
		}
	}
	slices.SortFunc(busy, func(a, b *load) int { return cmp.Or(cmp.Compare(b.sum(), a.sum()), cmp.Compare(a.node.ID, b.node.ID)) })
	slices.SortFunc(idle, func(a, b *load) int { return cmp.Or(cmp.Compare(a.sum(), b.sum()), cmp.Compare(a.node.ID, b.node.ID)) })
	return busy, idle
}

func (l *load) sum() float64 { return l.used[cpu] + l.used[memory] + l.used[pods] }

// look names tasks of busy nodes until they are busy no more, as far as idle nodes have
// room for them and do not become too busy themselves.
func (p *plugin) look(w *model.World) []framework.Wish {
	busy, idle := p.loads(w)
	if len(idle) <= p.few {
		return nil
	}
	r := round{plugin: p, idle: idle, going: map[*model.Gang]int32{}}
	for _, from := range busy {
		for _, t := range p.movable(from.node) {
			kind, over := from.over(p.high)
			if !over {
				break
			}
			if t.Class.Req.At(p.dims[kind]) > 0 && r.spares(t.Gang) { // else it would be no help
				r.wish(t, from, kind)
			}
		}
	}
	return r.wishes
}

// round is a round in the making.
type round struct {
	*plugin

	idle   []*load
	going  map[*model.Gang]int32
	wishes []framework.Wish
}

// spares reports whether a gang can do without one more task, or is no more than that one.
func (r *round) spares(g *model.Gang) bool {
	keep, _ := g.MustStay()
	left := g.Counts.Held() - r.going[g] - 1
	return left >= max(g.Min, keep) || (g.Counts.Placed == 1 && left == 0 && keep == 0)
}

// wish has a task of a busy node go, if an idle node would take it.
func (r *round) wish(t *model.Task, from *load, kind int) {
	to := r.target(r.idle, t)
	if to == nil {
		return
	}
	r.going[t.Gang]++
	r.wishes = append(r.wishes, framework.Wish{Task: t, Why: fmt.Sprintf(
		"it uses %.0f%% of its %s, more than %v%%, and node %s is idle", from.used[kind], names()[kind], r.high[kind], to.node.Name,
	)})
	r.move(from, t, -1)
	r.move(to, t, 1)
	to.free.Add(t.Class.Req, -1)
}

// target is the first idle node that would take a task; nil when none would.
func (p *plugin) target(idle []*load, t *model.Task) *load {
	for _, l := range idle {
		if !t.Class.Fits(l.node) || l.free.Times(t.Class.Req) < 1 {
			continue
		}
		then := *l
		p.move(&then, t, 1)
		if _, over := then.over(p.high); !over {
			return l
		}
	}
	return nil
}

// movable lists the tasks of a node that may go: of low priority first, then those that
// started last.
func (p *plugin) movable(n *model.Node) []*model.Task {
	var tasks []*model.Task
	for _, t := range n.Tasks {
		if t.Bucket == model.Bound && t.Gang != nil && int64(t.TaskSpec.Priority) < p.below {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b *model.Task) int {
		return cmp.Or(cmp.Compare(a.TaskSpec.Priority, b.TaskSpec.Priority), b.Started.Compare(a.Started), cmp.Compare(b.Seq, a.Seq))
	})
	return tasks
}
