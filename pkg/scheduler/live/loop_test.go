package live

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
