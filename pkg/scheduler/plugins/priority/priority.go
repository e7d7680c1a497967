// Package priority lets higher priority classes go first: gangs by that of their
// PodGroup, tasks of a gang by their own.
package priority

import (
	"cmp"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "priority"

type plugin struct{}

var (
	_ framework.OrdersGangs = plugin{}
	_ framework.OrdersTasks = plugin{}

	_ framework.VotesOnPreempting = plugin{}
	_ framework.VotesOnSwapping   = plugin{}
)

// New makes the plugin. It has no arguments.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	return plugin{}, args.Read().Err()
}

func (plugin) Name() string { return Name }

func (plugin) CompareGangs(a, b *model.Gang) int { return cmp.Compare(b.Priority, a.Priority) }

// VoteOnPreempting lets gangs take from those of lower priority, never from those of
// higher. Of equals it has no opinion.
func (plugin) VoteOnPreempting(t framework.Taking) framework.Vote {
	return framework.Vote(cmp.Compare(t.By.Priority, t.From.Priority))
}

// VoteOnSwapping lets a task take the place of one of lower priority.
func (plugin) VoteOnSwapping(in, out *model.Task) framework.Vote {
	if in.TaskSpec.Priority > out.TaskSpec.Priority {
		return framework.Permit
	}
	return framework.Refuse
}

func (plugin) CompareTasks(a, b *model.Task) int {
	return cmp.Compare(b.TaskSpec.Priority, a.TaskSpec.Priority)
}
