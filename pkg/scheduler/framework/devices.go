package framework

import (
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
