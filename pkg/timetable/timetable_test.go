package timetable_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/timetable"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestWhenItIsDue(t *testing.T) {
	for name, c := range map[string]struct{ schedule, zone, after, want string }{
		"each quarter of an hour":           {"*/15 * * * *", "Etc/UTC", "2026-12-04 02:44:07", "2026-12-04 02:45:00"},
		"when it is due it is due later":    {"*/15 * * * *", "Etc/UTC", "2026-12-04 02:45:00", "2026-12-04 03:00:00"},
		"at three in Shanghai":              {"0 3 * * *", "Asia/Shanghai", "2026-12-04 02:44:07", "2026-12-04 19:00:00"},
		"a zone in the schedule":            {"TZ=Asia/Shanghai 0 3 * * *", "", "2026-12-04 02:44:07", "2026-12-04 19:00:00"},
		"a word":                            {"@hourly", "Etc/UTC", "2026-12-04 02:44:07", "2026-12-04 03:00:00"},
		"again and again":                   {"@every 90s", "", "2026-12-04 02:44:07", "2026-12-04 02:45:37"},
		"an hour that does not come is not": {"30 2 * * *", "Europe/Berlin", "2026-03-28 02:00:00", "2026-03-30 00:30:00"},
		"a day that never comes":            {"0 0 30 2 *", "Etc/UTC", "2026-12-04 02:44:07", "never"},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := timetable.Parse(c.schedule, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			got := "never"
			if next := table.Next(at(c.after)); !next.IsZero() {
				got = next.UTC().Format("2006-01-02 15:04:05")
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatCantBeRead(t *testing.T) {
	for _, c := range []struct{ schedule, zone, want string }{
		{"* * * *", "", `schedule "* * * *" can't be read`},
		{"61 * * * *", "", "give five fields"},
		{"TZ=Etc/UTC", "", "give five fields"},
		{"* * * * *", "Mars/Olympus", `timeZone "Mars/Olympus" is unknown`},
		{"* * * * *", "Local", "another one on each machine"},
		{"TZ=Etc/UTC * * * * *", "Etc/UTC", "name it in timeZone alone"},
	} {
		if _, err := timetable.Parse(c.schedule, c.zone); !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%q in %q: %v", c.schedule, c.zone, err)
		}
	}
}

// TestTheLastTimeIsThatOfWhoCounts compares with going from one time to the next.
func TestTheLastTimeIsThatOfWhoCounts(t *testing.T) {
	schedules := []string{"* * * * *", "*/7 * * * *", "0 3 * * *", "30 2 * * *", "*/5 1 31 * *", "0 0 1 1 *", "@every 37s", "@daily"}
	rapid.Check(t, func(t *rapid.T) {
		table, err := timetable.Parse(rapid.SampledFrom(schedules).Draw(t, "schedule"), rapid.SampledFrom([]string{"Etc/UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		after := at("2026-01-01 00:00:00").Add(time.Duration(rapid.IntRange(0, 400*86400).Draw(t, "after")) * time.Second)
		until := after.Add(time.Duration(rapid.IntRange(0, 3*86400).Draw(t, "seconds")) * time.Second)
		var last time.Time
		n := 0
		for next := table.Next(after); !next.IsZero() && !next.After(until); next = table.Next(next) {
			last, n = next, n+1
		}
		if got := table.Last(after, until); !got.Equal(last) {
			t.Errorf("%v, want %v", got, last)
		}
		if got := table.Missed(after, until, 100); got != min(n, 100) {
			t.Errorf("%d times, want %d", got, n)
		}
	})
}
