// Package timetable says when something is due that is written in cron's format. It knows no
// clock and starts nothing.
package timetable

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Timetable is when something is due. The zero value is never due.
type Timetable struct {
	cron  cron.Schedule
	every time.Duration // above 0: due again and again after so long, whatever the clock says
	zone  *time.Location
}

// Parse reads a schedule: five fields, or words such as @hourly and @every 90s. It goes by the
// clock of a zone, as the zone database names it; empty: by that of this process.
func Parse(schedule, zone string) (Timetable, error) {
	t := Timetable{zone: time.Local}
	var err error
	named := strings.HasPrefix(schedule, "TZ=") || strings.HasPrefix(schedule, "CRON_TZ=")
	switch {
	case zone != "" && named:
		return Timetable{}, fmt.Errorf("schedule %q and timeZone %q both name a zone: name it in timeZone alone", schedule, zone)
	case strings.EqualFold(zone, "local"):
		return Timetable{}, fmt.Errorf("timeZone is %q, which is another one on each machine: give a name such as Etc/UTC", zone)
	case zone != "":
		if t.zone, err = time.LoadLocation(zone); err != nil {
			return Timetable{}, fmt.Errorf("timeZone %q is unknown: give a name such as Etc/UTC or Asia/Shanghai", zone)
		}
	}
	if t.cron, err = parse(schedule); err != nil {
		return Timetable{}, fmt.Errorf("schedule %q can't be read (%w): give five fields, such as \"0 3 * * 1-5\", or a word such as @daily", schedule, err)
	}
	switch s := t.cron.(type) {
	case cron.ConstantDelaySchedule:
		t.every = s.Delay
	case *cron.SpecSchedule:
		if named {
			t.zone = s.Location
		}
	}
	return t, nil
}

// parse spares us the panics of the parser, of which a schedule of a zone alone is one.
func parse(schedule string) (s cron.Schedule, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it names no time")
		}
	}()
	return cron.ParseStandard(schedule)
}

// Next is the first time after another at which it is due, in whole seconds; zero: never again.
// What is due again and again after some time is so counted from that other time.
func (t Timetable) Next(after time.Time) time.Time {
	switch {
	case t.every > 0:
		return after.Truncate(time.Second).Add(t.every)
	case t.cron == nil:
		return time.Time{}
	}
	return t.cron.Next(after.In(t.zone))
}

// Every is after how long it is due again and again; 0 when it goes by the clock.
func (t Timetable) Every() time.Duration { return t.every }

// Last is the last time after one and until another at which it was due; zero: it was not.
func (t Timetable) Last(after, until time.Time) time.Time {
	first := t.Next(after)
	if first.IsZero() || first.After(until) {
		return time.Time{}
	}
	if t.every > 0 {
		return first.Add(until.Sub(first) / t.every * t.every)
	}
	// Of the seconds since then, the last after which it is due once more until then.
	seconds := int(until.Sub(first)/time.Second) + 1
	begin := first.Add(-time.Second)
	n := sort.Search(seconds, func(n int) bool {
		next := t.Next(begin.Add(time.Duration(n+1) * time.Second))
		return next.IsZero() || next.After(until)
	})
	return t.Next(begin.Add(time.Duration(n) * time.Second))
}

// Missed counts how often it was due after one time and until another, up to most.
func (t Timetable) Missed(after, until time.Time, most int) (n int) {
	for at := t.Next(after); n < most && !at.IsZero() && !at.After(until); at = t.Next(at) {
		n++
	}
	return n
}
