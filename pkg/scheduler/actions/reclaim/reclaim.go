// Package reclaim lets gangs take back, up to what their queue deserves, what other
// queues borrowed.
package reclaim

import (
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the action's name in a configuration.
const Name = "reclaim"

type action struct{}

var (
	_ engine.Action = action{}
	_ engine.Takes  = action{}
)

// New makes the action.
func New() engine.Action { return action{} }

func (action) Name() string { return Name }

// Rules says what it is for.
func (action) Rules() []framework.Rule { return []framework.Rule{framework.Reclaiming} }

// Run has nothing to do: the rule counts at each gang's turn.
func (action) Run(*engine.Cycle) {}
