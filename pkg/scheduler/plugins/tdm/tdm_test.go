package tdm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

func TestWhoMayUseAZone(t *testing.T) {
	tests := map[string]struct {
		hints     map[string]string
		all, some bool // in any zone, in night
	}{
		"nobody said anything":          {nil, false, false},
		"all zones":                     {map[string]string{zoneKey: "*"}, true, true},
		"two by name":                   {map[string]string{zoneKey: "evening, night"}, false, true},
		"another by name":               {map[string]string{zoneKey: "evening"}, false, false},
		"preemptable":                   {map[string]string{preemptable: "true"}, true, true},
		"preemptable, but names a zone": {map[string]string{preemptable: "true", zoneKey: "evening"}, false, false},
		"not preemptable":               {map[string]string{preemptable: "false", zoneKey: "*"}, false, false},
		"no word for yes":               {map[string]string{preemptable: "perhaps"}, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := grantOf(tt.hints)
			if g.in("any") != tt.all || g.in("night") != tt.some {
				t.Errorf("any zone %v, night %v, want %v, %v", g.in("any"), g.in("night"), tt.all, tt.some)
			}
		})
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		args framework.Args
		says string
	}{
		"hours":        {framework.Args{"tdm.revocable-zone.night": "late"}, `argument tdm.revocable-zone.night is "late": "late" has no begin and end: give the hours when it is open, such as 20:00-06:00`},
		"an hour":      {framework.Args{"tdm.revocable-zone.night": "20:00-25:00"}, `"25:00" is no time of day`},
		"period":       {framework.Args{"tdm.evict.period": "0s"}, "argument tdm.evict.period is"},
		"unknown":      {framework.Args{"tdm.revocable.night": "20:00-06:00"}, "argument \"tdm.revocable.night\" is unknown"},
		"a time zone":  {framework.Args{"tdm.time-zone": "Europe/Atlantis"}, `argument tdm.time-zone is "Europe/Atlantis": give the name of a time zone, such as Europe/Berlin or UTC`},
		"no time zone": {framework.Args{"tdm.time-zone": ""}, "give the name of a time zone"},
		"this machine": {framework.Args{"tdm.time-zone": "Local"}, "give the name of a time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tt.args, framework.Env{}); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v does not say %s", err, tt.says)
			}
		})
	}
}

// TestAWindowGoesByTheTimeZoneThatIsGiven, wherever the scheduler is: 22:00 in Berlin is
// 21:00 UTC in winter, 20:00 in summer.
func TestAWindowGoesByTheTimeZoneThatIsGiven(t *testing.T) {
	made, err := New(framework.Args{"tdm.time-zone": "Europe/Berlin", "tdm.revocable-zone.night": "22:00-06:00"}, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	p, w := made.(*plugin), model.New()
	w.SetNode(model.NodeSpec{Name: "n", Labels: map[string]string{zoneKey: "night"}})
	fits := p.FilterNodes(&model.Class{Shape: model.Shape{Hints: map[string]string{zoneKey: "*"}}})
	for _, tt := range []struct {
		at   string
		open bool
	}{
		{"2026-01-10T20:59:59Z", false},
		{"2026-01-10T21:00:00Z", true},
		{"2026-01-11T00:30:00Z", true},
		{"2026-01-11T05:00:00Z", false},
		{"2026-07-10T19:59:59Z", false},
		{"2026-07-10T20:00:00Z", true},
		{"2026-07-11T04:00:00Z", false},
	} {
		p.Turned(w, moment(t, tt.at).In(zoneOf(t, "America/New_York")))
		why, open := fits(w.Nodes()[0])
		if open != tt.open || (!open && why != "in revocable zone night, which is open 22:00-06:00 (Europe/Berlin)") {
			t.Errorf("at %s open %v (%s), want %v", tt.at, open, why, tt.open)
		}
	}
}

// TestAClockThatIsSetCountsInARecording, in which instants have an offset, but no rules of
// when it changes.
func TestAClockThatIsSetCountsInARecording(t *testing.T) {
	made, err := New(framework.Args{"tdm.revocable-zone.night": "22:00-06:00"}, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	p, w := made.(*plugin), model.New()
	w.SetNode(model.NodeSpec{Name: "n", Labels: map[string]string{zoneKey: "night"}})
	fits := p.FilterNodes(&model.Class{Shape: model.Shape{Hints: map[string]string{zoneKey: "*"}}})
	p.Turned(w, moment(t, "2026-03-29T01:30:00+01:00")) // by itself it closes at 06:00+01:00
	p.Turned(w, moment(t, "2026-03-29T06:00:00+02:00"))
	if _, open := fits(w.Nodes()[0]); open {
		t.Error("it is open at six")
	}
}

// TestFiltersChangeTheirMindOnlyWhenTheyTurn: whatever the windows, and however far apart
// the runs are, no filter says another thing of a node that was not among those that
// turned, and what it says is so at that instant. While nothing turns, nothing is listed.
func TestFiltersChangeTheirMindOnlyWhenTheyTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minute := rapid.IntRange(0, day/60-1)
		clock := func(label string) string {
			m := minute.Draw(t, label)
			return fmt.Sprintf("%02d:%02d", m/60, m%60)
		}
		args := framework.Args{}
		for _, z := range []string{"a", "b"} {
			args[prefix+z] = clock("from") + "-" + clock("to")
		}
		made, err := New(args, framework.Env{})
		if err != nil {
			t.Fatal(err)
		}
		p := made.(*plugin)
		w := model.New()
		for _, z := range []string{"", "a", "b", "c"} {
			w.SetNode(model.NodeSpec{Name: "n" + z, Labels: map[string]string{zoneKey: z}})
		}
		fits := p.FilterNodes(&model.Class{Shape: model.Shape{Hints: map[string]string{zoneKey: "*"}}})
		last := map[string]bool{}
		for _, n := range w.Nodes() {
			_, last[n.Name] = fits(n)
		}
		now := time.Unix(int64(rapid.IntRange(0, 400*day).Draw(t, "start")), 0).UTC()
		for range 20 {
			turned := turnedAt(t, p, w, now)
			for _, n := range w.Nodes() {
				_, ok := fits(n)
				if ok != last[n.Name] && !turned[n.Name] {
					t.Fatalf("at %s %s fits %v, and was not among those that turned", now, n.Name, ok)
				}
				if z := p.zone(n.Labels[zoneKey]); z != nil && ok != z.window.open(now) {
					t.Fatalf("at %s %s fits %v", now, n.Name, ok)
				}
				last[n.Name] = ok
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 8*60*60).Draw(t, "pause")) * time.Second)
		}
	})
}

// turnedAt names the nodes that turned, which must not be before they were to.
func turnedAt(t *rapid.T, p *plugin, w *model.World, now time.Time) map[string]bool {
	turned := map[string]bool{}
	due, timed := p.TurnsAt()
	first := !p.settled
	for _, turn := range p.Turned(w, now) {
		turned[turn.Node.Name] = true
	}
	if !first && len(turned) > 0 && (!timed || now.Before(due)) {
		t.Fatalf("at %s nodes turned, which was to be at %s", now, due)
	}
	return turned
}
