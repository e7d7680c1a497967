package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

func TestTimeGoesOnWhateverTheClockSays(t *testing.T) {
	noon := time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		now    time.Time
		passed time.Duration
		clock  time.Time
		want   time.Time
	}{
		"at the start":                  {time.Time{}, 0, noon, noon},
		"as the clock goes":             {noon, time.Second, noon.Add(time.Second), noon.Add(time.Second)},
		"the clock is set an hour on":   {noon, time.Second, noon.Add(time.Hour), noon.Add(time.Hour)},
		"the clock is set an hour back": {noon, time.Second, noon.Add(-time.Hour), noon.Add(time.Second)},
	} {
		if got := later(tt.now, tt.passed, tt.clock); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestAnObjectMadeAnewUnderItsNameIsAnother(t *testing.T) {
	pod := func(uid string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: types.UID(uid)}}
	}
	if !replaced(pod("1"), pod("2")) || replaced(pod("1"), pod("1")) {
		t.Error("pods are told apart by their UID")
	}
}

func TestOnlyNewsIsLogged(t *testing.T) {
	s := &Scheduler{waiting: map[string]reason.Reason{}}
	s.binder, s.statuses, s.announcer, s.nominator = newBinder(s), newStatusWriter(s), newAnnouncer(s), newNominator(s)
	status := func(phase model.Phase, held, running int32, waits bool) engine.Decision {
		return engine.Status{Gang: "ml/a", UID: "u", Phase: phase, Held: held, Min: 2, Running: running, Waits: waits}
	}
	refuse := func(code reason.Code, short int64) engine.Decision {
		return engine.Refuse{Gang: "ml/a", UID: "u", Why: reason.Reason{Code: code, Need: short}}
	}
	for _, step := range []struct {
		said []engine.Decision
		want []string // at the level of news
	}{
		{[]engine.Decision{refuse(reason.NotEnoughNodes, 2), status(model.Pending, 0, 0, true)}, []string{"PodGroup ml/a waits", "PodGroup ml/a is pending"}},
		{[]engine.Decision{refuse(reason.NotEnoughNodes, 1)}, nil},
		{[]engine.Decision{status(model.Pending, 1, 0, true)}, nil},
		{[]engine.Decision{refuse(reason.QueueCapability, 1)}, []string{"PodGroup ml/a waits"}},
		{[]engine.Decision{status(model.Running, 2, 1, false)}, []string{"PodGroup ml/a is running"}},
		{[]engine.Decision{status(model.Running, 2, 2, false), status(model.Running, 3, 2, true)}, nil},
		{[]engine.Decision{engine.Refuse{Task: "ml/p", UID: "p", Why: reason.Reason{Code: reason.NoGang}}}, []string{"pod has no PodGroup"}},
		{[]engine.Decision{engine.Refuse{Task: "ml/p", UID: "p", Gang: "ml/a", Why: reason.Reason{Code: reason.GangFound}}}, nil},
	} {
		var got []string
		log := funcr.NewJSON(func(text string) { got = append(got, text) }, funcr.Options{})
		s.dispatch(logr.NewContext(t.Context(), log), engine.Report{Decisions: step.said})
		for i := range got {
			_, rest, _ := strings.Cut(got[i], `"msg":"`)
			got[i], _, _ = strings.Cut(rest, `"`)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%+v: logged %q, want %q", step.said, got, step.want)
		}
	}
}
