package engine

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/victims"
)

// Turn is what came of a gang's turn.
type Turn uint8

// What came of a gang's turn.
const (
	Done    Turn = iota // it has what it needs, or can't go on for now
	More                // it has its minimum, and wants another turn for the rest
	Refused             // it was refused its minimum
)

// lane is the gangs of one queue that wait, the first to be served first.
type lane struct {
	queue *model.Queue
	gangs []*entry
}

// Serve gives the gangs that want it their turns, fairly: first those that lost a
// part of their minimum or for which others made room, then queue by queue, whichever is to be served next, and
// within a queue in order. A gang that wants more gets further turns. In a strict
// queue nobody is served after one that was refused, unless it waits in vain: those
// behind it are told so.
func (c *Cycle) Serve(wants func(*model.Gang) bool, visit func(*model.Gang) Turn) {
	c.lanes = c.lanes[:0]
	for _, en := range c.broken(wants) {
		if visit(en.gang) == More {
			c.join(en)
		}
	}
	c.fill(wants)
	for {
		l := c.next()
		if l == nil {
			return
		}
		en := l.gangs[0]
		l.gangs = l.gangs[1:]
		if !en.awake && en.why.Code == reason.BehindHead && wants(en.gang) {
			c.rouse(en) // the order has changed: nobody is before it any more
		}
		turn := Refused
		if en.awake {
			c.serving = l
			turn = visit(en.gang)
			c.serving = nil
		}
		switch {
		case turn == More:
			c.join(en)
		case turn == Refused && l.queue.Strict && !en.hopeless():
			c.block(l, en)
		}
		l.ask(c.World)
	}
}

// fill puts the gangs that want a turn in the lanes of their queues.
func (c *Cycle) fill(wants func(*model.Gang) bool) {
	for _, en := range c.waiting {
		if en.gang.Known && !en.first() && wants(en.gang) {
			l := c.lane(en.gang.Queue)
			l.gangs = append(l.gangs, en)
		}
	}
	c.standBehind()
	for _, l := range c.lanes {
		slices.SortFunc(l.gangs, c.engine.before)
		l.ask(c.World)
	}
}

// ask says which is the first gang of a lane, and what it asks for.
func (l *lane) ask(w *model.World) {
	if len(l.gangs) == 0 {
		l.queue.Next = nil
		return
	}
	l.queue.Next = l.gangs[0].gang
	asks := l.queue.Asks[:0]
	var last *model.Class
	for _, t := range l.gangs[0].gang.Tasks {
		if t.Bucket != model.Waiting || t.Class == last && t.Claims == nil {
			continue
		}
		last = t.Class
		for d, n := range w.Bill(t).Sum {
			if n > asks.At(d) {
				asks.Set(d, n)
			}
		}
	}
	l.queue.Asks = asks
}

// first reports whether a gang goes before all others: it has only a part of its
// minimum, or room is being made for it. What it was promised counts, not what shares
// are now that others gave way.
func (en *entry) first() bool { return en.gang.Broken() || en.hold != nil }

// broken lists the gangs that go before all others, in order.
func (c *Cycle) broken(wants func(*model.Gang) bool) []*entry {
	var broken []*entry
	for _, en := range c.waiting {
		if en.gang.Known && en.first() && wants(en.gang) {
			broken = append(broken, en)
		}
	}
	slices.SortFunc(broken, c.engine.before)
	return broken
}

func (e *Engine) before(a, b *entry) int { return e.tiers.CompareGangs(a.gang, b.gang) }

// lane returns the lane of a queue, a new one at the end when there is none.
func (c *Cycle) lane(q *model.Queue) *lane {
	for _, l := range c.lanes {
		if l.queue == q {
			return l
		}
	}
	c.lanes = append(c.lanes, &lane{queue: q})
	return c.lanes[len(c.lanes)-1]
}

// join puts a gang back in its lane, where it then belongs.
func (c *Cycle) join(en *entry) {
	l := c.lane(en.gang.Queue)
	i, _ := slices.BinarySearchFunc(l.gangs, en, c.engine.before)
	l.gangs = slices.Insert(l.gangs, i, en)
}

// next returns the lane to be served next, nil when all are empty.
func (c *Cycle) next() *lane {
	var best *lane
	for _, l := range c.lanes {
		if len(l.gangs) > 0 && (best == nil || c.engine.tiers.CompareQueues(l.queue, best.queue) < 0) {
			best = l
		}
	}
	return best
}

// yields reports whether another queue is to be served before the one whose turn it is.
func (c *Cycle) yields() bool {
	if c.serving == nil {
		return false
	}
	for _, l := range c.lanes {
		if l != c.serving && len(l.gangs) > 0 && c.engine.tiers.CompareQueues(l.queue, c.serving.queue) < 0 {
			return true
		}
	}
	return false
}

// standBehind puts the gangs that sleep into the lanes of strict queues: who is
// awake must not overtake them.
func (c *Cycle) standBehind() {
	strict := false
	for _, l := range c.lanes {
		strict = strict || l.queue.Strict
	}
	if !strict {
		return
	}
	for _, en := range c.engine.parked {
		if en.awake || en.why == nil || !en.gang.Known || !en.gang.Queue.Strict || en.gang.Whole() {
			continue
		}
		for _, l := range c.lanes {
			if l.queue == en.gang.Queue {
				l.gangs = append(l.gangs, en)
			}
		}
	}
}

// rouse makes a gang that sleeps be tried in this cycle.
func (c *Cycle) rouse(en *entry) {
	en.awake, c.roused = true, true
	c.waiting = append(c.waiting, en)
}

// block tells all that stand in a lane behind head that they wait for it.
func (c *Cycle) block(l *lane, head *entry) {
	for _, en := range l.gangs {
		if en.awake && !en.gang.Whole() {
			why := reason.Reason{Code: reason.BehindHead, Kind: "Queue", Object: l.queue.Name, Value: head.gang.Key}
			c.refuse(en, why, model.QueueMoved|model.QueueChanged|model.QueueRoom|model.NodeRoom|model.NodeChanged|model.TaskPlaced)
			c.behind = append(c.behind, en)
		}
	}
	l.gangs = nil
}

// Overtake gives a turn to the gangs that wait behind another in a strict queue,
// in their order: what the one before them can't use now is theirs.
func (c *Cycle) Overtake(visit func(*model.Gang) Turn) {
	behind := c.behind
	c.behind = nil
	slices.SortStableFunc(behind, func(a, b *entry) int {
		return c.engine.tiers.CompareQueues(a.gang.Queue, b.gang.Queue)
	})
	c.overtaking = true
	defer func() { c.overtaking = false }()
	for _, en := range behind {
		if en.awaited() {
			continue // its turn comes with those that wait to be told to go ahead
		}
		turn := More
		for turn == More {
			turn = visit(en.gang)
		}
	}
}

// release has a gang go whole that lost a part of its minimum and could not be made whole
// again in the time it is given. Until then it notes when that will be.
func (c *Cycle) release(en *entry) bool {
	g := en.gang
	if !g.Broken() {
		en.broken = time.Time{}
		return false
	}
	if en.broken.IsZero() {
		en.broken = c.Now
	}
	within, ok := c.engine.tiers.RepairWithin(g)
	if !ok {
		return false
	}
	if until := en.broken.Add(within); c.Now.Before(until) {
		c.engine.alarm(en, until)
		return false
	}
	en.broken = time.Time{}
	why := reason.Reason{Code: reason.Unrepaired, Need: int64(g.Min), Have: int64(g.Counts.Held()), Value: within.String()}
	for _, t := range g.Tasks {
		if t.Placed() {
			c.evict(t, g.Key, why)
		}
	}
	return true
}

// evict asks for a task to be told to go, for a gang if one needs its room.
func (c *Cycle) evict(t *model.Task, by string, why reason.Reason) {
	c.emit(Evict{UID: t.UID, Name: t.Name, Gang: t.Gang.Key, For: by, Why: why})
	c.World.Leave(t)
	c.engine.asked.Add(t, c.Now)
}

// unheeded has tasks count again that were told to go, and should be gone long since, but
// are not even being deleted. They are not told again at once.
func (e *Engine) unheeded(now time.Time) {
	fault.Each(e.asked.Unheeded(e.World, now), func(t *model.Task) { e.stay(t.UID) }, func(t *model.Task, broke fault.Fault) { e.accuse(t.Gang, broke) })
}

// stay has a task count again that could not be made to go.
func (e *Engine) stay(uid string) {
	if t := e.World.Stay(uid); t != nil {
		e.unmoved[t] = e.unmoved[t].After(true, e.ran)
	}
}

// mostDismissed is how many tasks are told to go in one cycle though nobody needs their
// room. A gang that goes whole may be larger, if it is the first.
const mostDismissed = 64

// Dismiss has tasks go that plugins want to go, as far as what protects them, their
// gangs' minimums and budgets let them.
func (c *Cycle) Dismiss() {
	var gangs []*model.Gang
	by := map[*model.Gang][]framework.Wish{}
	for _, wish := range c.engine.tiers.Wishes(c.World, c.Now) {
		g := wish.Task.Gang
		if g == nil || !g.Known {
			continue
		}
		if by[g] == nil {
			gangs = append(gangs, g)
		}
		by[g] = append(by[g], wish)
	}
	left := mostDismissed
	for _, g := range gangs {
		for _, some := range victims.Dismissed(c.World, c.engine.tiers, g, by[g], c.Now) {
			if n := len(some); n > left && left < mostDismissed {
				return // the plugins wish it again
			}
			left -= len(some)
			c.dismiss(g, some)
		}
	}
}

// dismiss tells tasks of a gang to go, which leave together.
func (c *Cycle) dismiss(g *model.Gang, some []victims.Leaver) {
	for _, l := range some {
		why := reason.Reason{Code: reason.Shuffled, Kind: "Node", Object: l.Node, Field: l.Plugin, Value: l.Why}
		if !l.Itself {
			why.Kind = "PodGroup"
		}
		c.evict(l.Task, "", why)
	}
	c.change(c.engine.entries[g])
}
