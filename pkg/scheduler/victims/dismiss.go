package victims

import (
	"slices"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Leaver is a task that goes because a plugin wants it, or one of its gang, to go.
type Leaver struct {
	*model.Task
	Node   string // the one to be left
	Plugin string // that wants it
	Why    string
	Itself bool // the task is on that node; else it goes with its gang
}

// Dismissed lists which tasks of a gang go of those that plugins want to go; those that
// leave together stand together. What a gang can do without goes by itself; where that
// is nothing, all of it goes, if that is wished and nobody is protected.
func Dismissed(w *model.World, tiers *framework.Tiers, g *model.Gang, wishes []framework.Wish, now time.Time) [][]Leaver {
	d := &dismissal{world: w, tiers: tiers, gang: g, now: now, wished: map[*model.Task]framework.Wish{}}
	for _, wish := range wishes {
		d.add(wish)
	}
	if len(d.tasks) == 0 || forbids(g.Annotations) || (!d.whole && !g.Whole()) {
		return nil // what a gang lacks is to come, not to become more
	}
	slices.SortStableFunc(d.tasks, firstToGo)
	keep, _ := g.MustStay()
	units := d.spared(keep)
	if len(units) == 0 && keep == 0 && g.Whole() && together(g) {
		units = d.all()
	}
	return units
}

// dismissal is what plugins wish of one gang.
type dismissal struct {
	world  *model.World
	tiers  *framework.Tiers
	gang   *model.Gang
	now    time.Time
	wished map[*model.Task]framework.Wish
	tasks  []*model.Task // that may go
	most   int32         // at once; 0: any number
	whole  bool          // all of the gang may go
}

// add takes in a wish, unless it speaks of a task that can't go.
func (d *dismissal) add(w framework.Wish) {
	if _, twice := d.wished[w.Task]; twice || !w.Task.Placed() || kept(d.tiers, w.Task, d.now) {
		return
	}
	d.wished[w.Task] = w
	d.tasks = append(d.tasks, w.Task)
	if w.Most > 0 && (d.most == 0 || w.Most < d.most) {
		d.most = w.Most
	}
	d.whole = d.whole || w.Whole
}

// spared is what the gang can do without.
func (d *dismissal) spared(keep int32) [][]Leaver {
	defer d.world.Rollback(d.world.Mark())
	var units [][]Leaver
	broken, gone := !d.gang.Whole(), int32(0)
	for _, some := range parts(d.gang, d.tasks) {
		n := int32(len(some))
		if d.most > 0 && gone > 0 && gone+n > d.most {
			continue
		}
		for _, t := range some {
			d.world.Evict(t)
		}
		if !suffices(d.gang, keep, broken) {
			for _, t := range some {
				d.world.Return(t)
			}
			continue
		}
		gone += n
		units = append(units, d.leave(some))
	}
	return units
}

// all is all of the gang, if it may go.
func (d *dismissal) all() [][]Leaver {
	all := slices.DeleteFunc(slices.Clone(d.gang.Tasks), func(t *model.Task) bool { return !t.Placed() })
	if !d.whole && len(all) > len(d.tasks) {
		return nil
	}
	if slices.ContainsFunc(all, func(t *model.Task) bool { return kept(d.tiers, t, d.now) }) {
		return nil
	}
	return [][]Leaver{d.leave(all)}
}

func (d *dismissal) leave(tasks []*model.Task) []Leaver {
	out := make([]Leaver, len(tasks))
	for i, t := range tasks {
		w, itself := d.wished[t]
		if !itself {
			w = d.wished[d.tasks[0]]
		}
		out[i] = Leaver{Task: t, Node: w.Task.On.Name, Plugin: w.Plugin, Why: w.Why, Itself: itself}
	}
	return out
}

// kept reports whether a task may not be told to go, whoever wants it to.
func kept(tiers *framework.Tiers, t *model.Task, now time.Time) bool {
	_, ok := tiers.Protected(t, now)
	return ok || forbidden(t)
}
