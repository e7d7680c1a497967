// Package actions is the list of all actions. It holds nothing but the list.
package actions

import (
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/actions/backfill"
	"github.com/muster-sh/muster/pkg/scheduler/actions/enqueue"
	"github.com/muster-sh/muster/pkg/scheduler/actions/gangpreempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/gangreclaim"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/reclaim"
	"github.com/muster-sh/muster/pkg/scheduler/actions/shuffle"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// Builtin returns the actions by name, in a fresh map.
func Builtin() map[string]func() engine.Action {
	return map[string]func() engine.Action{
		allocate.Name:    allocate.New,
		backfill.Name:    backfill.New,
		enqueue.Name:     enqueue.New,
		gangpreempt.Name: gangpreempt.New,
		gangreclaim.Name: gangreclaim.New,
		preempt.Name:     preempt.New,
		reclaim.Name:     reclaim.New,
		shuffle.Name:     shuffle.New,
	}
}
