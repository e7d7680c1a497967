package tdm

import (
	"fmt"
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
	for name, args := range map[string]framework.Args{
		"hours":   {"tdm.revocable-zone.night": "late"},
		"period":  {"tdm.evict.period": "0s"},
		"unknown": {"tdm.revocable.night": "20:00-06:00"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(args, framework.Env{}); err == nil {
				t.Error("it was accepted")
			}
		})
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
