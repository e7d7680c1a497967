package victims

import (
	"maps"
	"time"

	"github.com/muster-sh/muster/pkg/model"
)

// Pace spaces out attempts.
type Pace struct {
	pause     time.Duration
	NotBefore time.Time
}

// Slower makes the next attempt wait, twice as long each time, from a tenth of a second to five.
func (p *Pace) Slower(now time.Time) {
	p.pause = min(max(2*p.pause, 100*time.Millisecond), 5*time.Second)
	p.NotBefore = now.Add(p.pause)
}

// After is the pace after an attempt.
func (p Pace) After(long bool, now time.Time) Pace {
	if !long {
		return Pace{}
	}
	p.Slower(now)
	return p
}

// Lack is what gangs have in common for which the same victims would do; of those that
// lack tasks of several kinds, each stands for itself.
type Lack struct {
	Queue    *model.Queue
	Priority int32
	Class    model.ClassID
	Kind     string // what plugins tell them apart by
	Devices  string // what their claims take
	Presses  bool   // a plugin entitles them to more than others
	Gang     *model.Gang
}

// Vain is a search that found no victims, for so many tasks.
type Vain struct {
	Pace
	tasks int
}

// Patience keeps searches for victims from taking all the time that there is: those in
// vain are not repeated at once, for nobody alike, and all together take a quarter of the
// time at most, but for a burst.
type Patience struct {
	vain map[Lack]*Vain
	most int       // of vain, before old ones are dropped
	paid time.Time // until when searches so far keep others from being made
}

// A search costs about a microsecond for each candidate.
const (
	searchTime = 4 * time.Microsecond
	burst      = 200 * time.Millisecond
)

// Waits says until when no search is made for so many tasks: v is not nil when one was
// made in vain, else others cost too much.
func (p *Patience) Waits(of Lack, tasks int, now time.Time) (v *Vain, until time.Time, ok bool) {
	if v := p.vain[of]; v != nil && tasks >= v.tasks && now.Before(v.NotBefore) {
		return v, v.NotBefore, true
	}
	until = p.paid.Add(-burst)
	return nil, until, now.Before(until)
}

// Failed notes a search in vain that looked at so many candidates.
func (p *Patience) Failed(of Lack, tasks, looked int, now time.Time) *Vain {
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(looked) * searchTime)
	v := p.vain[of]
	if v == nil {
		p.tidy(now)
		v = &Vain{}
		p.vain[of] = v
	}
	v.tasks = tasks
	v.Slower(now)
	return v
}

// Found notes a search that was not in vain.
func (p *Patience) Found(of Lack) { delete(p.vain, of) }

// tidy drops searches that are long past, when there are many.
func (p *Patience) tidy(now time.Time) {
	if p.vain == nil {
		p.vain = map[Lack]*Vain{}
	}
	if len(p.vain) < p.most {
		return
	}
	maps.DeleteFunc(p.vain, func(_ Lack, v *Vain) bool { return now.Sub(v.NotBefore) > v.pause })
	p.most = 2*len(p.vain) + 64
}
