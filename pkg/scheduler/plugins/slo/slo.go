// Package slo keeps what gangs were promised: that they are done by an instant, run as
// fast as they should, or have as many replicas as a service needs. All is in
// annotations of PodGroups, which take them over from their jobs:
//
//	scheduling.volcano.sh/slo-deadline          an instant (RFC 3339)
//	scheduling.volcano.sh/slo-running-estimate  how long it runs, from a job's runningEstimate
//	scheduling.volcano.sh/slo-progress          what is done: a fraction (0.4) or 40%
//	scheduling.volcano.sh/slo-min-throughput    a number, in the job's own unit
//	scheduling.volcano.sh/slo-throughput        what the job reports, in that unit
//	scheduling.volcano.sh/slo-min-replicas      a whole number
//
// A value that can't be read counts as not given, and is said.
//
// # Deadlines
//
// Times are in whole milliseconds. With left = deadline - now,
//
//	urgency = work / left
//
// where work is the time that the rest takes:
//
//   - with an estimate E: E - ran; with progress p declared as well, E x (1 - p), since
//     then how long it ran tells nothing more. A gang that ran for longer than it said
//     needs E/10 more. It runs from when the first of its tasks started, while it has its
//     minimum.
//   - else, when it runs and has declared progress: ran x (1 - p) / p;
//   - else with E = replicas x h / minMember, where h is what gangs of its template took
//     per replica and member: see history.go;
//   - else with E = the argument assumed-work.
//
// A gang is urgent when its urgency is threshold or more, and work <= left. Urgent gangs
// that lack their minimum go before all others, in their queue and with their queue; of
// two urgent ones that goes first which has the smaller
//
//	priority_score = share x (1 - work / left) / weight
//
// share is the dominant share of the cluster that its queue would have with what it
// lacks, weight the queue's. So the share counts less the less slack there is, and with
// none left nothing. Both factors are in millionths, rounded down. Of equal scores the
// greater urgency goes first, then the earlier deadline. Below the threshold the plugin
// has no opinion. The share is that at the beginning of the cycle within a queue, and
// that of the moment between queues.
//
// An urgent gang is told to go ahead whatever later tiers say, and has room set aside for
// it, once its queue could use that: guarantees of others are kept, as ever. When work
// exceeds left the deadline can't be met: that is said at once, and the gang goes by fair
// share again, since others can still be helped. Work that is only assumed says nothing
// of the kind before the deadline has passed.
//
// # Throughput and replicas
//
// A gang with its minimum that reports less than its throughput goes before others of its
// queue with what it has beyond its minimum. One that had its replicas and lost some goes
// before all others, also between queues: who has the smaller part of them first.
//
// # Victims
//
// Of gangs of one priority those give way last that have no more than their replicas, or
// would be urgent if they had to begin again, or from the progress they declared; next to
// last those below their throughput.
//
// Urgent gangs take nothing from others unless slo.preempt or slo.reclaim say so, and the
// action of that name is configured. Then one that lacks its minimum may have others go of
// which no promise breaks: in its queue those of its priority or lower, in other queues
// while these keep what they are guaranteed. It does so once for each deadline. Nobody takes
// that back but who is of higher priority, or is guaranteed it: a deadline that pressed once
// protects its gang until it has ended, or the deadline can't be met. All of that counts
// before what queues deserve where the plugin has a tier of its own, the first.
package slo

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "slo"

// Preempt and Reclaim are the arguments that let urgent gangs take from others.
const (
	Preempt = "slo.preempt"
	Reclaim = "slo.reclaim"
)

type settings struct {
	threshold int64 // urgency from which a gang goes first, in thousandths
	assumed   int64 // work of gangs of which nothing is known, in milliseconds
	templates int   // of which it is known how long they took, at most

	preempts, reclaims bool // urgent gangs take from others, in their queue and beyond
}

type plugin struct {
	settings

	pods    int // the dimension that does not count
	world   *model.World
	total   resource.Vector // memory used again
	sum     resource.Vector // memory used again
	now     int64           // in milliseconds
	items   map[*model.Gang]*item
	live    []*item // those that are not done, in order of arrival
	stale   []*item // to be read anew
	history history
	changed []*model.Gang
	gone    []*model.Gang // that are promised nothing any more
	next    int64         // when time alone changes something; 0: never
	missed  int64
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.Follows      = &plugin{}
	_ framework.Continues    = &plugin{}
	_ framework.Pursues      = &plugin{}
	_ framework.OrdersQueues = &plugin{}
	_ framework.OrdersGangs  = &plugin{}
	_ framework.VotesOnGangs = &plugin{}
	_ framework.Reserves     = &plugin{}
	_ framework.RanksVictims = &plugin{}
	_ framework.Presses      = &plugin{}

	_ framework.VotesOnPreempting = &plugin{}
	_ framework.VotesByQueue      = &plugin{}

	_ framework.Notices = &plugin{}
)

// New makes the plugin. Its opinions come before those of plugins after it. Arguments:
//
//   - slo.threshold (0.5): from which urgency a gang goes first, above 0, at most 1;
//   - slo.assumed-work (1h): how long gangs run of which nothing is known;
//   - slo.templates (1000): of how many templates it is kept how long gangs took; 0: none;
//   - slo.preempt (false): urgent gangs take from others of their queue;
//   - slo.reclaim (false): urgent gangs take from other queues.
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	const threshold, assumed = "slo.threshold", "slo.assumed-work"
	r := args.Read()
	part := r.Float(threshold, 0.5, 0)
	p := &plugin{pods: env.Dim(resource.Pods), items: map[*model.Gang]*item{}, settings: settings{
		threshold: int64(part * 1000),
		assumed:   r.Duration(assumed, time.Hour).Milliseconds(),
		templates: int(r.Int("slo.templates", 1000, 0)),
		preempts:  r.Bool(Preempt, false),
		reclaims:  r.Bool(Reclaim, false),
	}}
	if part > 1 || p.threshold == 0 {
		r.Wrong(threshold, "give a number from 0.001 to 1")
	}
	if p.assumed == 0 {
		r.Wrong(assumed, "give a duration above 0, such as 30m or 2h")
	}
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

// Continue takes over the settings; what was learned of templates stays.
func (p *plugin) Continue(as framework.Plugin) error {
	other, ok := as.(*plugin)
	if !ok {
		return fmt.Errorf("%T does not continue %T", as, p)
	}
	p.settings = other.settings
	return nil
}

// Follow notes that a gang is to be read anew.
func (p *plugin) Follow(g *model.Gang, gone bool) {
	if p.templates > 0 {
		p.history.follow(g, gone)
	}
	it := p.items[g]
	if it == nil && (gone || !promised(g)) {
		return
	}
	if it != nil && (gone || !promised(g) || it.uid != g.UID) {
		delete(p.items, g)
		it.dropped = true
		if !gone {
			p.gone = append(p.gone, g)
		}
		it = nil
	}
	if gone || !promised(g) {
		return
	}
	if it == nil {
		it = &item{gang: g, uid: g.UID, late: true}
		p.items[g] = it
	}
	if !it.stale {
		it.stale = true
		p.stale = append(p.stale, it)
	}
}

// Begin finds out how all gangs stand that were promised something.
func (p *plugin) Begin(w *model.World, now time.Time) {
	p.world, p.now = w, now.UnixMilli()
	p.history.settle(p.now, p.templates)
	p.changed, p.gone, p.next = p.gone, nil, 0
	if len(p.items)+len(p.live)+len(p.stale) == 0 {
		return
	}
	p.total = w.ForQueues(p.total)
	p.refresh()
	for _, it := range p.live {
		p.judge(it)
	}
}

// refresh reads those anew that changed, and keeps the list of those that are not done.
func (p *plugin) refresh() {
	if len(p.stale) == 0 && !slices.ContainsFunc(p.live, func(it *item) bool { return it.dropped }) {
		return
	}
	p.live = slices.DeleteFunc(p.live, func(it *item) bool { return it.dropped || it.stale })
	for _, it := range p.stale {
		it.stale = false
		if it.dropped {
			continue
		}
		p.read(it)
		if it.done {
			p.settle(it)
			continue
		}
		p.live = append(p.live, it)
	}
	p.stale = p.stale[:0]
	slices.SortFunc(p.live, func(a, b *item) int { return cmp.Compare(a.gang.Seq, b.gang.Seq) })
}
