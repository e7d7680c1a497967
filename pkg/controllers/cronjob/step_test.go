package cronjob

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/outcome"
)

func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05", "2026-12-04 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

func when(clock string) *metav1.Time { return &metav1.Time{Time: at(clock)} }

// hourly is a CronJob that was made at one, and is due every hour.
func hourly() *batchv1alpha1.CronJob {
	c := &batchv1alpha1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train", UID: "u", CreationTimestamp: *when("01:00:00")}}
	c.Spec.Schedule, c.Spec.TimeZone = "0 * * * *", new("Etc/UTC")
	c.Spec.JobTemplate.Labels = map[string]string{"team": "a"}
	c.Spec.JobTemplate.Spec.Queue = "research"
	return c
}

// made is a job of that CronJob, due and made at a time.
func made(clock string, phase batchv1alpha1.JobPhase) batchv1alpha1.Job {
	j := batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: fmt.Sprintf("train-%d", at(clock).Unix()/60), UID: types.UID(clock), CreationTimestamp: *when(clock),
		Annotations: map[string]string{batchv1alpha1.CronJobTimeKey: at(clock).Format(time.RFC3339)},
	}}
	j.Status.State = batchv1alpha1.JobState{Phase: phase, LastTransitionTime: metav1.NewTime(at(clock).Add(time.Minute))}
	return j
}

func names(objects []apis.Object) (names []string) {
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	return names
}

func reasons(events []outcome.Event) (reasons []string) {
	for _, e := range events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

func TestWhatIsDue(t *testing.T) {
	number := func(clock string) string { return fmt.Sprintf("train-%d", at(clock).Unix()/60) }
	spec := func(change func(*batchv1alpha1.CronJobSpec)) func(*batchv1alpha1.CronJob) {
		return func(c *batchv1alpha1.CronJob) { change(&c.Spec) }
	}
	for name, c := range map[string]struct {
		edit   func(*batchv1alpha1.CronJob)
		jobs   []batchv1alpha1.Job
		before time.Time // it was made by who saw more than the cache
		now    string
		makes  []string
		goes   []string // replaced, or not kept
		says   []string
		next   string
	}{
		"not yet":                         {now: "01:59:59", next: "02:00:00"},
		"now":                             {now: "02:00:00", makes: []string{number("02:00:00")}, says: []string{"SuccessfulCreate"}, next: "03:00:00"},
		"of three that were missed, one":  {now: "04:30:00", makes: []string{number("04:00:00")}, says: []string{"SuccessfulCreate"}, next: "05:00:00"},
		"it was made":                     {now: "02:00:01", jobs: []batchv1alpha1.Job{made("02:00:00", "")}, next: "03:00:00"},
		"it was made and is gone":         {now: "02:00:01", edit: func(c *batchv1alpha1.CronJob) { c.Status.LastScheduleTime = when("02:00:00") }, next: "03:00:00"},
		"it was made, which nobody shows": {now: "02:00:01", before: at("02:00:00"), next: "03:00:00"},
		"in time":                         {now: "02:00:10", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.StartingDeadlineSeconds = new(int64(10)) }), makes: []string{number("02:00:00")}, says: []string{"SuccessfulCreate"}, next: "03:00:00"},
		"too late":                        {now: "02:00:11", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.StartingDeadlineSeconds = new(int64(10)) }), says: []string{"MissSchedule"}, next: "03:00:00"},
		"suspended":                       {now: "02:00:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.Suspend = new(true) })},
		"beside another":                  {now: "03:00:00", jobs: []batchv1alpha1.Job{made("02:00:00", batchv1alpha1.Running)}, makes: []string{number("03:00:00")}, says: []string{"SuccessfulCreate"}, next: "04:00:00"},
		"not beside another":              {now: "03:00:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.ConcurrencyPolicy = batchv1alpha1.ForbidConcurrent }), jobs: []batchv1alpha1.Job{made("02:00:00", batchv1alpha1.Running)}, says: []string{"ForbidConcurrent"}, next: "04:00:00"},
		"after the other":                 {now: "03:20:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.ConcurrencyPolicy = batchv1alpha1.ForbidConcurrent }), jobs: []batchv1alpha1.Job{made("02:00:00", batchv1alpha1.Completed)}, makes: []string{number("03:00:00")}, says: []string{"SuccessfulCreate"}, next: "04:00:00"},
		"beside one that was aborted":     {now: "03:00:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.ConcurrencyPolicy = batchv1alpha1.ForbidConcurrent }), jobs: []batchv1alpha1.Job{made("02:00:00", batchv1alpha1.Aborted)}, makes: []string{number("03:00:00")}, says: []string{"SuccessfulCreate"}, next: "04:00:00"},
		"in place of another":             {now: "03:00:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.ConcurrencyPolicy = batchv1alpha1.ReplaceConcurrent }), jobs: []batchv1alpha1.Job{made("02:00:00", batchv1alpha1.Running)}, makes: []string{number("03:00:00")}, goes: []string{number("02:00:00")}, says: []string{"ReplaceConcurrent", "SuccessfulCreate"}, next: "04:00:00"},
		"not kept": {now: "07:10:00", jobs: []batchv1alpha1.Job{
			made("07:00:00", batchv1alpha1.Completed), made("03:00:00", batchv1alpha1.Completed), made("04:00:00", batchv1alpha1.Completed), made("05:00:00", batchv1alpha1.Completed),
			made("02:00:00", batchv1alpha1.Terminated), made("06:00:00", batchv1alpha1.Failed),
		}, goes: []string{number("03:00:00"), number("02:00:00")}, next: "08:00:00"},
		"no history at all": {now: "02:10:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.SuccessfulJobsHistoryLimit = new(int32(0)) }), jobs: []batchv1alpha1.Job{made("02:00:00", batchv1alpha1.Completed)}, goes: []string{number("02:00:00")}, next: "03:00:00"},
		"within a minute":   {now: "01:00:31", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.Schedule, s.TimeZone = "@every 15s", nil }), makes: []string{fmt.Sprintf("train-%d", at("01:00:30").Unix())}, says: []string{"SuccessfulCreate"}, next: "01:00:45"},
		"very many":         {now: "03:00:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.Schedule = "* * * * *" }), makes: []string{number("03:00:00")}, says: []string{"TooManyMissedTimes", "SuccessfulCreate"}, next: "03:01:00"},
		"no such schedule":  {now: "03:00:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.Schedule = "often" }), says: []string{"InvalidSchedule"}},
		"no such day":       {now: "03:00:00", edit: spec(func(s *batchv1alpha1.CronJobSpec) { s.Schedule = "0 0 31 4 *" }), says: []string{"InvalidSchedule"}},
		"it is going":       {now: "02:00:00", edit: func(c *batchv1alpha1.CronJob) { c.DeletionTimestamp = when("01:30:00") }},
	} {
		t.Run(name, func(t *testing.T) {
			cron := hourly()
			if c.edit != nil {
				c.edit(cron)
			}
			p, err := Step(Observed{CronJob: cron, Jobs: c.jobs, Made: c.before, Now: at(c.now)})
			if err != nil {
				t.Fatal(err)
			}
			next := time.Time{}
			if c.next != "" {
				next = at(c.next)
			}
			if !p.Next.Equal(next) {
				t.Errorf("next at %v, want %v", p.Next, next)
			}
			if diff := cmp.Diff(c.makes, names(p.Make.Create)); diff != "" {
				t.Error("makes", diff)
			}
			if diff := cmp.Diff(c.goes, names(slices.Concat(p.Make.Delete, p.Tell.Delete))); diff != "" {
				t.Error("goes", diff)
			}
			if diff := cmp.Diff(c.says, reasons(p.Tell.Events)); diff != "" {
				t.Error("says", diff)
			}
		})
	}
}

func TestAJobIsThatOfItsTemplate(t *testing.T) {
	p, err := Step(Observed{CronJob: hourly(), Now: at("02:00:00")})
	if err != nil || len(p.Make.Create) != 1 {
		t.Fatal(p, err)
	}
	j, ok := p.Make.Create[0].(*batchv1alpha1.Job)
	if !ok || j.Spec.Queue != "research" || j.Labels["team"] != "a" || j.Namespace != "ml" || !metav1.IsControlledBy(j, hourly()) || j.Annotations[batchv1alpha1.CronJobTimeKey] != "2026-12-04T02:00:00Z" {
		t.Errorf("%+v", p.Make.Create[0])
	}
}

func TestTheStatusSaysWhatIsKnown(t *testing.T) {
	p, err := Step(Observed{CronJob: hourly(), Now: at("03:20:00"), Jobs: []batchv1alpha1.Job{made("03:00:00", batchv1alpha1.Running), made("02:00:00", batchv1alpha1.Completed)}})
	if err != nil || len(p.Tell.Patch) != 1 {
		t.Fatal(p, err)
	}
	want := `map[active:[map[apiVersion:batch.volcano.sh/v1alpha1 kind:Job name:train-29675700 namespace:ml uid:03:00:00]] lastScheduleTime:2026-12-04T03:00:00Z lastSuccessfulTime:2026-12-04T02:01:00Z]`
	want = strings.ReplaceAll(want, "train-29675700", fmt.Sprintf("train-%d", at("03:00:00").Unix()/60))
	if got := fmt.Sprint(p.Tell.Patch[0].Status); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
