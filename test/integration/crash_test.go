package integration_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
)

// Lives of jobs in the crash test: rounds in which Muster is killed once, with so many jobs at
// work that are each at another point.
const (
	crashes       = 10
	livesPerCrash = 5
)

// TestACrashAtAnyPointChangesNothing kills Muster at fifty random points of jobs' lives: of
// some that start again until their retries are used up, and of some that succeed.
func TestACrashAtAnyPointChangesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	w, ns := newJob(t, vcjob("first", "", short, short))
	random := rand.New(rand.NewPCG(5, 50)) // the same points in each run, as far as a machine lets them be
	pause := func(most time.Duration) {
		<-time.After(time.Duration(random.Int64N(int64(most))))
	}
	for crash := range crashes {
		name := func(life int) string { return fmt.Sprintf("life-%d-%d", crash, life) }
		for life := range livesPerCrash {
			text := vcjob(name(life), "", short, short)
			if life%2 == 0 {
				text = vcjob(name(life), "{exitCode: 3, action: RestartJob}", long, fails)
			}
			if err := w.ApplyYAML(t.Context(), ns, text); err != nil {
				t.Fatal(err)
			}
			pause(time.Second)
		}
		pause(4 * time.Second)
		w.restart(t)
		for life := range livesPerCrash {
			if life%2 == 0 {
				w.becomes(t, ns, name(life), batchv1alpha1.Failed, func(s batchv1alpha1.JobStatus) error {
					if s.RetryCount != 3 || s.Failed == 0 || s.Running != 0 || s.Succeeded != 0 {
						return fmt.Errorf("%+v", s)
					}
					return nil
				})
				continue
			}
			w.becomes(t, ns, name(life), batchv1alpha1.Completed, counted(0, 3, 0, 0))
		}
	}
}
