package tdm

import (
	"testing"
	"time"
	_ "time/tzdata" // zones whose clocks are set, wherever the test runs

	"pgregory.net/rapid"
)

func TestAWindowIsReadOrRefused(t *testing.T) {
	const hour = 60 * 60
	tests := map[string]struct {
		want window
		ok   bool
	}{
		"09:00-17:30":   {window{9 * hour, 17*hour + 1800}, true},
		"9:00 - 17:00":  {window{9 * hour, 17 * hour}, true},
		"22:00-06:00":   {window{22 * hour, 6 * hour}, true},
		"20:00-24:00":   {window{20 * hour, 0}, true},
		"00:00-00:00":   {window{0, 0}, true},
		"09:00":         {window{}, false},
		"09:00-25:00":   {window{}, false},
		"-":             {window{}, false},
		"nine-to-five":  {window{}, false},
		"09:00-17:00-1": {window{}, false},
	}
	for text, tt := range tests {
		t.Run(text, func(t *testing.T) {
			got, err := parse(text)
			if (err == nil) != tt.ok || (tt.ok && got != tt.want) {
				t.Errorf("%v, %v, want %v and ok %v", got, err, tt.want, tt.ok)
			}
		})
	}
}

// TestAWindowGoesByTheClockOnTheWall: across midnight, and on days when clocks are set.
func TestAWindowGoesByTheClockOnTheWall(t *testing.T) {
	tests := map[string]struct {
		hours, zone string
		at          string // UTC
		open        bool
		next        string // UTC; empty: never
	}{
		"before it begins":                      {"20:00-06:00", "UTC", "2026-01-01T19:59:59Z", false, "2026-01-01T20:00:00Z"},
		"when it begins":                        {"20:00-06:00", "UTC", "2026-01-01T20:00:00Z", true, "2026-01-02T06:00:00Z"},
		"after midnight":                        {"20:00-06:00", "UTC", "2026-01-02T02:00:00.5Z", true, "2026-01-02T06:00:00Z"},
		"when it ends":                          {"20:00-06:00", "UTC", "2026-01-02T06:00:00Z", false, "2026-01-02T20:00:00Z"},
		"the whole day":                         {"06:00-06:00", "UTC", "2026-01-02T06:00:00Z", true, ""},
		"a night that is an hour shorter":       {"22:00-06:00", "Europe/Berlin", "2026-03-28T22:30:00Z", true, "2026-03-29T01:00:00Z"},
		"the clock was set forward in it":       {"22:00-06:00", "Europe/Berlin", "2026-03-29T01:00:00Z", true, "2026-03-29T04:00:00Z"},
		"the clock skips it before it begins":   {"02:10-02:50", "Europe/Berlin", "2026-03-29T00:30:00Z", false, "2026-03-29T01:00:00Z"},
		"the clock skipped it":                  {"02:10-02:50", "Europe/Berlin", "2026-03-29T01:00:00Z", false, "2026-03-30T00:10:00Z"},
		"open for the first time of two":        {"02:10-02:50", "Europe/Berlin", "2026-10-25T00:30:00Z", true, "2026-10-25T00:50:00Z"},
		"closed between":                        {"02:10-02:50", "Europe/Berlin", "2026-10-25T00:55:00Z", false, "2026-10-25T01:00:00Z"},
		"about to open for the second time":     {"02:10-02:50", "Europe/Berlin", "2026-10-25T01:00:00Z", false, "2026-10-25T01:10:00Z"},
		"a clock that is set by half an hour":   {"01:45-03:00", "Australia/Lord_Howe", "2026-04-04T14:50:00Z", true, "2026-04-04T15:00:00Z"},
		"and shows half past one a second time": {"01:45-03:00", "Australia/Lord_Howe", "2026-04-04T15:00:00Z", false, "2026-04-04T15:15:00Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := parse(tt.hours)
			if err != nil {
				t.Fatal(err)
			}
			now := moment(t, tt.at).In(zoneOf(t, tt.zone))
			next, ok := w.next(now)
			got := ""
			if ok {
				got = next.UTC().Format(time.RFC3339)
			}
			if w.open(now) != tt.open || got != tt.next {
				t.Errorf("at %s open %v, next %q, want %v and %q", now, w.open(now), got, tt.open, tt.next)
			}
		})
	}
}

// TestAWindowTurnsOnlyWhenItSaysSo compares with a look at every second minute, for any
// window, zone and time: between two instants of next it neither opens nor closes.
func TestAWindowTurnsOnlyWhenItSaysSo(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia"}
	rapid.Check(t, func(rt *rapid.T) {
		minute := rapid.IntRange(0, day/60-1)
		w := window{60 * minute.Draw(rt, "from"), 60 * minute.Draw(rt, "to")}
		zone := zoneOf(t, rapid.SampledFrom(zones).Draw(rt, "zone"))
		year := rapid.IntRange(2011, 2030).Draw(rt, "year")
		now := time.Date(year, 1, 1, 0, 0, rapid.IntRange(0, 365*day).Draw(rt, "second"), 0, zone)
		if at := now; rapid.Bool().Draw(rt, "near a change of clocks") {
			if _, set := at.ZoneBounds(); !set.IsZero() {
				now = set.Add(time.Duration(rapid.IntRange(-day, day).Draw(rt, "off")) * time.Second)
			}
		}
		next, ok := w.next(now)
		if ok && !next.After(now) {
			rt.Fatalf("next %s is not after %s", next, now)
		}
		for at := now; at.Before(now.Add(30 * time.Hour)); at = at.Add(time.Minute) {
			if ok && !at.Before(next) {
				return
			}
			if w.open(at) != w.open(now) {
				rt.Fatalf("%v turned by %s, told %s", w, at, next)
			}
		}
		if ok {
			rt.Fatalf("next %s is more than a day after %s", next, now)
		}
	})
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
