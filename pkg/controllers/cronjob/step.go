// Package cronjob makes the jobs of CronJobs when they are due. What is due is decided here
// from the times at which jobs were made; what a job does is the job controller's business.
package cronjob

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/outcome"
	"github.com/muster-sh/muster/pkg/timetable"
)

// mostMissed is how many times may be missed before that is told: who counts more has
// probably a clock that is wrong.
const mostMissed = 100

// Histories that a CronJob keeps which does not say.
const (
	keptSuccesses = 3
	keptFailures  = 1
)

// Observed is what there is around one CronJob.
type Observed struct {
	CronJob *batchv1alpha1.CronJob
	Jobs    []batchv1alpha1.Job // that it controls
	// Made is the last time for which a job was made that Jobs may not have yet, nor the
	// CronJob's status; zero: none.
	Made time.Time
	Now  time.Time
}

// Plan is what must be done about a CronJob. Jobs are made before that is told in its status:
// who dies between the two finds them, by names that follow from the times.
type Plan struct {
	Make outcome.Outcome
	Tell outcome.Outcome
	// Made is the time for which Make makes a job; zero: it makes none.
	Made time.Time
	// Next is when it must be looked at again though nothing changes; zero: never.
	Next time.Time
}

// Step says what must be done about a CronJob.
func Step(o Observed) (p Plan, err error) {
	c := o.CronJob
	if c.DeletionTimestamp != nil {
		return p, nil // what it controls goes with it
	}
	s := sort(o)
	if c.Spec.Suspend == nil || !*c.Spec.Suspend {
		table, err := timetable.Parse(c.Spec.Schedule, zone(c))
		if err == nil && table.Next(o.Now).IsZero() {
			err = fmt.Errorf("schedule %q is never due: give a day that comes", c.Spec.Schedule)
		}
		if err != nil {
			p.Tell.Events = append(p.Tell.Events, s.event(true, "InvalidSchedule", "%v", err))
		} else {
			s.plan(table, &p)
		}
	}
	return p, s.tell(&p)
}

func zone(c *batchv1alpha1.CronJob) string {
	if c.Spec.TimeZone == nil {
		return ""
	}
	return *c.Spec.TimeZone
}

// jobs are those of a CronJob by how far they are.
type jobs struct {
	Observed
	active, succeeded, failed []*batchv1alpha1.Job // the oldest first
	last                      time.Time            // for which a job was made
}

// sort sorts out what was observed. A job that was aborted is in no list: it keeps nobody
// waiting, and is not over.
func sort(o Observed) *jobs {
	s := &jobs{Observed: o, last: o.Made}
	later := func(t *metav1.Time) {
		if t != nil && t.After(s.last) {
			s.last = t.Time
		}
	}
	later(o.CronJob.Status.LastScheduleTime)
	for i := range o.Jobs {
		job := &o.Jobs[i]
		if t, err := time.Parse(time.RFC3339, job.Annotations[batchv1alpha1.CronJobTimeKey]); err == nil {
			later(&metav1.Time{Time: t})
		}
		switch job.Status.State.Phase {
		case batchv1alpha1.Completed:
			s.succeeded = append(s.succeeded, job)
		case batchv1alpha1.Failed, batchv1alpha1.Terminated:
			s.failed = append(s.failed, job)
		case batchv1alpha1.Aborted:
		default:
			s.active = append(s.active, job)
		}
	}
	for _, list := range [][]*batchv1alpha1.Job{s.active, s.succeeded, s.failed} {
		slices.SortFunc(list, func(a, b *batchv1alpha1.Job) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
	}
	return s
}

func (s *jobs) event(warning bool, reason, format string, args ...any) outcome.Event {
	return outcome.Event{On: s.CronJob, Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// plan makes the job that is due, unless it is too late for it or another still runs that
// must not run beside it. Of several that were missed, the last is made up for.
func (s *jobs) plan(table timetable.Timetable, p *Plan) {
	spec := &s.CronJob.Spec
	since := s.CronJob.CreationTimestamp.Time
	if s.last.After(since) {
		since = s.last
	}
	p.Next = table.Next(s.Now)
	due := table.Last(since, s.Now)
	if table.Every() > 0 {
		p.Next = table.Next(cmp.Or(due, since))
	}
	if due.IsZero() {
		return
	}
	say := func(warning bool, reason, format string, args ...any) {
		p.Tell.Events = append(p.Tell.Events, s.event(warning, reason, format, args...))
	}
	when := due.UTC().Format(time.RFC3339)
	if late := spec.StartingDeadlineSeconds; late != nil && s.Now.Sub(due) > time.Duration(*late)*time.Second {
		say(true, "MissSchedule", "the job that was due at %s is not made: that is more than startingDeadlineSeconds, %d, ago", when, *late)
		return
	}
	if n := table.Missed(since, s.Now, mostMissed+1); n > mostMissed {
		say(true, "TooManyMissedTimes", "more than %d jobs were due since %s: the one of %s is made up for; a clock may be wrong, or give startingDeadlineSeconds", mostMissed, since.UTC().Format(time.RFC3339), when)
	}
	if len(s.active) > 0 {
		switch spec.ConcurrencyPolicy {
		case batchv1alpha1.AllowConcurrent:
		case batchv1alpha1.ForbidConcurrent:
			say(false, "ForbidConcurrent", "the job that was due at %s waits: job %s still runs, and concurrencyPolicy is Forbid", when, s.active[0].Name)
			return
		case batchv1alpha1.ReplaceConcurrent:
			for _, job := range s.active {
				p.Make.Delete = append(p.Make.Delete, job)
				say(false, "ReplaceConcurrent", "job %s still ran and is replaced", job.Name)
			}
		}
	}
	job := s.job(due)
	p.Make.Create, p.Made, s.last = []apis.Object{job}, due, due
	say(false, "SuccessfulCreate", "made job %s, due at %s", job.Name, when)
}

// job is the one that is due at a time. Its name follows from that: minutes since 1970, or
// seconds where it is due within one.
func (s *jobs) job(due time.Time) *batchv1alpha1.Job {
	number := due.Unix()
	if number%60 == 0 {
		number /= 60
	}
	c, template := s.CronJob, s.CronJob.Spec.JobTemplate.DeepCopy()
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[batchv1alpha1.CronJobTimeKey] = due.Format(time.RFC3339)
	return &batchv1alpha1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name + "-" + strconv.FormatInt(number, 10), Namespace: c.Namespace, Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, batchv1alpha1.GroupVersion().WithKind("CronJob"))},
		},
		Spec: template.Spec,
	}
}

// tell writes what is known into the status, and takes those away that are beyond what is kept.
func (s *jobs) tell(p *Plan) error {
	was := &s.CronJob.Status
	now := *was.DeepCopy()
	now.Active = nil
	for _, job := range s.active {
		now.Active = append(now.Active, corev1.ObjectReference{
			Kind: "Job", APIVersion: batchv1alpha1.GroupVersion().String(), Namespace: job.Namespace, Name: job.Name, UID: job.UID,
		})
	}
	if !s.last.IsZero() {
		now.LastScheduleTime = &metav1.Time{Time: s.last}
	}
	for _, job := range s.succeeded {
		if at := job.Status.State.LastTransitionTime; now.LastSuccessfulTime == nil || now.LastSuccessfulTime.Before(&at) {
			now.LastSuccessfulTime = &at
		}
	}
	patch, err := outcome.Difference(*was, now)
	if err != nil {
		return err
	}
	if len(patch) > 0 {
		p.Tell.Patch = append(p.Tell.Patch, outcome.Patch{Object: s.CronJob, Status: patch})
	}
	spec := &s.CronJob.Spec
	s.keep(p, s.succeeded, spec.SuccessfulJobsHistoryLimit, keptSuccesses)
	s.keep(p, s.failed, spec.FailedJobsHistoryLimit, keptFailures)
	return nil
}

// keep takes the oldest away of those that are over.
func (s *jobs) keep(p *Plan, over []*batchv1alpha1.Job, limit *int32, unsaid int) {
	most := unsaid
	if limit != nil {
		most = int(*limit)
	}
	for _, job := range over[:max(len(over)-most, 0)] {
		if job.DeletionTimestamp == nil {
			p.Tell.Delete = append(p.Tell.Delete, job)
		}
	}
}
