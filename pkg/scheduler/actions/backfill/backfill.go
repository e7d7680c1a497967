// Package backfill places gangs that stand behind another in a strict queue, in
// what that one can't use: it does not fit now, and what was set aside for it, once
// it has waited too long, is not for others. Best-effort tasks, which ask for
// nothing, need no action of their own: allocate places them like others.
package backfill

import "github.com/muster-sh/muster/pkg/scheduler/engine"

// Name is the action's name in a configuration.
const Name = "backfill"

type action struct{}

var _ engine.Action = action{}

// New makes the action.
func New() engine.Action { return action{} }

func (action) Name() string { return Name }

func (action) Run(c *engine.Cycle) { c.Overtake(c.Place) }
