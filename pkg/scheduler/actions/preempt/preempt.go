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

// New makes the action. Its arguments are known and change nothing: they bound a search
// node by node, where here the whole need is tried with all plugins, on all nodes.
func New() engine.Action {
	return engine.Taking{Called: Name, By: []framework.Rule{framework.Preempting, framework.Swapping}, Args: args}
}

func args(_ *engine.Taking, r *framework.Reader, env framework.Env) {
	if !r.Bool("enableTopologyAwarePreemption", true) {
		r.Idle(env, "enableTopologyAwarePreemption", "affinity and topology spread are always asked again once victims are gone")
	}
	r.Int("topologyAwarePreemptWorkerNum", 16, 1)
	r.Idle(env, "topologyAwarePreemptWorkerNum", "victims are counted, not tried on node after node")
	const all = "all nodes are candidates"
	if r.Int("minCandidateNodesPercentage", 10, 0) > 100 {
		r.Wrong("minCandidateNodesPercentage", "give a whole number from 0 to 100")
	}
	r.Int("minCandidateNodesAbsolute", 1, 0)
	r.Int("maxCandidateNodesAbsolute", 100, 0)
	for _, key := range []string{"minCandidateNodesPercentage", "minCandidateNodesAbsolute", "maxCandidateNodesAbsolute"} {
		r.Idle(env, key, all)
	}
}
