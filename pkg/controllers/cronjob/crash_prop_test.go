package cronjob

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// world is a CronJob, its jobs, and how often one was made for each time.
type world struct {
	cron  *batchv1alpha1.CronJob
	jobs  []batchv1alpha1.Job
	times map[string]int
	now   time.Time
	made  time.Time // what the controller remembers
	left  int       // writes until the controller dies; below 0: it does not
}

// look lets the controller step once; false: it died before a write.
func (w *world) look(t *rapid.T) bool {
	p, err := Step(Observed{CronJob: w.cron.DeepCopy(), Jobs: slices.Clone(w.jobs), Made: w.made, Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []outcome.Outcome{p.Make, p.Tell} {
		var writes []func()
		for _, patch := range out.Patch {
			writes = append(writes, func() { w.patch(t, patch.Status) })
		}
		for _, o := range out.Delete {
			writes = append(writes, func() {
				w.jobs = slices.DeleteFunc(w.jobs, func(j batchv1alpha1.Job) bool { return j.UID == o.GetUID() })
			})
		}
		for _, o := range out.Create {
			if job, ok := o.(*batchv1alpha1.Job); ok {
				writes = append(writes, func() { w.create(job) })
			}
		}
		for _, write := range writes {
			if w.left == 0 {
				w.left, w.made = -1, time.Time{} // the next one remembers nothing
				return false
			}
			w.left--
			write()
		}
		if !p.Made.IsZero() {
			w.made = p.Made
		}
	}
	return true
}

func (w *world) create(job *batchv1alpha1.Job) {
	if slices.ContainsFunc(w.jobs, func(j batchv1alpha1.Job) bool { return j.Name == job.Name }) {
		return
	}
	job = job.DeepCopy()
	w.times[job.Annotations[batchv1alpha1.CronJobTimeKey]]++
	job.UID, job.CreationTimestamp = types.UID(fmt.Sprint(job.Name, len(w.times))), metav1.NewTime(w.now)
	w.jobs = append(w.jobs, *job)
}

func (w *world) patch(t *rapid.T, fields map[string]any) {
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if fields["active"] == nil {
		w.cron.Status.Active = nil
	}
	if err := json.Unmarshal(text, &w.cron.Status); err != nil {
		t.Fatal(err)
	}
}

// TestEachTimeHasOneJob: whatever happens to jobs and whenever the controller dies, none is
// made twice; where all may run beside one another and the controller looks when it said, or
// is back within the minute, each is made.
func TestEachTimeHasOneJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]batchv1alpha1.ConcurrencyPolicy{batchv1alpha1.AllowConcurrent, batchv1alpha1.ForbidConcurrent, batchv1alpha1.ReplaceConcurrent}).Draw(t, "policy")
		w := &world{cron: hourly(), times: map[string]int{}, now: at("01:00:00"), left: -1}
		w.cron.Spec.Schedule, w.cron.Spec.ConcurrencyPolicy = "* * * * *", policy
		w.cron.Spec.SuccessfulJobsHistoryLimit = new(rapid.Int32Range(0, 2).Draw(t, "kept"))
		end := w.now.Add(20 * time.Minute)
		for w.now.Before(end) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			w.left = rapid.IntRange(-1, 3).Draw(t, "dies before write")
			for i := range w.jobs { // a job that is there goes on before it is seen again
				if s := &w.jobs[i].Status.State; !s.Phase.Final() && rapid.Bool().Draw(t, "ends") {
					s.Phase, s.LastTransitionTime = batchv1alpha1.Completed, metav1.NewTime(w.now)
				}
			}
			for !w.look(t) {
				continue
			}
			running := 0
			for _, j := range w.jobs {
				if !j.Status.State.Phase.Final() {
					running++
				}
			}
			if policy != batchv1alpha1.AllowConcurrent && running > 1 {
				t.Fatalf("%d jobs run, and %s", running, policy)
			}
		}
		for key, n := range w.times {
			if n != 1 {
				t.Errorf("%d jobs for %s", n, key)
			}
		}
		if policy != batchv1alpha1.ForbidConcurrent && len(w.times) != int(w.now.Sub(at("01:00:00"))/time.Minute) {
			t.Errorf("%d jobs by %v", len(w.times), w.now)
		}
	})
}
