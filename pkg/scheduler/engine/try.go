package engine

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// group is the waiting tasks of one role and class: what fits one fits all.
type group struct {
	class *model.Class
	role  string
	tasks []*model.Task
	room  int64
}

// mayRun asks everything about a gang that does not depend on nodes.
func (e *Engine) mayRun(g *model.Gang) (reason.Reason, model.Change, bool) {
	if g.Problem != nil {
		return *g.Problem, model.GangChanged, false
	}
	if !g.Queue.Known {
		return reason.Reason{Code: reason.QueueMissing, Kind: "Queue", Object: g.Queue.Name}, model.QueueChanged, false
	}
	why, ok := e.queueTakes(g.Queue, g.Counts.Held() == 0)
	return why, model.QueueChanged, ok
}

// queueTakes says whether a queue and all above it can be charged: one whose way
// to the top is broken would run without the ceilings that stand there. Fresh
// gangs want them all open as well.
func (e *Engine) queueTakes(q *model.Queue, fresh bool) (reason.Reason, bool) {
	at := q
	for range e.World.Queues() {
		if at.Problem != nil {
			return *at.Problem, false
		}
		if fresh && at.Closed != "" {
			return reason.Reason{Code: reason.QueueClosed, Kind: "Queue", Object: at.Name, Value: at.Closed}, false
		}
		if at.Parent == "" {
			return reason.Reason{}, true
		}
		up := e.World.QueueNamed(at.Parent)
		if up == nil || !up.Known {
			return badParent(at, "there is no such queue; create it, or name another parent"), false
		}
		at = up
	}
	return badParent(q, "the queues above it form a circle; name a parent outside it"), false
}

func badParent(q *model.Queue, remedy string) reason.Reason {
	return reason.Reason{Code: reason.Invalid, Kind: "Queue", Object: q.Name, Field: "spec.parent", Value: q.Parent, Remedy: remedy}
}

// placeMinimum places what a gang lacks to be whole, all of it or, on false,
// only a part that the caller must roll back.
func (e *Engine) placeMinimum(g *model.Gang) (reason.Reason, model.Change, bool) {
	if why, wakes, ok := e.mayRun(g); !ok {
		return why, wakes, false
	}
	if why, wakes, ok := e.tiers.AdmitGang(g); !ok {
		return why, wakes, false
	}
	groups := groupsOf(e.missing(g))
	var need resource.Vector
	for _, gr := range groups {
		if gr.class.Shape.Problem != nil {
			return *gr.class.Shape.Problem, model.GangChanged, false
		}
		need.Add(gr.class.Req, int64(len(gr.tasks)))
	}
	if over := e.World.Quota.Exceeded(g.Queue.ID, need, false); over != nil {
		return e.overCapability(over), model.QueueRoom | model.QueueChanged, false
	}
	wakes := model.NodeRoom | model.NodeChanged | e.tiers.NodeWakes()
	for i := range groups {
		gr := &groups[i]
		gr.room = e.stat(gr.class).room
		if gr.room < int64(len(gr.tasks)) {
			return e.noRoom(gr.class, gr.role, int64(len(gr.tasks))), wakes, false
		}
	}
	// The scarcest class chooses first: it has the fewest other places to go.
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.room, b.room) })
	for _, gr := range groups {
		mark := e.World.Mark()
		if e.place(gr.class, gr.tasks) < len(gr.tasks) {
			e.World.Rollback(mark) // what counts is what the others of its gang left
			return e.noRoom(gr.class, gr.role, int64(len(gr.tasks))), wakes, false
		}
	}
	if !g.Whole() {
		return reason.Reason{Code: reason.NotEnoughTasks, Need: int64(g.Min), Have: int64(g.Counts.Held())}, model.GangChanged, false
	}
	return reason.Reason{}, 0, true
}

// placeRest places what waits beyond a minimum that was just placed, each task for itself.
// It returns the first reason why one found no room.
func (e *Engine) placeRest(g *model.Gang) (reason.Reason, model.Change, bool) {
	if g.Counts.Waiting == 0 {
		return reason.Reason{}, 0, true
	}
	rest := slices.SortedFunc(waiting(g), e.tiers.CompareTasks)
	var why reason.Reason
	var wakes model.Change
	for _, gr := range groupsOf(rest) {
		if gr.class.Shape.Problem != nil {
			why, wakes = *gr.class.Shape.Problem, wakes|model.GangChanged
			continue
		}
		allowed := e.allowed(g.Queue.ID, gr)
		placed := e.place(gr.class, gr.tasks[:allowed])
		first := why.Code == ""
		switch {
		case placed < allowed:
			wakes |= model.NodeRoom | model.NodeChanged | e.tiers.NodeWakes()
			if first {
				why = e.noRoom(gr.class, gr.role, int64(len(gr.tasks)-placed))
			}
		case allowed < len(gr.tasks):
			wakes |= model.QueueRoom | model.QueueChanged
			if first {
				why = e.overCapability(e.World.Quota.Exceeded(g.Queue.ID, gr.class.Req, false))
			}
		}
	}
	return why, wakes, wakes == 0
}

// allowed returns how many tasks of a group the queue's ceilings let in.
func (e *Engine) allowed(queue quota.ID, gr group) int {
	return sort.Search(len(gr.tasks), func(i int) bool {
		return !e.World.Quota.Fits(queue, times(gr.class.Req, i+1))
	})
}

// missing picks the waiting tasks that a gang lacks to be whole: first those of
// roles below their own minimum, then others, in the order of the plugins.
func (e *Engine) missing(g *model.Gang) []*model.Task {
	lack := g.Min - g.Counts.Held()
	roleLack := make(map[string]int32, len(g.Roles))
	short := false
	for i := range g.Roles {
		r := &g.Roles[i]
		roleLack[r.Name] = r.Min - r.Held()
		short = short || roleLack[r.Name] > 0
	}
	if lack <= 0 && !short {
		return nil
	}
	all := slices.SortedFunc(waiting(g), e.tiers.CompareTasks)
	picked := make([]*model.Task, 0, len(all))
	var others []*model.Task
	for _, t := range all {
		if roleLack[t.Role] > 0 {
			roleLack[t.Role]--
			picked = append(picked, t)
		} else {
			others = append(others, t)
		}
	}
	if more := int(lack) - len(picked); more > 0 {
		picked = append(picked, others[:min(more, len(others))]...)
	}
	return picked
}

// waiting yields the tasks of a gang that could be placed now.
func waiting(g *model.Gang) iter.Seq[*model.Task] {
	return func(yield func(*model.Task) bool) {
		for _, t := range g.Tasks {
			if t.Bucket == model.Waiting && !yield(t) {
				return
			}
		}
	}
}

// group sorts tasks by role and class, in the order in which those first appear.
func groupsOf(tasks []*model.Task) []group {
	var groups []group
	for _, t := range tasks {
		i := slices.IndexFunc(groups, func(g group) bool { return g.class == t.Class && g.role == t.Role })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{class: t.Class, role: t.Role})
		}
		groups[i].tasks = append(groups[i].tasks, t)
	}
	return groups
}

func times(v resource.Vector, n int) resource.Vector {
	var sum resource.Vector
	sum.Add(v, int64(n))
	return sum
}
