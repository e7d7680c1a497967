// Package allocate places gangs, each whole or not at all, in order: queue by
// queue as their shares demand, and within a queue as plugins order its gangs.
package allocate

import "github.com/muster-sh/muster/pkg/scheduler/engine"

// Name is the action's name in a configuration.
const Name = "allocate"

type action struct{}

var _ engine.Action = action{}

// New makes the action.
func New() engine.Action { return action{} }

func (action) Name() string { return Name }

func (action) Run(c *engine.Cycle) { c.Serve(c.Placeable, c.Place) }
