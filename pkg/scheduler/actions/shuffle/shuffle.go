// Package shuffle has tasks go that plugins want to go though nobody needs their room:
// from nodes that are given back, or that are busier than others. Protection, budgets
// and the minimums of gangs count as for any other victim.
package shuffle

import "github.com/muster-sh/muster/pkg/scheduler/engine"

// Name is the action's name in a configuration.
const Name = "shuffle"

type action struct{}

var (
	_ engine.Action    = action{}
	_ engine.Dismisses = action{}
)

// New makes the action.
func New() engine.Action { return action{} }

func (action) Name() string { return Name }

// Dismisses implements [engine.Dismisses].
func (action) Dismisses() {}

func (action) Run(c *engine.Cycle) { c.Dismiss() }
