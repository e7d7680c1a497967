package framework

import (
	"slices"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// CountsDevices is for plugins that have queues charged for the devices that claims
// take. It learns of claims like any plugin, see [Learns], and is asked before each cycle.
type CountsDevices interface {
	// Recount tells which claims and templates take something else than when it was
	// asked last, and what there is of all devices together; false: all is as it was.
	Recount() (changed []model.Devices, stock resource.List, news bool)
}

// Recount asks the first plugin that counts devices.
func (t *Tiers) Recount() (changed []model.Devices, stock resource.List, news bool) {
	if len(t.counts) > 0 {
		ask(t, t.counts[:1], "count devices", func(p CountsDevices) { changed, stock, news = p.Recount() })
	}
	return changed, stock, news
}

// GivesDevices is for plugins that give devices to tasks.
type GivesDevices interface {
	// Provided tells of which nodes it changed, since it was asked last, what devices
	// stand there behind resources that tasks ask for by name. It is asked before each cycle.
	Provided() []model.Provision
	// Lingers reports whether a task that is gone still has its devices: others get
	// them once that is undone.
	Lingers(uid string) bool
	// Undo tells what was given to tasks of this cycle that wait for something else now.
	Undo() []Undo
}

// Undo is what must be written for a task that waits, so that it may be placed anew.
type Undo struct {
	Task   *model.Task
	Writes []Write
}

// Provided gathers what all plugins know of nodes.
func (t *Tiers) Provided() []model.Provision {
	var provided []model.Provision
	ask(t, t.givers, "say what devices nodes have", func(p GivesDevices) { provided = append(provided, p.Provided()...) })
	return provided
}

// Lingers reports whether any plugin says that a task that is gone still has something.
func (t *Tiers) Lingers(uid string) bool {
	return slices.ContainsFunc(t.givers, func(p GivesDevices) bool { return p.Lingers(uid) })
}

// Undo gathers what is to be undone after a cycle.
func (t *Tiers) Undo() []Undo {
	var undo []Undo
	ask(t, t.givers, "undo what it gave", func(p GivesDevices) { undo = append(undo, p.Undo()...) })
	return undo
}
