// Package gangpreempt is preempt but for what that does within a gang: victims are always
// chosen for a whole gang, and never leave half a gang behind.
package gangpreempt

import (
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the action's name in a configuration.
const Name = "gangpreempt"

// New makes the action. Argument: allowWholeBundle (true): when false, nobody gives more
// than what it has beyond its minimum. maxDomains is known and changes nothing.
func New() engine.Action {
	return engine.Taking{Called: Name, By: []framework.Rule{framework.Preempting}, Args: args}
}

func args(t *engine.Taking, r *framework.Reader, env framework.Env) {
	t.Spares = !r.Bool("allowWholeBundle", true)
	r.Int("maxDomains", 8, 1)
	r.Idle(env, "maxDomains", "victims are looked for among all nodes, not in one domain after the other")
}
