package engine

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/muster-sh/muster/pkg/fault"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// causes numbers the words with which filters turn nodes away, so that a class
// needs two bytes per node. 0 means "fits".
type causes struct {
	words []string
	index map[string]uint16
	kept  int // how many there were when they were numbered last
}

// gone is the cause of nodes that are not there.
const gone = "not present"

func newCauses() causes {
	return causes{words: []string{"", gone}, index: map[string]uint16{gone: 1}}
}

// of returns the number of cause. When numbers run out, causes share the last one.
func (c *causes) of(cause string) uint16 {
	if i, ok := c.index[cause]; ok {
		return i
	}
	if len(c.words) == math.MaxUint16 {
		return math.MaxUint16 - 1
	}
	i := uint16(len(c.words))
	c.words = append(c.words, cause)
	c.index[cause] = i
	return i
}

// mostCauses is how many causes are numbered before those that are no longer needed are dropped.
const mostCauses = 1 << 12

// renumber drops the causes that no node is turned away for any more, when there
// are more than twice as many as after the last time.
func (e *Engine) renumber() {
	if len(e.causes.words) <= max(mostCauses, 2*e.causes.kept) {
		return
	}
	old := e.causes.words
	e.causes = newCauses()
	for _, c := range e.World.Classes() {
		if c == nil {
			continue
		}
		for i, cause := range c.Causes {
			if cause != 0 {
				c.Causes[i] = e.causes.of(old[cause])
			}
		}
	}
	e.causes.kept = len(e.causes.words)
	e.tallies = nil
}

// filterNewClasses asks the filters about every node for classes that are new.
func (e *Engine) filterNewClasses() {
	fresh := e.World.NewClasses
	e.World.NewClasses = nil
	for _, c := range fresh {
		c.Causes = make([]uint16, len(e.World.Nodes()))
		c.Ratings = nil
		e.filter(c, e.World.Nodes()...)
	}
}

// refilter asks the filters again about nodes, for every class.
func (e *Engine) refilter(nodes ...*model.Node) {
	for _, c := range e.World.Classes() {
		if c != nil && c.Causes != nil {
			e.filter(c, nodes...)
		}
	}
}

// turn has everybody look again at the nodes that plugins see otherwise now.
func (e *Engine) turn(now time.Time) {
	var anew []*model.Node
	for _, t := range e.tiers.Turned(e.World, now) {
		e.World.Turn(t.Node, t.Traits)
		if t.Traits {
			anew = append(anew, t.Node)
		}
	}
	if anew != nil {
		e.refilter(anew...)
	}
}

// filter asks the filters about nodes. For a class that was placed before, the
// ratings of the nodes are asked for as well. A node over which a filter breaks is
// turned away; one over which a rating breaks is rated 0.
func (e *Engine) filter(c *model.Class, nodes ...*model.Node) {
	fits := e.filterOf(c)
	var rate func(*model.Node) int64
	if c.Ratings != nil {
		rate = e.ratingOf(c)
	}
	for len(c.Causes) < len(e.World.Nodes()) {
		c.Causes = append(c.Causes, e.causes.of(gone))
	}
	for rate != nil && len(c.Ratings) < len(e.World.Nodes()) {
		c.Ratings = append(c.Ratings, 0)
	}
	if rate != nil {
		fault.Each(nodes, func(n *model.Node) {
			if n.Known {
				c.Ratings[n.ID] = rate(n)
			}
		}, e.unrated)
	}
	fault.Each(nodes, func(n *model.Node) {
		switch cause, ok := fits(n); {
		case !n.Known:
			c.Causes[n.ID] = e.causes.of(gone)
		case ok:
			c.Causes[n.ID] = 0
		default:
			c.Causes[n.ID] = e.causes.of(cause)
		}
	}, func(n *model.Node, broke fault.Fault) {
		e.note(Fault{Kind: "Node", Object: n.Name, Doing: "filter it"}, broke)
		c.Causes[n.ID] = e.causes.of(broken(broke))
	})
}

// broken words the cause of nodes over which a filter broke.
func broken(broke fault.Fault) string { return "a filter broke: " + broke.Value }

// filterOf prepares the filters for a class; when they break over it, no node will do.
func (e *Engine) filterOf(c *model.Class) (fits framework.NodeFilter) {
	if broke := fault.Try(func() { fits = e.tiers.FilterNodes(c) }); broke != nil {
		e.note(Fault{Kind: "Class", Object: c.Shape.Key, Doing: "filter nodes for it"}, *broke)
		cause := broken(*broke)
		return func(*model.Node) (string, bool) { return cause, false }
	}
	return fits
}

// ratingOf prepares the ratings for a class; nil when there are none, or they break over it.
func (e *Engine) ratingOf(c *model.Class) (rate func(*model.Node) int64) {
	if broke := fault.Try(func() { rate = e.tiers.RateNodes(c) }); broke != nil {
		e.note(Fault{Kind: "Class", Object: c.Shape.Key, Doing: "rate nodes for it"}, *broke)
	}
	return rate
}

// unrated notes a node over which a rating broke.
func (e *Engine) unrated(n *model.Node, broke fault.Fault) {
	e.note(Fault{Kind: "Node", Object: n.Name, Doing: "rate it"}, broke)
}

// rate asks for the ratings of all nodes by a class that is about to be placed.
func (e *Engine) rate(c *model.Class) {
	if c.Ratings != nil {
		return
	}
	rate := e.ratingOf(c)
	if rate == nil {
		return
	}
	c.Ratings = make([]int64, len(e.World.Nodes()))
	fault.Each(e.World.Nodes(), func(n *model.Node) {
		if c.Fits(n) {
			c.Ratings[n.ID] = rate(n)
		}
	}, e.unrated)
}

// tally is what keeps a class off the nodes, for people to read. It holds while the
// world's epoch is the same, so that a thousand equal gangs in front of a full
// cluster cost one pass.
type tally struct {
	class *model.Class
	epoch uint64
	empty int64 // tasks that would fit on empty nodes
	// barred is how many would on those that are filtered out; shut, how many do now.
	barred, shut int64
	each         string // what a task asks for
	total        int    // nodes looked at
	nodes        []reason.Tally
}

// count is a tally in the making, and what each node is counted under.
type count struct {
	tally
	asked           []int // dimensions that the class asks for
	filtered        []int // by cause
	short, reserved []int // by dimension
	alike           resource.Vector
	most            int64 // tasks that a node like alike holds when it is empty
}

func (e *Engine) newCount(c *model.Class) *count {
	return &count{
		tally: tally{class: c, epoch: e.World.Epoch}, asked: c.Req.Dims(),
		filtered: make([]int, len(e.causes.words)),
		short:    make([]int, len(c.Req)), reserved: make([]int, len(c.Req)),
		most: resource.Vector{}.Times(c.Req),
	}
}

// add counts a node as a view sees it. A node that is only spoken of may be unknown
// to the view.
func (k *count) add(n *model.Node, v *view) {
	if !n.Known {
		return
	}
	k.total++
	c := k.class
	if !n.Allocatable.Is(k.alike) { // neighbours mostly are
		k.alike, k.most = n.Allocatable, n.Allocatable.Times(c.Req)
	}
	if cause := c.Causes[n.ID]; cause != 0 {
		k.filtered[cause]++
		k.barred = resource.Add(k.barred, k.most)
		k.shut = resource.Add(k.shut, max(n.Free.Times(c.Req), 0))
		return
	}
	k.empty = resource.Add(k.empty, k.most)
	if v.fit[n.ID] > 0 {
		return
	}
	for _, d := range k.asked {
		switch want, free := c.Req[d], n.Free.At(d); {
		case want <= free:
		case want <= resource.Add(free, n.Claimed.At(d)):
			k.reserved[d]++
		default:
			k.short[d]++
		}
	}
}

// keep makes a tally of all nodes of a count, for others to ask for.
func (e *Engine) keep(k *count) *tally {
	e.word(k)
	for len(e.tallies) <= int(k.class.ID) {
		e.tallies = append(e.tallies, tally{})
	}
	e.tallies[k.class.ID] = k.tally
	return &e.tallies[k.class.ID]
}

// word puts the causes of a count into words.
func (e *Engine) word(k *count) {
	add := func(cause string, nodes int) {
		if nodes > 0 {
			k.nodes = append(k.nodes, reason.Tally{Cause: cause, Nodes: nodes})
		}
	}
	k.each = slices.DeleteFunc(e.World.Resources.List(k.class.Req), func(a resource.Amount) bool { return a.Name == resource.Pods }).String()
	for i, nodes := range k.filtered {
		add(e.causes.words[i], nodes)
	}
	for _, d := range k.asked {
		add("insufficient "+e.World.Resources.Name(d), k.short[d])
		add(e.World.Resources.Name(d)+" reserved for gangs that waited longer", k.reserved[d])
	}
	sortTally(k.nodes)
}

// explain says what keeps a class off the nodes.
func (e *Engine) explain(c *model.Class) *tally {
	v := e.view(c)
	if e.within == nil && int(c.ID) < len(e.tallies) {
		if s := &e.tallies[c.ID]; s.class == c && s.epoch == e.World.Epoch {
			return s
		}
	}
	k := e.newCount(c)
	for _, n := range e.nodes() {
		k.add(n, v)
	}
	if e.within != nil {
		e.word(k)
		return &k.tally
	}
	return e.keep(k)
}

func sortTally(tally []reason.Tally) {
	slices.SortFunc(tally, func(a, b reason.Tally) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Cause, b.Cause))
	})
}

// noRoom says why the tasks of a group have no room.
func (e *Engine) noRoom(gr group) refusal {
	s, need := e.explain(gr.class), int64(len(gr.tasks))
	room := e.room(gr.class)
	why := reason.Reason{
		Code: reason.NotEnoughNodes, Role: gr.role, Need: need, Room: room,
		Each: s.each, Empty: s.empty, Shut: s.shut, Total: s.total, Nodes: s.nodes,
	}
	if s.empty < need && s.total > 0 {
		why.Code, why.Barred = reason.NeverFits, s.barred
	}
	return refusal{why: why, wakes: roomWakes | e.tiers.NodeWakes(), short: shortfall{class: gr.class, need: need}}
}

// occupy puts tasks that found no room where their gang may not go, so that what is
// shut there is not named to others of it as well.
func (e *Engine) occupy(tasks []*model.Task, groups []group) {
	for _, n := range e.nodes() {
		if !n.Known || slices.ContainsFunc(groups, func(gr group) bool { return gr.class.Fits(n) }) {
			continue
		}
		for ; len(tasks) > 0 && n.Free.Times(tasks[0].Class.Req) > 0; tasks = tasks[1:] {
			e.World.Place(tasks[0], n)
		}
	}
}

// withinOne has a reason say that it speaks of one area of the network, within which tasks must be.
func withinOne(why reason.Reason, near *model.Near, a framework.Area) reason.Reason {
	if why.Kind == "HyperNode" {
		why.Object += " in " + a.Name // of a sub-group that must be nearer
		return why
	}
	why.Kind, why.Object = "HyperNode", a.Name
	switch {
	case near.TierName != "":
		why.Value = strconv.Quote(near.TierName)
	case near.Tier != nil:
		why.Value = strconv.Itoa(*near.Tier)
	}
	return why
}
