// Package conf reads how the engine is configured: volcano-scheduler.conf as users
// have it, into an engine.Config, or everything that is wrong with it, each with
// its line and what would be right. It opens no file and watches nothing.
package conf

import (
	"github.com/muster-sh/muster/pkg/scheduler/actions/allocate"
	"github.com/muster-sh/muster/pkg/scheduler/actions/backfill"
	"github.com/muster-sh/muster/pkg/scheduler/actions/enqueue"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/binpack"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/conformance"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/drf"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/gang"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/networktopology"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/nodeorder"
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
			{{Name: priority.Name}, {Name: gang.Name}, {Name: conformance.Name}},
			{
				{Name: overcommit.Name},
				{Name: drf.Name},
				{Name: predicates.Name},
				{Name: proportion.Name},
				{Name: nodeorder.Name},
				{Name: binpack.Name},
				{Name: networktopology.Name},
			},
		},
	}
}

// DefaultText is the default configuration as volcano-scheduler.conf.
func DefaultText() string {
	return `# What holds when no configuration is given. Key by key: what you leave out stays as it is here.
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
`
}
