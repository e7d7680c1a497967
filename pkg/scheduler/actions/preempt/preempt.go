// Package preempt lets gangs take the room of others of their queue: of lower priority,
// or, where drf says so, of those of their own that have more. Within a gang a task takes
// the place of one of lower priority that the gang can do without.
package preempt

import (
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the action's name in a configuration.
const Name = "preempt"

// New makes the action.
func New() engine.Action { return engine.Taking(Name, framework.Preempting, framework.Swapping) }
