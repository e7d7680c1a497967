package engine

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
)

// orphan is a pod that asks for our scheduler without a gang that exists.
type orphan struct {
	task  *model.Task
	since time.Time
	told  bool // it was refused
}

// callOutOrphans refuses pods that had no gang for too long, once each, and takes
// that back when their gang comes.
func (e *Engine) callOutOrphans(c *Cycle) {
	for _, t := range e.World.TakeLoose() {
		e.adopt(t, c.Now)
	}
	for _, en := range c.changed {
		if en.gang.Known {
			continue
		}
		for _, t := range en.gang.Tasks {
			e.adopt(t, c.Now)
		}
	}
	e.orphans = slices.DeleteFunc(e.orphans, func(o *orphan) bool {
		settled := c.callOut(o)
		if settled {
			delete(e.adopted, o.task)
		}
		return settled
	})
}

// adopt begins to count how long a pod has no gang.
func (e *Engine) adopt(t *model.Task, now time.Time) {
	if !e.adopted[t] {
		e.adopted[t] = true
		e.orphans = append(e.orphans, &orphan{task: t, since: now})
	}
}

// callOut says of one orphan what there is to say, and whether it is none any more.
func (c *Cycle) callOut(o *orphan) (settled bool) {
	t := o.task
	tell := func(why reason.Reason) {
		c.emit(Refuse{Gang: t.TaskSpec.Gang, UID: t.UID, Task: t.Name, Why: why})
	}
	switch {
	case c.World.TaskOf(t.UID) != t || (t.Bucket != model.Waiting && t.Bucket != model.Gated):
		return true
	case t.Gang != nil && t.Gang.Known:
		if o.told {
			tell(reason.Reason{Code: reason.GangFound, Object: t.Gang.Key})
		}
		return true
	case t.Bucket == model.Gated:
		o.since = c.Now // whoever gates it may give it a gang yet
	case o.told || c.Now.Before(o.since.Add(c.engine.config.OrphansAfter)):
	case t.Gang != nil:
		o.told = true
		tell(reason.Reason{Code: reason.GangMissing, Object: t.Gang.Key})
	default:
		o.told = true
		tell(reason.Reason{Code: reason.NoGang})
	}
	return false
}

// notice says what can't be right in the hints of gangs and queues that changed.
func (c *Cycle) notice() {
	for _, name := range c.engine.told {
		if q := c.World.QueueNamed(name); q != nil && q.Known {
			if said := c.engine.tiers.NoticesOnQueue(q); len(said) > 0 {
				c.emit(Notice{Queue: name, Said: said})
			}
		}
	}
	c.engine.told = nil
	for _, en := range c.changed {
		if !en.gang.Known {
			continue
		}
		said := c.engine.tiers.Notices(en.gang)
		if !slices.Equal(said, en.said) && len(said) > 0 {
			c.emit(Notice{Gang: en.gang.Key, UID: en.gang.UID, Said: said})
		}
		en.said = said
	}
}

// openGates opens the gates of tasks that wait for their queue to have room, as far
// as it has, once it has room for all that the gang lacks: those that come after
// see no pod that lacks nothing but quota, and add no nodes for it. What was let in
// is promised to the gang for a while.
func (c *Cycle) openGates(en *entry) (refusal, bool) {
	e, g := c.engine, en.gang
	if g.Counts.Gated == 0 {
		return refusal{}, true
	}
	if why, wakes, ok := e.mayRun(g); !ok {
		return refusal{why: why, wakes: wakes}, false
	}
	open, takes, no, ok := e.toOpen(g)
	if !ok {
		return no, false
	}
	for _, t := range open {
		if !en.opened[t] {
			c.emit(Ungate{UID: t.UID, Name: t.Name, Gang: g.Key})
		}
	}
	if len(open) > 0 {
		e.World.Promise(g, takes)
		e.timers[en] = c.Now.Add(e.config.PatienceFor)
	}
	en.opened = map[*model.Task]bool{}
	for _, t := range open {
		en.opened[t] = true
	}
	return refusal{}, true
}

// toOpen picks the tasks whose gates may be opened, and what they take; false, with the
// reason, when the queue lacks room for all that the gang lacks.
func (e *Engine) toOpen(g *model.Gang) (open []*model.Task, takes resource.Vector, no refusal, ok bool) {
	var bill model.Bill
	lack := int(g.Min - g.Counts.Held() - g.Counts.Waiting)
	for i, t := range g.Tasks {
		if t.Bucket != model.Gated || !t.QueueGated {
			continue
		}
		bill.Add(e.World, t.Class, g.Tasks[i:i+1])
		if over := e.World.Quota.Exceeded(g.Queue.ID, bill.Sum, e.total, true); over != nil {
			if len(open) < lack {
				return nil, nil, e.overLimit(over, bill), false
			}
			break
		}
		open, takes = append(open, t), slices.Clone(bill.Sum)
	}
	return open, takes, refusal{}, true
}
