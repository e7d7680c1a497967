// Package sla keeps gangs from waiting for ever: one that has waited for its
// waiting time is told to go ahead and has room set aside for it, and gangs with
// such a deadline go before those without, the earlier deadline first.
//
// A gang's waiting time is that of its annotation volcano.sh/sla-waiting-time,
// else of its annotation sla-waiting-time, else the plugin's argument. One that
// can't be read counts as not given, and is said.
package sla

import (
	"errors"
	"fmt"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "sla"

// argument is the plugin's argument, and an annotation of gangs.
const argument = "sla-waiting-time"

const remedy = "give a duration above 0, such as 90s or 1h30m"

var errNotAbove0 = errors.New("not above 0")

type plugin struct {
	wait time.Duration // for gangs that say nothing; 0: no deadline
	now  time.Time
}

var (
	_ framework.Begins       = &plugin{}
	_ framework.OrdersGangs  = &plugin{}
	_ framework.VotesOnGangs = &plugin{}
	_ framework.Reserves     = &plugin{}
	_ framework.Notices      = &plugin{}
)

// New makes the plugin. Its argument is sla-waiting-time, a duration above 0 for
// gangs that say nothing else; without it they have no deadline.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{}
	if r.Has(argument) {
		var err error
		if p.wait, err = waitingTime(r.Text(argument, "")); err != nil {
			r.Wrong(argument, remedy)
		}
	}
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

func (p *plugin) Begin(_ *model.World, now time.Time) { p.now = now }

// CompareGangs puts deadlines before none, and earlier ones before later ones.
func (p *plugin) CompareGangs(a, b *model.Gang) int {
	first, hasFirst := p.ReserveFrom(a)
	second, hasSecond := p.ReserveFrom(b)
	switch {
	case hasFirst && hasSecond:
		return first.Compare(second)
	case hasFirst:
		return -1
	case hasSecond:
		return 1
	default:
		return 0
	}
}

// WakesOn names nothing, since the plugin never refuses.
func (*plugin) WakesOn() model.Change { return 0 }

// VoteOnGang insists on gangs whose deadline has come.
func (p *plugin) VoteOnGang(g *model.Gang, _ resource.Vector) (framework.Vote, reason.Reason) {
	if deadline, ok := p.ReserveFrom(g); ok && !p.now.Before(deadline) {
		return framework.Permit, reason.Reason{}
	}
	return framework.Abstain, reason.Reason{}
}

// ReserveFrom is the gang's deadline: when it was created and its waiting time.
func (p *plugin) ReserveFrom(g *model.Gang) (time.Time, bool) {
	wait := p.wait
	for _, key := range keys() {
		if text, ok := g.Annotations[key]; ok {
			if d, err := waitingTime(text); err == nil {
				wait = d
				break
			}
		}
	}
	return g.Created.Add(wait), wait > 0
}

// Notices names the annotations that can't be read, and what counts instead.
func (p *plugin) Notices(g *model.Gang) []string {
	var said []string
	for _, key := range keys() {
		if text, ok := g.Annotations[key]; ok {
			if _, err := waitingTime(text); err != nil {
				said = append(said, fmt.Sprintf("annotation %s is %q and counts as not given: %s", key, text, remedy))
			}
		}
	}
	return said
}

// keys are the annotations that may give a waiting time; the first one counts.
func keys() [2]string { return [2]string{"volcano.sh/" + argument, argument} }

func waitingTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errNotAbove0
	}
	return d, err
}
