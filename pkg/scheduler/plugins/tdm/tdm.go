// Package tdm (time division) lends nodes to those who can be sent away: a node with the
// label volcano.sh/revocable-zone belongs to a zone, which is open in a window of each day,
// by the clock of the time zone that is configured, else of the scheduler's own. It is only for tasks that allow it, only
// while the zone is open, and they prefer it. When the zone has closed they have to go.
//
// A task allows it by the annotation volcano.sh/revocable-zone, its own or its PodGroup's:
// "*", or the names of zones; or by volcano.sh/preemptable: "true". One that may not be a
// victim, preemptable: "false", allows nothing: its node could not be given back.
//
// Who allows it also is served after others of its queue, takes nobody's room within it,
// and is the only kind to give others room there.
//
// Differences to Volcano: a window that passes midnight is open after midnight as well;
// zones may be named, where Volcano knows "*" alone; what runs on nodes of a closed zone
// goes when it allows the zone by either annotation. See framework.Dismisses for what
// keeps a task or gang.
package tdm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "tdm"

// Labels and annotations.
const (
	zoneKey     = "volcano.sh/revocable-zone" // on nodes as label, on pods and PodGroups as annotation
	preemptable = "volcano.sh/preemptable"
)

// prefix of the arguments that say when zones are open.
const prefix = "tdm.revocable-zone."

type plugin struct {
	zones  []zone // in order of name
	period time.Duration
	clock  *time.Location // whose time of day counts; nil: that of whoever asks

	settled bool      // the zones were looked at
	offset  int       // seconds east of Greenwich of the clock by which they were
	turnsAt time.Time // when one may open or close next; zero: never
	evictAt time.Time // not before then
	pending bool      // somebody may have to go
}

// zone is a zone and whether it is open. Its causes are why a task is kept off its nodes.
type zone struct {
	window

	name, hours          string
	open                 bool
	barred, closed, both string
}

var (
	_ framework.FiltersNodes      = &plugin{}
	_ framework.RatesNodes        = &plugin{}
	_ framework.Turns             = &plugin{}
	_ framework.Dismisses         = &plugin{}
	_ framework.OrdersGangs       = &plugin{}
	_ framework.VotesOnPreempting = &plugin{}
	_ framework.Notices           = &plugin{}
	_ framework.Continues         = &plugin{}
)

// New makes the plugin. Arguments: tdm.revocable-zone.<zone>, when the zone is open, as
// HH:MM-HH:MM; tdm.time-zone, by whose clock, a name such as Europe/Berlin (the scheduler's
// own); tdm.evict.period (1m), the least time between two rounds of evictions, in each of
// which a gang without a disruption budget of its own loses one pod at most.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{period: r.Duration("tdm.evict.period", time.Minute)}
	if p.period == 0 {
		r.Wrong("tdm.evict.period", "give a duration above 0, such as 1m")
	}
	const clock = "tdm.time-zone"
	suffix := ""
	if name := r.Text(clock, ""); r.Has(clock) {
		at, err := time.LoadLocation(name)
		if err != nil || name == "" || at == time.Local {
			r.Wrong(clock, "give the name of a time zone, such as Europe/Berlin or UTC")
		}
		p.clock, suffix = at, " ("+name+")"
	}
	for _, name := range r.After(prefix) {
		hours := r.Text(prefix+name, "")
		w, err := parse(hours)
		if err != nil {
			r.Wrong(prefix+name, fmt.Sprintf("%v: give the hours when it is open, such as 20:00-06:00", err))
		}
		hours += suffix
		const bar = "in revocable zone %s, which neither the pod nor its PodGroup allows by volcano.sh/revocable-zone"
		p.zones = append(p.zones, zone{
			window: w, name: name, hours: hours,
			barred: fmt.Sprintf(bar, name),
			closed: fmt.Sprintf("in revocable zone %s, which is open %s", name, hours),
			both:   fmt.Sprintf(bar+", and which is open %s", name, hours),
		})
	}
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

// Continue takes over the zones of another configuration; the pace of evictions stays.
func (p *plugin) Continue(as framework.Plugin) error {
	if o, ok := as.(*plugin); ok {
		p.zones, p.period, p.clock, p.settled = o.zones, o.period, o.clock, false
	}
	return nil
}

// zone returns the zone of that name; nil when no argument speaks of it.
func (p *plugin) zone(name string) *zone {
	for i := range p.zones {
		if p.zones[i].name == name {
			return &p.zones[i]
		}
	}
	return nil
}

// Turned lists the nodes of zones that opened or closed.
func (p *plugin) Turned(w *model.World, now time.Time) []framework.Turn {
	if p.clock != nil {
		now = now.In(p.clock)
	}
	// A clock that was set shows in its offset, also when the zone's rules are not known, as
	// in a recording.
	if _, offset := now.Zone(); p.settled && offset == p.offset && (p.turnsAt.IsZero() || now.Before(p.turnsAt)) {
		return nil
	}
	if !p.settle(now) {
		return nil
	}
	var turned []framework.Turn
	for _, n := range w.Nodes() {
		if n.Known && n.Labels[zoneKey] != "" {
			turned = append(turned, framework.Turn{Node: n, Traits: true})
		}
	}
	return turned
}

// settle opens and closes zones as is right now, and reports whether it did either.
func (p *plugin) settle(now time.Time) (moved bool) {
	first := !p.settled
	p.settled, p.turnsAt = true, time.Time{}
	_, p.offset = now.Zone()
	for i := range p.zones {
		z := &p.zones[i]
		if at, ok := z.next(now); ok && (p.turnsAt.IsZero() || at.Before(p.turnsAt)) {
			p.turnsAt = at
		}
		was := z.open
		z.open = z.window.open(now)
		moved = moved || z.open != was
		p.pending = p.pending || (!z.open && (was || first))
	}
	return moved
}

// TurnsAt is when a zone may open or close.
func (p *plugin) TurnsAt() (time.Time, bool) { return p.turnsAt, !p.turnsAt.IsZero() }

// WakesOn is a zone that opens or closes, which is told as a change of its nodes.
func (*plugin) WakesOn() model.Change { return model.NodeChanged }

// FilterNodes keeps a class off the nodes of zones that are closed or that it does not allow.
func (p *plugin) FilterNodes(c *model.Class) framework.NodeFilter {
	allowed := grantOf(c.Shape.Hints)
	return func(n *model.Node) (string, bool) {
		name := n.Labels[zoneKey]
		if name == "" {
			return "", true
		}
		z := p.zone(name)
		switch {
		case z == nil:
			return fmt.Sprintf("in revocable zone %s, for which there is no argument %s%s", name, prefix, name), false
		case !allowed.in(name) && !z.open:
			return z.both, false
		case !allowed.in(name):
			return z.barred, false
		case !z.open:
			return z.closed, false
		}
		return "", true
	}
}

// RateNodes prefers the nodes of open zones for those who may use them, so that others
// are left to those who may not.
func (p *plugin) RateNodes(c *model.Class) func(*model.Node) int64 {
	allowed := grantOf(c.Shape.Hints)
	return func(n *model.Node) int64 {
		name := n.Labels[zoneKey]
		if z := p.zone(name); name == "" || z == nil || !z.open || !allowed.in(name) {
			return 0
		}
		return framework.FullScore
	}
}

// CompareGangs puts those first that can't be sent away.
func (*plugin) CompareGangs(a, b *model.Gang) int {
	switch x, y := revocable(a), revocable(b); {
	case x == y:
		return 0
	case x:
		return 1
	default:
		return -1
	}
}

// VoteOnPreempting lets those who can be sent away take nothing, and be taken from.
func (*plugin) VoteOnPreempting(t framework.Taking) framework.Vote {
	if revocable(t.By) || !revocable(t.From) {
		return framework.Refuse
	}
	return framework.Permit
}

// revocable reports whether a gang can be sent away: all its tasks allow some zone.
func revocable(g *model.Gang) bool {
	var last *model.Class
	for _, t := range g.Tasks {
		if t.Class != last && !grantOf(t.Class.Shape.Hints).some() {
			return false
		}
		last = t.Class
	}
	return last != nil || grantOf(g.Annotations).some()
}

// Notices names zones that there are not, and wishes that come to nothing.
func (p *plugin) Notices(g *model.Gang) []string {
	var said []string
	seen := map[*model.Class]bool{}
	for _, t := range g.Tasks {
		hints := t.Class.Shape.Hints
		text := hints[zoneKey]
		if text == "" || seen[t.Class] {
			continue
		}
		seen[t.Class] = true
		if no(hints[preemptable]) {
			said = append(said, fmt.Sprintf("pod %s: %s is %s, but %s is %s and keeps it off nodes that are given back: remove one of them", t.Name, zoneKey, text, preemptable, hints[preemptable]))
			continue
		}
		for _, name := range grantOf(hints).zones {
			if p.zone(name) == nil {
				said = append(said, fmt.Sprintf("pod %s: %s is %s, and there is no zone %s: name one that plugin tdm has as argument, or give *", t.Name, zoneKey, text, name))
			}
		}
	}
	return said
}

// grant is the zones that a task allows.
type grant struct {
	all   bool
	zones []string
}

func grantOf(hints map[string]string) grant {
	text, named := hints[zoneKey]
	switch {
	case no(hints[preemptable]):
		return grant{}
	case named:
		zones := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
		return grant{all: slices.Contains(zones, "*"), zones: slices.DeleteFunc(zones, func(z string) bool { return z == "*" })}
	default:
		yes, err := strconv.ParseBool(hints[preemptable])
		return grant{all: err == nil && yes}
	}
}

func no(text string) bool {
	yes, err := strconv.ParseBool(text)
	return err == nil && !yes
}

func (g grant) some() bool { return g.all || len(g.zones) > 0 }

func (g grant) in(zone string) bool { return g.all || slices.Contains(g.zones, zone) }
