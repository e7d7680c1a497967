// Package plugins is the list of all scheduler plugins. It holds nothing but the list.
package plugins

import (
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/binpack"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/capacity"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/cdp"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/conformance"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/drf"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/gang"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/networktopology"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/nodegroup"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/nodeorder"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/overcommit"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/pdb"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/priority"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/proportion"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/rescheduling"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/resourcequota"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/resourcestrategyfit"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/sla"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/slo"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/tasktopology"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/tdm"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/usage"
)

// Builtin returns a fresh registry, so that a caller may add its own plugins.
func Builtin() framework.Registry {
	return framework.Registry{
		binpack.Name:             binpack.New,
		capacity.Name:            capacity.New,
		cdp.Name:                 cdp.New,
		conformance.Name:         conformance.New,
		drf.Name:                 drf.New,
		gang.Name:                gang.New,
		networktopology.Name:     networktopology.New,
		nodegroup.Name:           nodegroup.New,
		nodeorder.Name:           nodeorder.New,
		overcommit.Name:          overcommit.New,
		pdb.Name:                 pdb.New,
		predicates.Name:          predicates.New,
		priority.Name:            priority.New,
		proportion.Name:          proportion.New,
		rescheduling.Name:        rescheduling.New,
		resourcequota.Name:       resourcequota.New,
		resourcestrategyfit.Name: resourcestrategyfit.New,
		sla.Name:                 sla.New,
		slo.Name:                 slo.New,
		tasktopology.Name:        tasktopology.New,
		tdm.Name:                 tdm.New,
		usage.Name:               usage.New,
	}
}
