// Package preempt lets gangs take the room of others of their queue: of lower priority,
// or, where drf says so, of those of their own that have more.
package preempt

import (
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the action's name in a configuration.
const Name = "preempt"

type action struct{}

var (
	_ engine.Action = action{}
	_ engine.Takes  = action{}
)

// New makes the action.
func New() engine.Action { return action{} }

func (action) Name() string { return Name }

// Rules says what it is for.
func (action) Rules() []framework.Rule { return []framework.Rule{framework.Preempting} }

// Run has nothing to do: the rule counts at each gang's turn.
func (action) Run(*engine.Cycle) {}
