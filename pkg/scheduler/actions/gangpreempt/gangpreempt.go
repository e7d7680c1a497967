// Package gangpreempt is preempt but for what that does within a gang: victims are always
// chosen for a whole gang, and never leave half a gang behind.
package gangpreempt

import (
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the action's name in a configuration.
const Name = "gangpreempt"

// New makes the action. Its arguments are those of [engine.Bundles].
func New() engine.Action {
	return engine.Taking{Called: Name, By: []framework.Rule{framework.Preempting}, Args: engine.Bundles}
}
