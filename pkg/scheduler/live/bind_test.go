package live

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolsrecord "k8s.io/client-go/tools/record"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// TestAFailedBindComesBackLaterEachTime, whatever it failed for: a pod that the API
// server does not know may be one whose end the watch has not told yet.
func TestAFailedBindComesBackLaterEachTime(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		told []bool // that it was refused
	}{
		"the pod is gone": {apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p"), []bool{false, true, true}},
		"it is denied":    {errors.New("denied"), []bool{true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Scheduler{recorder: &toolsrecord.FakeRecorder{}, mailbox: newMailbox[engine.Event]()}
				s.binder = newBinder(s)
				d := engine.Bind{UID: "u", Name: "ml/p", Node: "n"}
				wait := 50 * time.Millisecond
				for _, told := range tt.told {
					s.binder.refused(t.Context(), d, tt.err)
					if got := len(s.mailbox.take()); (got == 1) != told {
						t.Errorf("the engine is told %d events at once", got)
					}
					<-time.After(wait - time.Millisecond)
					if events := s.mailbox.take(); len(events) != 0 {
						t.Errorf("%+v before %v went by", events, wait)
					}
					<-time.After(2 * time.Millisecond)
					if events := s.mailbox.take(); len(events) != 1 || events[0] != (engine.BindFailed{UID: "u", Node: "n"}) {
						t.Errorf("%+v after %v", events, wait)
					}
					wait *= 2
				}
				s.pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, true)
				if n := s.binder.backoff.NumRequeues("u"); n != 0 {
					t.Errorf("%d failures of a pod that is gone are remembered", n)
				}
			})
		})
	}
}

// TestPreemptionIsSaidOfThoseAloneWhoseRoomIsNeeded: others are evicted by the scheduler too,
// but for no other pod.
func TestPreemptionIsSaidOfThoseAloneWhoseRoomIsNeeded(t *testing.T) {
	for code, want := range map[reason.Code]string{
		reason.Preempted: "PreemptionByScheduler", reason.Reclaimed: "PreemptionByScheduler", reason.MoreUrgent: "PreemptionByScheduler",
		reason.Shuffled: "EvictionByScheduler", reason.Unrepaired: "EvictionByScheduler",
	} {
		if got := disruption(engine.Evict{Why: reason.Reason{Code: code}}); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}
