// Package reclaim lets gangs take back, up to what their queue deserves, what other
// queues borrowed.
package reclaim

import (
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the action's name in a configuration.
const Name = "reclaim"

// New makes the action.
func New() engine.Action {
	return engine.Taking{Called: Name, By: []framework.Rule{framework.Reclaiming}}
}
