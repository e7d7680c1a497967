// Package enqueue tells gangs whose tasks do not exist yet to go ahead, as far
// as there is room for them: some operators make pods only then.
package enqueue

import "github.com/muster-sh/muster/pkg/scheduler/engine"

// Name is the action's name in a configuration.
const Name = "enqueue"

type action struct{}

var (
	_ engine.Action = action{}
	_ engine.Admits = action{}
)

// New makes the action.
func New() engine.Action { return action{} }

func (action) Name() string { return Name }

// Admits says what it is for.
func (action) Admits() {}

func (action) Run(c *engine.Cycle) { c.Serve(c.Awaited, c.Admit) }
