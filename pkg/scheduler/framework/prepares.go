package framework

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
)

// Write is an object as it must be in the API server before a task is bound. It
// carries the resource version that the decision was made on; a claim for devices that
// is yet to be made has no UID.
type Write struct {
	Object runtime.Object
	// Status: what matters is in the object's status.
	Status bool
	// Gone: there must be no such object, whoever wants to keep it.
	Gone bool
}

// Prepares is for plugins that chose something together with a node: volumes,
// devices. Prepare names what is to be written, in this order, before the task is
// bound there; nothing for most. It is asked once, when the placement is final.
type Prepares interface {
	Prepare(t *model.Task, n *model.Node) []Write
}

// Prepare gathers what all plugins want written before t is bound on n.
func (t *Tiers) Prepare(task *model.Task, n *model.Node) []Write {
	var writes []Write
	for _, p := range t.preparers {
		writes = append(writes, p.Prepare(task, n)...)
	}
	return writes
}
