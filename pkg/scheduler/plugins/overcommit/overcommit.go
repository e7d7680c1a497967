// Package overcommit bounds how much is admitted at once: gangs whose tasks do
// not exist yet are told to go ahead as long as what is used, what is owed to
// those admitted before and what they need fit into the cluster counted
// overcommit-factor times. One that fits into what is free goes ahead as well,
// however much those before it still wait for: they can't use that now. It says
// nothing about whether a gang can be placed.
package overcommit

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/quota"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "overcommit"

// scale keeps six decimal places of the factor in whole numbers.
const scale = 1_000_000

type plugin struct {
	factor int64 // in units of 1/scale
	world  *model.World
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.VotesOnGangs = &plugin{}
)

// New makes the plugin. Its argument is overcommit-factor (1.2), a number of 1 or more.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	factor := r.Float("overcommit-factor", 1.2, 1)
	if factor > scale {
		r.Wrong("overcommit-factor", "give a number of 1 or more, and not above 1000000")
	}
	return &plugin{factor: int64(math.Round(factor * scale))}, r.Err()
}

func (*plugin) Name() string { return Name }

func (p *plugin) Begin(w *model.World, _ time.Time) { p.world = w }

// WakesOn: room in the cluster, or what was promised to others and is not any more.
func (*plugin) WakesOn() model.Change {
	return model.NodeRoom | model.NodeChanged | model.QueueRoom
}

// VoteOnGang refuses what would go beyond the bound in a resource that need asks
// for, unless all of it is free now. It has no opinion otherwise.
func (p *plugin) VoteOnGang(_ *model.Gang, need resource.Vector) (framework.Vote, reason.Reason) {
	used := p.used()
	free := true
	why := reason.Reason{
		Code:  reason.NotEnoughCluster,
		Value: strconv.FormatFloat(float64(p.factor)/scale, 'f', -1, 64),
	}
	for d, want := range need {
		if want <= 0 {
			continue
		}
		total, promised := p.world.Total.At(d), p.world.PromisedAll.At(d)
		limit := resource.Share{Part: p.factor, Whole: scale}.Of(total)
		// What is owed to a gang without tasks is promised to it; more can be promised than is owed.
		aside := max(promised, p.world.Owed.At(d))
		spoken := resource.Add(used.At(d), aside)
		free = free && resource.Add(resource.Add(used.At(d), promised), want) <= total
		if resource.Add(spoken, want) > limit {
			name := p.world.Resources.Name(d)
			why.Short = append(why.Short, framework.ShortageOf(name, quota.Over{
				Need: want, Used: spoken, Aside: aside, Leaving: p.world.Quota.Leaving(quota.None).At(d), Limit: limit,
			}))
		}
	}
	if free || why.Short == nil {
		return framework.Abstain, reason.Reason{}
	}
	slices.SortFunc(why.Short, func(a, b reason.Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	return framework.Refuse, why
}

// used is what all tasks take, those of other schedulers included.
func (p *plugin) used() resource.Vector {
	sum := slices.Clone(p.world.Foreign)
	sum.Add(p.world.Debt, -1)
	sum.Add(p.world.Quota.Used(quota.None), 1)
	return sum
}
