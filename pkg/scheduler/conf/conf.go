// Package conf says how the engine is configured.
package conf

import (
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/actions/backfill"
	"github.com/muster-sh/muster/pkg/scheduler/actions/enqueue"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/binpack"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/gang"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/overcommit"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/priority"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/proportion"
)

// Default returns the configuration that holds when the user gives none.
func Default() engine.Config {
	return engine.Config{
		Actions: []engine.Action{enqueue.New(), allocate.New(), backfill.New()},
		Tiers: [][]engine.PluginConfig{
			{{Name: priority.Name}, {Name: gang.Name}},
			{{Name: overcommit.Name}, {Name: predicates.Name}, {Name: proportion.Name}, {Name: binpack.Name}},
		},
	}
}
