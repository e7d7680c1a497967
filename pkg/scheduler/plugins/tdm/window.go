package tdm

import (
	"fmt"
	"strings"
	"time"
)

// day is the seconds of a day of 24 hours.
const day = 24 * 60 * 60

// window is a part of each day, in seconds since midnight by the clock on the wall; one
// that ends before it begins, or when it begins, ends the next day. The clock may show
// the same time twice or leave some out when it is set: what it shows counts.
type window struct{ from, to int }

// parse reads HH:MM-HH:MM.
func parse(text string) (window, error) {
	begin, end, ok := strings.Cut(text, "-")
	if !ok {
		return window{}, fmt.Errorf("%q has no begin and end", text)
	}
	from, err := clock(begin)
	if err != nil {
		return window{}, err
	}
	to, err := clock(end)
	return window{from, to}, err
}

// clock reads HH:MM; 24:00 is midnight.
func clock(text string) (int, error) {
	if text = strings.TrimSpace(text); text == "24:00" {
		return 0, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%q is no time of day", text)
	}
	return seconds(t), nil
}

// seconds is what the clock on the wall shows, in seconds since midnight.
func seconds(t time.Time) int {
	h, m, s := t.Clock()
	return (h*60+m)*60 + s
}

// open reports whether the window is open.
func (w window) open(now time.Time) bool {
	at := seconds(now)
	if w.from < w.to {
		return w.from <= at && at < w.to
	}
	return at >= w.from || at < w.to
}

// next is the first instant after now at which the window may open or close; false for one
// that is always open.
func (w window) next(now time.Time) (time.Time, bool) {
	if w.from == w.to {
		return time.Time{}, false
	}
	at := seconds(now)
	wait := day
	for _, edge := range []int{w.from, w.to} {
		wait = min(wait, (edge-at+day-1)%day+1)
	}
	next := now.Truncate(time.Second).Add(time.Duration(wait) * time.Second)
	if _, set := now.ZoneBounds(); !set.IsZero() && set.Before(next) {
		return set, true // the clock shows something else then
	}
	return next, true
}
