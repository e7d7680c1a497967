package slo

import (
	"cmp"
	"math"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

const million = 1_000_000

// mostUrgent is the greatest urgency that is shown, in thousandths.
const mostUrgent = million

// source says where it is known from how much work remains.
type source uint8

const (
	byEstimate source = iota
	byProgress
	byHistory
	byAssumption
)

// verdict says whether a deadline can be met.
type verdict uint8

const (
	open verdict = iota // there is none, or it may be met
	tooSoon
	missed
)

// item is a gang that was promised something.
type item struct {
	wishes

	gang           *model.Gang
	uid            string
	stale, dropped bool
	done           bool // it has ended

	// As its tasks are:
	by      source
	all     int64           // work in all, in milliseconds; byProgress: 0
	runs    bool            // it has its minimum
	began   int64           // since when, in milliseconds
	since   int64           // since when that is seen
	wanted  resource.Vector // what it lacks of its minimum
	reached bool            // it had the replicas that it was promised

	// As of this cycle:
	verdict verdict
	late    bool // the deadline had passed when it was first looked at
	work    int64
	slack   int64 // 1 - urgency, in millionths
	urgent  bool
	pressed bool  // it is urgent, or was when it got its minimum
	served  bool  // it had its minimum since its deadline pressed
	dear    bool  // it would be urgent if it had to begin again
	score   int64 // priority_score
	turns   bool  // it is urgent from some time on:
	from    int64
}

// kept is how many it has of the replicas that it was promised.
func (it *item) kept() resource.Share {
	return resource.Share{Part: int64(it.gang.Counts.Placed), Whole: int64(it.replicas)}
}

// urgency is the work of the time left.
func (it *item) urgency(now int64) resource.Share {
	return resource.Share{Part: it.work, Whole: it.deadline - now}
}

// compare orders two urgent gangs, by scores as they are to count.
func (it *item) compare(o *item, score, other int64) int {
	return cmp.Or(cmp.Compare(score, other), cmp.Compare(it.slack, o.slack), cmp.Compare(it.deadline, o.deadline))
}

// read takes in how a gang and its tasks are now.
func (p *plugin) read(it *item) {
	g := it.gang
	before := it.wishes
	it.wishes, _ = wishesOf(g.Annotations)
	if before.deadline != it.deadline || before.due != it.due {
		it.late = it.due && p.now >= it.deadline
		if it.verdict != open {
			p.changed = append(p.changed, g) // what is said names the deadline
		}
		it.verdict, it.served = open, false
	}
	n := g.Counts
	over := g.Phase == model.Completed || g.Phase == model.GangLost // as it was when it came
	it.done = n.Idle() && (n.All() > 0 || it.done || over)
	was := g.Phase == model.Running || g.Phase == model.Unknown
	it.reached = it.replicas > 0 && (it.reached || was || n.Placed >= it.replicas)
	it.watch(p.now)
	p.estimate(it)
	it.wanted = lacking(p.world, g)
}

// watch notes since when a gang runs.
func (it *item) watch(now int64) {
	ran := it.runs
	if it.runs = it.gang.Confirmed(); !it.runs {
		return
	}
	if !ran {
		it.since = now
	}
	it.began = it.since
	if first, known := began(it.gang); known {
		it.began = first
	}
}

// began is when the first task of a gang started that runs or did its work; false when
// that is not known.
func began(g *model.Gang) (first int64, known bool) {
	for _, t := range g.Tasks {
		if t.Started.IsZero() || (t.Bucket != model.Bound && (t.Bucket != model.Over || t.Ended != model.Succeeded)) {
			continue
		}
		if at := t.Started.UnixMilli(); !known || at < first {
			first, known = at, true
		}
	}
	return first, known
}

// estimate finds out how much work there is in all.
func (p *plugin) estimate(it *item) {
	g := it.gang
	if it.all = it.wishes.estimate; it.all > 0 {
		it.by = byEstimate
		return
	}
	if it.runs && it.progress > 0 {
		it.by = byProgress
		return
	}
	least := int64(max(g.Min, 1))
	if each, ok := p.history.took(g); ok && p.templates > 0 {
		replicas := max(int64(g.Counts.Alive()), least)
		it.by, it.all = byHistory, min(resource.Share{Part: replicas, Whole: least}.Of(each), math.MaxInt64/million)
		return
	}
	it.by, it.all = byAssumption, p.assumed
}

// lacking sums up what a gang asks for to have its minimum.
func lacking(w *model.World, g *model.Gang) resource.Vector {
	if g.Counts.Alive() == 0 {
		return w.Resources.Vector(g.MinResources)
	}
	var sum resource.Vector
	lack := max(g.Min, 1) - g.Counts.Held()
	for _, t := range g.Tasks {
		if lack > 0 && (t.Bucket == model.Waiting || t.Bucket == model.Gated) {
			sum.Add(t.Class.Req, 1)
			lack--
		}
	}
	return sum
}

// left is the work that remains at an instant.
func (it *item) left(now int64) int64 {
	const longest = math.MaxInt64 / million // nearly 300 years
	ran := min(max(now-it.began, 0), longest)
	switch {
	case it.by == byProgress:
		return min((ran*(whole-it.progress)+it.progress-1)/it.progress, longest)
	case it.progress >= 0:
		return (it.all*(whole-it.progress) + whole - 1) / whole
	case !it.runs:
		return it.all
	case ran < it.all:
		return it.all - ran
	default:
		return it.all / 10
	}
}

// again is the work that remains if a gang has to begin again, or from the progress it declared.
func (it *item) again(now int64) int64 {
	if it.progress >= 0 {
		return it.left(now)
	}
	return it.all
}

// judge finds out how a gang stands now, and when time alone will change that.
func (p *plugin) judge(it *item) {
	was, wasUrgent := it.verdict, it.urgent
	it.urgent, it.dear, it.turns = false, false, false
	if !it.due {
		return
	}
	now, time := p.now, it.deadline-p.now
	it.work = it.left(now)
	switch {
	case time <= 0:
		it.verdict = missed
	case it.work > time && it.by != byAssumption:
		it.verdict = tooSoon
	default:
		it.verdict = open
	}
	if it.verdict == missed && !it.late {
		it.late = true
		p.missed++
	}
	if it.verdict == open {
		it.work = min(it.work, time) // more than that is only assumed
		it.urgent = 1000*it.work >= p.threshold*time
		it.dear = 1000*it.again(now) >= p.threshold*time
		it.slack = resource.Share{Part: time - it.work, Whole: time}.Of(million)
		it.score = p.score(it)
	}
	it.serve()
	it.pressed = it.urgent || (it.pressed && it.verdict == open && !lacks(it.gang))
	if was != it.verdict || (it.urgent && !wasUrgent) {
		p.changed = append(p.changed, it.gang)
	}
	p.foresee(it)
}

// serve notes that a gang whose deadline pressed has its minimum.
func (it *item) serve() { it.served = it.served || (it.pressed && !lacks(it.gang)) }

// foresee notes when time alone will change what is thought of a gang: when it becomes
// urgent, when its deadline can't be met any more, when that has passed.
func (p *plugin) foresee(it *item) {
	d, rest := it.deadline, it.left(p.now)
	at := func(t int64) {
		if t > p.now && t <= d && (p.next == 0 || t < p.next) {
			p.next = t
		}
	}
	turns, never := d-resource.Share{Part: 1000, Whole: p.threshold}.Of(rest), false
	at(d)
	switch {
	case it.by == byProgress: // what remains grows until progress is declared
		part := resource.Share{Part: p.threshold * it.progress, Whole: 1000*(whole-it.progress) + p.threshold*it.progress}
		turns = it.began + part.Of(d-it.began) + 1
		at(it.began + resource.Share{Part: it.progress, Whole: whole}.Of(d-it.began) + 1)
	case it.progress < 0 && it.runs && p.now-it.began < it.all: // it shrinks as time does
		never = true
		at(it.began + it.all)
	default:
		at(d - rest + 1)
	}
	switch {
	case it.verdict != open:
	case it.urgent:
		it.turns, it.from = true, p.now
	case !never:
		it.turns, it.from = true, turns
		at(turns)
	}
}

// settle closes the account of a gang that has ended. One that was late stays late.
func (p *plugin) settle(it *item) {
	it.urgent, it.dear, it.turns = false, false, false
	if it.verdict == tooSoon {
		it.verdict = open
		p.changed = append(p.changed, it.gang)
	}
}
