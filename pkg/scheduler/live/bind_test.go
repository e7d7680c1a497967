package live

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
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
				s.binder, s.nominator = newBinder(s), newNominator(s)
				defer s.nominator.queue.ShutDown()
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
		reason.Preempted: "PreemptionByScheduler", reason.Swapped: "PreemptionByScheduler",
		reason.Reclaimed: "PreemptionByScheduler", reason.MoreUrgent: "PreemptionByScheduler",
		reason.Shuffled: "EvictionByScheduler", reason.Unrepaired: "EvictionByScheduler",
	} {
		if got := disruption(engine.Evict{Why: reason.Reason{Code: code}}); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}

// atServer is a Scheduler whose API server has these pods.
func atServer(pods ...runtime.Object) (*Scheduler, *fake.Clientset) {
	server := fake.NewClientset(pods...)
	s := &Scheduler{pods: server, recorder: &toolsrecord.FakeRecorder{}, mailbox: newMailbox[engine.Event]()}
	s.binder, s.evictor, s.nominator, s.announcer = newBinder(s), newEvictor(s), newNominator(s), newAnnouncer(s)
	return s, server
}

func podOf(uid types.UID) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: uid}}
}

// TestAConflictIsOnlyAnEndWhenThePodIsGone has the API server answer evictions with a conflict.
func TestAConflictIsOnlyAnEndWhenThePodIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		there []runtime.Object
		tries int
		again bool
		told  []engine.Event
	}{
		"somebody else writes to it":            {[]runtime.Object{podOf("u")}, 1, true, nil},
		"somebody else does so time and again":  {[]runtime.Object{podOf("u")}, evictTries + 1, false, []engine.Event{engine.EvictFailed{UID: "u"}}},
		"another has its name":                  {[]runtime.Object{podOf("v")}, 1, false, nil},
		"it is gone":                            {nil, 1, false, nil},
		"another has its name, looked at often": {[]runtime.Object{podOf("v")}, evictTries + 1, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := atServer(tt.there...)
			server.PrependReactor("create", "pods/eviction", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("changed"))
			})
			s.evictor.add(engine.Evict{UID: "u", Name: "ml/p"})
			var err error
			for range tt.tries {
				if err = s.evictor.write(t.Context(), "u"); err != nil {
					s.evictor.queue.AddRateLimited("u")
				}
			}
			events := s.mailbox.take()
			for i, ev := range events {
				if failed, ok := ev.(engine.EvictFailed); ok {
					failed.Why = ""
					events[i] = failed
				}
			}
			if (err != nil) != tt.again || !slices.Equal(events, tt.told) {
				t.Errorf("it says %v and tells %+v; want another try %v and %+v", err, events, tt.again, tt.told)
			}
			if kept := len(s.evictor.evictions) > 0; kept != tt.again {
				t.Errorf("it is kept in mind: %v, want %v", kept, tt.again)
			}
		})
	}
}

func TestEvictionsAreCountedByWhy(t *testing.T) {
	s, server := atServer(podOf("u"))
	server.PrependReactor("create", "pods/eviction", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	for _, code := range []reason.Code{reason.Preempted, reason.Shuffled, reason.Shuffled} {
		s.evictor.add(engine.Evict{UID: "u", Name: "ml/p", Why: reason.Reason{Code: code}})
		if err := s.evictor.write(t.Context(), "u"); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := s.evictor.counts(), (map[reason.Code]int64{reason.Preempted: 1, reason.Shuffled: 2}); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// TestVictimsAreThoseWhoMakeRoom has a run look for victims in which others were told to go as well.
func TestVictimsAreThoseWhoMakeRoom(t *testing.T) {
	s := Snapshot{Victims: 4}
	s.planned(engine.Report{})
	if s.Victims != 4 {
		t.Errorf("a run in which none were looked for leaves %d, want the 4 of before", s.Victims)
	}
	s.planned(engine.Report{Plans: 2, Victims: 3})
	if s.Victims != 3 || s.Plans != 2 {
		t.Errorf("%d victims in %d plans, want 3 in 2", s.Victims, s.Plans)
	}
}

func TestAPodIsToldOnceOnWhichNodeRoomIsMadeForIt(t *testing.T) {
	on := func(node string) engine.Nominate { return engine.Nominate{UID: "u", Name: "ml/p", Node: node} }
	for name, tt := range map[string]struct {
		told  []engine.Nominate
		bound bool
		fails int
		want  []string
	}{
		"a node":                {told: []engine.Nominate{on("n1")}, want: []string{"n1"}},
		"only the last counts":  {told: []engine.Nominate{on("n1"), on("n2")}, want: []string{"n2"}},
		"none any more":         {told: []engine.Nominate{on("")}, want: []string{""}},
		"it is bound meanwhile": {told: []engine.Nominate{on("n1")}, bound: true},
		"a write fails":         {told: []engine.Nominate{on("n1")}, fails: 1, want: []string{"n1", "n1"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf("u")
			pod.Status.NominatedNodeName = "before"
			s, server := atServer(pod)
			var wrote []string
			server.PrependReactor("patch", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
				var patch corev1.Pod
				if err := json.Unmarshal(a.(k8stesting.PatchAction).GetPatch(), &patch); err != nil {
					t.Fatal(err)
				}
				if patch.UID != "u" || a.GetSubresource() != "status" {
					t.Errorf("pod %q, subresource %q", patch.UID, a.GetSubresource())
				}
				wrote = append(wrote, patch.Status.NominatedNodeName)
				if tt.fails--; tt.fails >= 0 {
					return true, nil, errors.New("busy")
				}
				return false, nil, nil
			})
			for _, d := range tt.told {
				s.nominator.add(d)
			}
			if tt.bound {
				s.nominator.forget("u")
			}
			for range 3 {
				if err := s.nominator.write(t.Context(), "u"); err != nil && len(wrote) != 1 {
					t.Fatal(err)
				}
			}
			if !slices.Equal(wrote, tt.want) {
				t.Errorf("wrote %q, want %q", wrote, tt.want)
			}
			p, err := server.CoreV1().Pods("ml").Get(t.Context(), "p", metav1.GetOptions{})
			if err != nil || len(tt.want) > 0 && p.Status.NominatedNodeName != tt.want[len(tt.want)-1] {
				t.Errorf("the pod says %q, want %q (%v)", p.Status.NominatedNodeName, tt.want, err)
			}
		})
	}
}
