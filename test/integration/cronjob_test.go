package integration_test

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/test/cluster"
)

const ticking = `
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "@every 1s"
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 2
  jobTemplate:
    spec:
      minAvailable: 1
      tasks:
      - {name: t, replicas: 1, template: {metadata: {annotations: {muster.sh/run-for: 1s}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
`

// jobsOf returns the jobs of a namespace.
func (w *world) jobsOf(ctx context.Context, namespace string) ([]batchv1alpha1.Job, error) {
	var jobs batchv1alpha1.JobList
	err := w.List(ctx, &jobs, client.InNamespace(namespace))
	return jobs.Items, err
}

// oneForEachTime returns what waits until a CronJob has made jobs for so many times, and fails
// when there are two for one of them, or two at once.
func (w *world) oneForEachTime(t *testing.T, ns string) func(times int) func(context.Context) error {
	seen := map[string]types.UID{} // by the time for which a job was made
	return func(times int) func(context.Context) error {
		return func(ctx context.Context) error {
			jobs, err := w.jobsOf(ctx, ns)
			if err != nil {
				return err
			}
			active := 0
			for _, j := range jobs {
				key := j.Annotations[batchv1alpha1.CronJobTimeKey]
				if uid, known := seen[key]; known && uid != j.UID {
					t.Errorf("two jobs for %s", key)
				}
				seen[key] = j.UID
				if !j.Status.State.Phase.Final() {
					active++
				}
			}
			if active > 1 {
				t.Errorf("%d jobs run beside one another", active)
			}
			if len(seen) < times {
				return fmt.Errorf("jobs for %d times, want %d", len(seen), times)
			}
			return nil
		}
	}
}

// TestACronJobMakesJobs, one for each time, whatever becomes of the controller; stops when it
// is suspended, and takes its jobs with it.
func TestACronJobMakesJobs(t *testing.T) {
	w, ns := newJob(t, ticking)
	c := &batchv1alpha1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tick"}}
	watch := w.oneForEachTime(t, ns)
	eventually(t, watch(4))
	if err := w.Kill(cluster.Muster); err != nil {
		t.Fatal(err)
	}
	if err := w.StartMuster(t.Context(), w.binary, "--log-level=debug"); err != nil {
		t.Fatal(err)
	}
	eventually(t, watch(8))
	if err := w.Patch(t.Context(), c, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		jobs, err := w.jobsOf(ctx, ns)
		if err != nil {
			return err
		}
		if err := w.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		s := c.Status
		if len(jobs) != 2 || len(s.Active) != 0 || s.LastScheduleTime == nil || s.LastSuccessfulTime == nil || s.LastSuccessfulTime.Before(s.LastScheduleTime) {
			return fmt.Errorf("%d jobs, %+v", len(jobs), s)
		}
		return nil
	})
	if err := w.Delete(t.Context(), c, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if jobs, err := w.jobsOf(ctx, ns); err != nil || len(jobs) > 0 {
			return fmt.Errorf("%d jobs (%w)", len(jobs), err)
		}
		return nil
	})
}

// TestACronJobSaysWhatIsWrong in an Event.
func TestACronJobSaysWhatIsWrong(t *testing.T) {
	w, ns := newJob(t, `
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: wrong}
spec: {schedule: "0 0 30 2 *", jobTemplate: {spec: {tasks: [{replicas: 1}]}}}
`)
	eventually(t, func(ctx context.Context) error {
		events, err := w.core.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=InvalidSchedule"})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("no event")
		}
		return err
	})
}
