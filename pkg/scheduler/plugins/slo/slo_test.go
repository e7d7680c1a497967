package slo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/slo"
)

const (
	deadline   = "deadline"
	estimate   = "running-estimate"
	progress   = "progress"
	least      = "min-throughput"
	throughput = "throughput"
	replicas   = "min-replicas"
)

// start is when all stories begin.
var start = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

type abilities interface { //nolint:interfacebloat // all that a plugin can do
	framework.Begins
	framework.Follows
	framework.Continues
	framework.Pursues
	framework.OrdersQueues
	framework.OrdersGangs
	framework.VotesOnGangs
	framework.Reserves
	framework.RanksVictims
	framework.Notices
	framework.VotesOnPreempting
	framework.VotesOnReclaiming
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// stage is a world with the plugin beside it.
type stage struct {
	abilities

	t fataler
	w *model.World
}

func newStage(t fataler, args framework.Args) *stage {
	t.Helper()
	w := model.New()
	p, err := slo.New(args, framework.Env{Dim: w.Resources.Dim})
	if err != nil {
		t.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		t.Fatal("slo lacks abilities")
	}
	s := &stage{abilities: able, t: t, w: w}
	w.SetNode(model.NodeSpec{Name: "n1", Allocatable: gpus(100)})
	w.SetQueue(model.QueueSpec{Name: "q"})
	return s
}

func gpus(n int64) resource.List {
	return resource.ListOf(map[string]int64{"gpu": n, resource.Pods: n})
}

// gang tells of a gang; notes are annotations without their prefix, each before its value.
func (s *stage) gang(key, queue string, min int32, notes ...string) *model.Gang {
	spec := model.GangSpec{Key: key, UID: key, Queue: queue, Min: min, Created: start, Annotations: map[string]string{}}
	for i := 0; i < len(notes); i += 2 {
		spec.Annotations["scheduling.volcano.sh/slo-"+notes[i]] = notes[i+1]
	}
	s.w.SetGang(spec)
	return s.w.GangOf(key)
}

// tasks tells of n tasks of a gang with one GPU each, that started at an instant, or wait.
func (s *stage) tasks(gang string, n int, started time.Time, ended model.Ended) {
	for i := range n {
		uid := fmt.Sprintf("%s/%d", gang, i)
		t := model.TaskSpec{UID: uid, Name: uid, Gang: gang, Started: started, Ended: ended, Shape: model.Shape{Key: "1", Requests: gpus(1)}}
		if !started.IsZero() {
			t.Node = "n1"
		}
		s.w.SetTask(t)
	}
}

// at begins a cycle so long after the start.
func (s *stage) at(after time.Duration) {
	for _, g := range s.w.TakeTouched() {
		s.Follow(g, !g.Known && len(g.Tasks) == 0)
	}
	s.Begin(s.w, start.Add(after))
}

func in(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }

func TestUrgencyIsWorkOfTheTimeLeft(t *testing.T) {
	const m, h = time.Minute, time.Hour
	tests := map[string]struct {
		notes   []string
		ran     time.Duration // 0: it waits
		urgency int64         // in thousandths; -1: it has no deadline
		urgent  bool
		unmet   reason.Code
		next    time.Duration // from now; 0: never
	}{
		"2h of 10h; half of them in 6h":                {[]string{deadline, in(10 * h), estimate, "2h"}, 0, 200, false, "", 6 * h},
		"2h of 4h; all of them in 2h":                  {[]string{deadline, in(4 * h), estimate, "2h"}, 0, 500, true, "", 2*h + time.Millisecond},
		"2h of 2h":                                     {[]string{deadline, in(2 * h), estimate, "2h"}, 0, 1000, true, "", time.Millisecond},
		"2h of 1h":                                     {[]string{deadline, in(h), estimate, "2h"}, 0, 2000, false, reason.DeadlineTooSoon, h},
		"a quarter of 2h is left, of 2h":               {[]string{deadline, in(2 * h), estimate, "2h", progress, "75%"}, 0, 250, false, "", h},
		"2h, of which it ran 1h":                       {[]string{deadline, in(2 * h), estimate, "2h"}, h, 500, true, "", h},
		"2h, but it ran 3h: a tenth is still to come":  {[]string{deadline, in(h), estimate, "2h"}, 3 * h, 200, false, "", 36 * m},
		"a quarter took 1h, so that 3h remain":         {[]string{deadline, in(6 * h), progress, "0.25"}, h, 500, true, "", 45*m + time.Millisecond},
		"half took 1h; 1h40m when 3h20m are left":      {[]string{deadline, in(4 * h), progress, "0.5"}, h, 250, false, "", 40*m + time.Millisecond},
		"all is done":                                  {[]string{deadline, in(4 * h), progress, "100%"}, h, 0, false, "", 4 * h},
		"nothing is known: 1h is assumed":              {[]string{deadline, in(4 * h)}, 0, 250, false, "", 2 * h},
		"nothing is known, and less time than assumed": {[]string{deadline, in(30 * m)}, 0, 1000, true, "", 30 * m},
		"the deadline has passed":                      {[]string{deadline, in(-h), estimate, "2h"}, 0, 1_000_000, false, reason.DeadlineMissed, 0},
		"a deadline that can't be read":                {[]string{deadline, "tomorrow", estimate, "2h"}, 0, -1, false, "", 0},
		"an estimate that can't be read: 1h":           {[]string{deadline, in(4 * h), estimate, "-2h"}, 0, 250, false, "", 2 * h},
		"another time zone":                            {[]string{deadline, "2026-06-01T12:00:00+02:00", estimate, "2h"}, 0, 200, false, "", 6 * h},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			g := s.gang("g", "q", 1, tt.notes...)
			var since time.Time
			if tt.ran > 0 {
				since = start.Add(-tt.ran)
			}
			s.tasks("g", 1, since, model.NotEnded)
			s.at(0)
			got := int64(-1)
			for _, o := range first(s.Objectives()) {
				got = o.Urgency
			}
			if got != tt.urgency {
				t.Errorf("urgency %d, want %d", got, tt.urgency)
			}
			why, _ := s.Unmet(g)
			if why.Code != tt.unmet {
				t.Errorf("unmet %q, want %q", why.Code, tt.unmet)
			}
			next, ok := s.ChangesAt()
			if ok != (tt.next != 0) || (ok && next.Sub(start) != tt.next) {
				t.Errorf("changes in %v (%t), want %v", next.Sub(start), ok, tt.next)
			}
			from, reserves := s.ReserveFrom(g)
			if urgent := reserves && !from.After(start); tt.ran == 0 && urgent != tt.urgent {
				t.Errorf("room is set aside from %v, want urgent %t", from, tt.urgent)
			}
			if vote, _ := s.VoteOnGang(g, nil); (vote == framework.Permit) != (tt.urgent && tt.ran == 0) {
				t.Errorf("vote %d, want urgent %t", vote, tt.urgent)
			}
		})
	}
}

func first[T any](list []T, _ int64) []T { return list }

func TestAMissIsCountedOnceWhenItHappens(t *testing.T) {
	const h = time.Hour
	s := newStage(t, nil)
	s.gang("stale", "q", 1, deadline, in(-h))
	s.gang("done", "q", 1, deadline, in(h))
	s.gang("late", "q", 1, deadline, in(h))
	s.tasks("done", 1, start, model.NotEnded)
	s.tasks("late", 1, start, model.NotEnded)
	missed := func() int64 {
		_, n := s.Objectives()
		return n
	}
	var got []int64
	s.at(0)
	got = append(got, missed())
	s.tasks("done", 1, start, model.Succeeded)
	s.at(h - time.Millisecond)
	got = append(got, missed())
	s.at(h)
	got = append(got, missed())
	s.at(2 * h)
	got = append(got, missed())
	s.gang("late", "q", 1, deadline, in(3*h)) // another deadline may be missed as well
	s.at(2 * h)
	s.at(4 * h)
	got = append(got, missed())
	if diff := cmp.Diff([]int64{0, 0, 1, 1, 2}, got); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryIsTimePerReplicaAndMember lets gangs of four with a minimum of two take 10m
// and 20m: 5m for each, then 5m and a quarter of 5m more.
func TestHistoryIsTimePerReplicaAndMember(t *testing.T) {
	const m = time.Minute
	s := newStage(t, framework.Args{"slo.templates": 2})
	ran := func(key string, n int, took time.Duration) {
		s.gang(key, "q", 2)
		s.tasks(key, n, start, model.NotEnded)
		s.at(m)
		s.tasks(key, n, start, model.Succeeded)
		s.at(took)
		for i := range n {
			s.w.DropTask(fmt.Sprintf("%s/%d", key, i))
		}
		s.w.DropGang(key, key)
		s.at(took)
	}
	work := func(key string, n int) time.Duration { // by urgency: the deadline is in 1000m
		s.gang(key, "q", 2, deadline, in(1000*m))
		s.tasks(key, n, time.Time{}, model.NotEnded)
		s.at(0)
		defer s.w.DropGang(key, key)
		for _, o := range first(s.Objectives()) {
			if o.Gang.Key == key {
				return time.Duration(o.Urgency) * m
			}
		}
		return 0
	}
	var got []time.Duration
	got = append(got, work("a/unknown", 4)) // 1h is assumed
	ran("a/1", 4, 10*m)
	got = append(got, work("a/2", 4), work("a/8", 8), work("b/2", 4))
	ran("a/3", 4, 20*m)
	got = append(got, work("a/4", 4), work("a/9", 8)) // 12m30s, 25m
	ran("b/1", 4, 40*m)
	ran("c/1", 4, 40*m)
	got = append(got, work("a/5", 4), work("b/5", 4)) // a is forgotten
	want := []time.Duration{60 * m, 10 * m, 20 * m, 60 * m, 12 * m, 25 * m, 60 * m, 40 * m}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryIsLearnedAgainFromThoseThatAreStillThere tells a plugin that never saw them run
// of gangs that took 10m and then 20m, and of others that say too little.
func TestHistoryIsLearnedAgainFromThoseThatAreStillThere(t *testing.T) {
	const m = time.Minute
	s := newStage(t, nil)
	ended := func(key string, began, took time.Duration, how model.Ended) {
		s.gang(key, "q", 1)
		spec := model.TaskSpec{UID: key, Name: key, Gang: key, Node: "n1", Started: start.Add(began), Ended: how, Shape: model.Shape{Key: "1", Requests: gpus(1)}}
		if took > 0 {
			spec.Finished = spec.Started.Add(took)
		}
		s.w.SetTask(spec)
	}
	ended("a/last", -50*m, 20*m, model.Succeeded) // 10m and a quarter of 10m more
	ended("a/first", -90*m, 10*m, model.Succeeded)
	ended("a/failed", -20*m, 5*m, model.Failed)
	ended("a/silent", -20*m, 0, model.Succeeded)
	s.at(0)
	s.gang("a/last", "q", 1, throughput, "1") // it is told of once more, and counts once
	s.at(0)
	s.gang("a/new", "q", 1, deadline, in(1000*m))
	s.tasks("a/new", 1, time.Time{}, model.NotEnded)
	s.at(0)
	if o := first(s.Objectives()); len(o) != 1 || o[0].Urgency != 12 {
		t.Errorf("%+v, want 12 thousandths of 1000m", o)
	}
}

// TestUrgentQueuesGoByTheirScore compares shares of 100 GPUs, less by the slack there is.
func TestUrgentQueuesGoByTheirScore(t *testing.T) {
	const h = time.Hour
	s := newStage(t, nil)
	want := []string{
		"all",     // (80+10)/100 x (1 - 1)    = 0
		"heavy",   // (30+10)/100 x (1 - 0.5) / 8 = 0.025
		"pressed", // (60+10)/100 x (1 - 0.96) = 0.028
		"idle",    // (0+10)/100 x (1 - 0.6)   = 0.04
		"used",    // (30+10)/100 x (1 - 0.5)  = 0.2
		"relaxed", // 0.4: below the threshold
	}
	for queue, q := range map[string]struct {
		used   int64
		weight int32
		work   string
	}{
		"used": {30, 1, "5h"}, "idle": {0, 1, "6h"}, "pressed": {60, 1, "9h36m"},
		"heavy": {30, 8, "5h"}, "relaxed": {0, 1, "4h"}, "all": {80, 1, "10h"},
	} {
		s.w.SetQueue(model.QueueSpec{Name: queue, Weight: q.weight})
		s.gang(queue+"-runs", queue, 1)
		s.tasks(queue+"-runs", int(q.used), start, model.NotEnded)
		s.w.QueueNamed(queue).Next = s.gang(queue, queue, 10, deadline, in(10*h), estimate, q.work)
		s.tasks(queue, 12, time.Time{}, model.NotEnded)
	}
	s.at(0)
	for i, a := range want {
		for j, b := range want {
			got := s.CompareQueues(s.w.QueueNamed(a), s.w.QueueNamed(b))
			if wanted := sign(i - j); sign(got) != wanted {
				t.Errorf("%s to %s: %d, want %d", a, b, got, wanted)
			}
		}
	}
	for _, next := range []*model.Gang{nil, s.gang("plain", "idle", 1)} {
		s.w.QueueNamed("idle").Next = next
		if got := s.CompareQueues(s.w.QueueNamed("idle"), s.w.QueueNamed("relaxed")); got != 0 {
			t.Errorf("of queues without urgent gangs it says %d", got)
		}
	}
}

func sign(n int) int { return min(max(n, -1), 1) }

// TestGangsGoByWhatTheyLack has one gang of each kind, in the order in which they go; those of one line are equal.
func TestGangsGoByWhatTheyLack(t *testing.T) {
	const h = time.Hour
	s := newStage(t, nil)
	gang := func(key string, placed, waiting int, min int32, notes ...string) *model.Gang {
		g := s.gang(key, "q", min, notes...)
		s.tasks(key, placed+waiting, time.Time{}, model.NotEnded)
		s.tasks(key, placed, start, model.NotEnded)
		return g
	}
	web, shop := gang("web", 4, 0, 1, replicas, "4"), gang("shop", 4, 0, 1, replicas, "4")
	want := [][]*model.Gang{
		{web},
		{shop},
		{gang("tight", 0, 1, 1, deadline, in(10*h), estimate, "9h")},
		{gang("urgent", 0, 1, 1, deadline, in(10*h), estimate, "6h")},
		{gang("slow", 1, 1, 1, least, "1.5k", throughput, "1499")},
		{
			gang("fast", 1, 1, 1, least, "1.5k", throughput, "1500"), gang("slow-but-no-minimum", 0, 1, 1, least, "2", throughput, "1"),
			gang("new", 1, 3, 1, replicas, "4"), gang("unreported", 1, 1, 1, least, "2"),
			gang("runs", 1, 1, 1, deadline, in(10*h), estimate, "6h"), gang("plain", 0, 1, 1), gang("too-soon", 0, 1, 1, deadline, in(h), estimate, "6h"),
		},
	}
	s.at(0)
	s.w.DropTask("web/0") // 2 of 4 are left
	s.w.DropTask("web/1")
	s.w.DropTask("shop/0") // 3 of 4
	s.at(0)
	for i, some := range want {
		for j, others := range want {
			for _, a := range some {
				for _, b := range others {
					if got := sign(s.CompareGangs(a, b)); got != sign(i-j) {
						t.Errorf("%s to %s: %d, want %d", a.Key, b.Key, got, sign(i-j))
					}
				}
			}
		}
	}
}

func TestVictimsOfWhichMuchIsLostGiveWayLast(t *testing.T) {
	const h = time.Hour
	tests := map[string]struct {
		notes []string
		want  int
	}{
		"nothing is promised":                                 {nil, 0},
		"3h remain of 8h, and 7h if it begins again":          {[]string{deadline, in(8 * h), estimate, "7h"}, 2},
		"it may begin again: 4h30m of 10h":                    {[]string{deadline, in(10 * h), estimate, "4h30m"}, 0},
		"it goes on from its progress":                        {[]string{deadline, in(8 * h), estimate, "7h", progress, "90%"}, 0},
		"its deadline can't be met anyway":                    {[]string{deadline, in(h), estimate, "7h"}, 0},
		"it has no more replicas than it should":              {[]string{replicas, "2"}, 2},
		"it has more":                                         {[]string{replicas, "1"}, 0},
		"it is too slow":                                      {[]string{least, "10", throughput, "9"}, 1},
		"it is fast enough":                                   {[]string{least, "10", throughput, "10"}, 0},
		"it is too slow, and has no more than it should have": {[]string{least, "10", throughput, "9", replicas, "2"}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			g := s.gang("g", "q", 1, tt.notes...)
			s.tasks("g", 2, start.Add(-4*h), model.NotEnded)
			s.at(0)
			if got := s.VictimRank(g); got != tt.want {
				t.Errorf("rank %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWhatCantBeReadIsSaid(t *testing.T) {
	tests := map[string]struct {
		notes []string
		said  string // a part of the only notice; empty: there is none
	}{
		"nothing":                       {nil, ""},
		"all is well":                   {[]string{deadline, in(0), estimate, "1h30m", progress, "0.4", replicas, "3", least, "2.5k", throughput, "0"}, ""},
		"a percentage with a fraction":  {[]string{progress, "37.5%"}, ""},
		"a date without a time":         {[]string{deadline, "2026-06-01"}, "give an instant such as 2026-06-01T00:00:00Z"},
		"an estimate of nothing":        {[]string{estimate, "0s"}, `is "0s" and counts as not given: give a duration above 0`},
		"a percentage without its sign": {[]string{progress, "40"}, "give a fraction such as 0.4"},
		"more than all":                 {[]string{progress, "101%"}, "give a fraction"},
		"less than nothing":             {[]string{progress, "-1%"}, "give a fraction"},
		"half a replica":                {[]string{replicas, "0.5"}, "give a whole number of 1 or more"},
		"no throughput at all":          {[]string{least, "0"}, "give a number above 0"},
		"a rate with a unit":            {[]string{throughput, "3 it/s"}, "give a number of 0 or more"},
		"a number beyond all bounds":    {[]string{throughput, "1e999999999"}, "give a number of 0 or more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil)
			said := s.Notices(s.gang("g", "q", 1, tt.notes...))
			if tt.said == "" && len(said) > 0 || tt.said != "" && (len(said) != 1 || !strings.Contains(said[0], tt.said)) {
				t.Errorf("notices %q, want %q", said, tt.said)
			}
		})
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for _, args := range []framework.Args{
		{"slo.threshold": 0},
		{"slo.threshold": "1.5"},
		{"slo.threshold": "soon"},
		{"slo.threshold": -1},
		{"slo.assumed-work": "0s"},
		{"slo.assumed-work": 60},
		{"slo.templates": -1},
		{"threshold": 0.5},
	} {
		_, err := slo.New(args, framework.Env{Dim: func(string) int { return 0 }})
		if err == nil {
			t.Errorf("%v was accepted", args)
		}
		for key := range args {
			if err != nil && !strings.Contains(err.Error(), key) {
				t.Errorf("%v: %v", args, err)
			}
		}
	}
}

// TestAnotherConfigurationKeepsWhatWasLearned gives a running plugin another threshold.
func TestAnotherConfigurationKeepsWhatWasLearned(t *testing.T) {
	const h = time.Hour
	s := newStage(t, nil)
	g := s.gang("g", "q", 1, deadline, in(10*h), estimate, "3h")
	s.tasks("g", 1, time.Time{}, model.NotEnded)
	s.at(0)
	if vote, _ := s.VoteOnGang(g, nil); vote != framework.Abstain {
		t.Error("it is urgent at 0.3 of 0.5")
	}
	other, err := slo.New(framework.Args{"slo.threshold": 0.25}, framework.Env{Dim: s.w.Resources.Dim})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Continue(other); err != nil {
		t.Fatal(err)
	}
	s.at(0)
	if vote, _ := s.VoteOnGang(g, nil); vote != framework.Permit {
		t.Error("it is not urgent at 0.3 of 0.25")
	}
}

func TestNothingIsReservedThatOthersAreGuaranteed(t *testing.T) {
	const h = time.Hour
	s := newStage(t, nil)
	s.w.SetQueue(model.QueueSpec{Name: "kept", Guarantee: resource.ListOf(map[string]int64{"gpu": 95})})
	fits := s.gang("fits", "q", 5, deadline, in(2*h), estimate, "2h")
	s.tasks("fits", 5, time.Time{}, model.NotEnded)
	big := s.gang("big", "q", 6, deadline, in(2*h), estimate, "2h")
	s.tasks("big", 6, time.Time{}, model.NotEnded)
	s.at(0)
	_, first := s.ReserveFrom(fits)
	_, second := s.ReserveFrom(big)
	if !first || second {
		t.Errorf("reserves %t, %t; want true, false", first, second)
	}
}
