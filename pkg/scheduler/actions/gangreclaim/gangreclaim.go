// Package gangreclaim is reclaim under another name: victims are always chosen for a
// whole gang, and never leave half a gang behind.
package gangreclaim

import (
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the action's name in a configuration.
const Name = "gangreclaim"

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
