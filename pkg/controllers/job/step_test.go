package job

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// tale is what happens to a job of a master and two workers that all run, and what comes of it.
type tale struct {
	policies []batchv1alpha1.LifecyclePolicy
	workers  []batchv1alpha1.LifecyclePolicy
	edit     func(*batchv1alpha1.JobSpec)
	happens  func(*life)
	want     string
	stay     []string // pods that are the same as before
}

func tales() map[string]tale {
	evict := func(names ...string) func(*life) {
		return func(l *life) {
			for _, name := range names {
				delete(l.pods, name)
			}
		}
	}
	end := func(code int32, names ...string) func(*life) {
		return func(l *life) {
			for _, name := range names {
				l.ends(name, code)
			}
		}
	}
	command := func(actions ...busv1alpha1.Action) func(*life) {
		return func(l *life) {
			for _, a := range actions {
				l.command(a)
				l.settle()
			}
		}
	}
	all := []string{"j-master-0", "j-worker-0", "j-worker-1"}
	policies := func(p ...batchv1alpha1.LifecyclePolicy) []batchv1alpha1.LifecyclePolicy { return p }
	return map[string]tale{
		"nothing happens":                      {happens: evict(), want: "Running retries=0 running=3 succeeded=0 failed=0", stay: all},
		"all succeed":                          {happens: end(0, all...), want: "Completed retries=0 running=0 succeeded=3 failed=0 no gang", stay: all},
		"one fails, which nobody answers":      {happens: end(1, "j-worker-0"), want: "Running retries=0 running=2 succeeded=0 failed=1", stay: all},
		"one fails and the others succeed":     {happens: func(l *life) { end(1, all[0])(l); end(0, all[1:]...)(l) }, want: "Failed retries=0 running=0 succeeded=2 failed=1 no gang", stay: all},
		"one is evicted, which nobody answers": {happens: evict("j-worker-1"), want: "Running retries=0 running=3 succeeded=0 failed=0", stay: all[:2]},
		"a failure restarts the job":           {policies: policies(on(busv1alpha1.RestartJobAction, busv1alpha1.PodFailedEvent)), happens: end(1, "j-worker-0"), want: "Running retries=1 running=3 succeeded=0 failed=0"},
		"three evictions restart the job once": {policies: policies(on(busv1alpha1.RestartJobAction, busv1alpha1.PodEvictedEvent)), happens: evict(all...), want: "Running retries=1 running=3 succeeded=0 failed=0"},
		"an eviction restarts its task":        {policies: policies(on(busv1alpha1.RestartTaskAction, busv1alpha1.PodEvictedEvent)), happens: evict("j-worker-1"), want: "Running retries=1 running=3 succeeded=0 failed=0", stay: all[:1]},
		"a failure restarts its pod":           {policies: policies(on(busv1alpha1.RestartPodAction, busv1alpha1.PodFailedEvent)), happens: end(1, "j-worker-1"), want: "Running retries=1 running=3 succeeded=0 failed=0", stay: all[:2]},
		"a failure restarts its partition": {policies: policies(on(busv1alpha1.RestartPartitionAction, busv1alpha1.PodFailedEvent)), edit: func(s *batchv1alpha1.JobSpec) {
			s.Tasks[1].PartitionPolicy = &batchv1alpha1.PartitionPolicySpec{TotalPartitions: 2, PartitionSize: 1}
		}, happens: end(1, "j-worker-1"), want: "Running retries=1 running=3 succeeded=0 failed=0", stay: all[:2]},
		"a failure aborts the job":              {policies: policies(on(busv1alpha1.AbortJobAction, busv1alpha1.PodFailedEvent)), happens: end(1, "j-worker-0"), want: "Aborted retries=0 running=0 succeeded=0 failed=1 no gang", stay: all[1:2]},
		"a failure terminates the job":          {policies: policies(on(busv1alpha1.TerminateJobAction, busv1alpha1.PodFailedEvent)), happens: end(1, "j-worker-0"), want: "Terminated retries=0 running=0 succeeded=0 failed=1 no gang", stay: all[1:2]},
		"the end of a task completes the job":   {workers: policies(on(busv1alpha1.CompleteJobAction, busv1alpha1.TaskCompletedEvent)), happens: end(0, all[1:]...), want: "Completed retries=0 running=0 succeeded=2 failed=0 no gang", stay: all[1:]},
		"a policy of the task goes first":       {policies: policies(on(busv1alpha1.AbortJobAction, busv1alpha1.AnyEvent)), workers: policies(on(busv1alpha1.RestartPodAction, busv1alpha1.PodFailedEvent)), happens: end(1, "j-worker-0"), want: "Running retries=1 running=3 succeeded=0 failed=0", stay: []string{all[0], all[2]}},
		"an exit code is answered":              {policies: policies(batchv1alpha1.LifecyclePolicy{Action: busv1alpha1.AbortJobAction, ExitCode: new(int32(7))}), happens: end(7, "j-worker-0"), want: "Aborted retries=0 running=0 succeeded=0 failed=1 no gang", stay: all[1:2]},
		"another exit code is not":              {policies: policies(batchv1alpha1.LifecyclePolicy{Action: busv1alpha1.AbortJobAction, ExitCode: new(int32(7))}), happens: end(8, "j-worker-0"), want: "Running retries=0 running=2 succeeded=0 failed=1", stay: all},
		"enough have succeeded":                 {edit: func(s *batchv1alpha1.JobSpec) { s.MinSuccess = new(int32(1)) }, happens: end(0, "j-worker-0"), want: "Completed retries=0 running=0 succeeded=1 failed=0 no gang", stay: all[1:2]},
		"it is aborted":                         {happens: command(busv1alpha1.AbortJobAction), want: "Aborted retries=0 running=0 succeeded=0 failed=0 no gang"},
		"it is aborted and resumed":             {happens: command(busv1alpha1.AbortJobAction, busv1alpha1.ResumeJobAction), want: "Running retries=1 running=3 succeeded=0 failed=0"},
		"it is restarted":                       {happens: command(busv1alpha1.RestartJobAction), want: "Running retries=1 running=3 succeeded=0 failed=0"},
		"it is resumed though it runs":          {happens: command(busv1alpha1.ResumeJobAction), want: "Running retries=0 running=3 succeeded=0 failed=0", stay: all},
		"it is restarted too often":             {happens: command(busv1alpha1.RestartJobAction, busv1alpha1.RestartJobAction, busv1alpha1.RestartJobAction), want: "Failed retries=3 running=0 succeeded=0 failed=0 no gang"},
		"it is terminated, and no more resumed": {happens: command(busv1alpha1.TerminateJobAction, busv1alpha1.ResumeJobAction), want: "Terminated retries=0 running=0 succeeded=0 failed=0 no gang"},
		"it is scaled down":                     {happens: func(l *life) { l.job.Spec.Tasks[1].Replicas = 1 }, policies: policies(on(busv1alpha1.RestartJobAction, busv1alpha1.PodEvictedEvent)), want: "Running retries=0 running=2 succeeded=0 failed=0", stay: all[:2]},
		"it is scaled up":                       {happens: func(l *life) { l.job.Spec.Tasks[1].Replicas = 4 }, policies: policies(on(busv1alpha1.RestartJobAction, busv1alpha1.PodEvictedEvent)), want: "Running retries=0 running=5 succeeded=0 failed=0", stay: all},
		"its pods go after the end":             {happens: func(l *life) { end(1, all[0])(l); end(0, all[1:]...)(l); l.settle(); evict(all...)(l) }, want: "Failed retries=0 running=0 succeeded=2 failed=1 no gang"},
		"its time after the end is over":        {edit: func(s *batchv1alpha1.JobSpec) { s.TTLSecondsAfterFinished = new(int32(5)) }, happens: func(l *life) { end(0, all...)(l); l.settle(); l.now = l.now.Add(6 * time.Second) }, want: "gone", stay: all},
	}
}

func (c tale) begin() *life {
	l := newLife([]task{{name: "master", replicas: 1}, {name: "worker", replicas: 2, policies: c.workers}}, c.policies...)
	if c.edit != nil {
		c.edit(&l.job.Spec)
	}
	l.settle()
	return l
}

func TestWhatHappensToAJob(t *testing.T) {
	for name, c := range tales() {
		t.Run(name, func(t *testing.T) {
			l := c.begin()
			was := map[string]string{}
			for name, pod := range l.pods {
				was[name] = string(pod.UID)
			}
			c.happens(l)
			l.settle()
			l.check(t)
			if got := l.state(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			for _, name := range c.stay {
				if pod := l.pods[name]; pod == nil || string(pod.UID) != was[name] {
					t.Errorf("pod %s is not that of before", name)
				}
				delete(was, name)
			}
			for name := range was {
				if pod := l.pods[name]; pod != nil && string(pod.UID) == was[name] {
					t.Errorf("pod %s is that of before", name)
				}
			}
		})
	}
}

// TestACrashChangesNothing lets the controller die before each of its writes.
func TestACrashChangesNothing(t *testing.T) {
	for name, c := range tales() {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				l := c.begin()
				l.crashAt = l.writes + at
				c.happens(l)
				l.settle()
				l.settle()
				if got := l.state(); got != c.want {
					t.Errorf("dead before write %d: %s, want %s", at, got, c.want)
				}
				if l.writes < l.crashAt {
					return
				}
			}
		})
	}
}

// TestAJobSaysWhyItWaits, as long as it does.
func TestAJobSaysWhyItWaits(t *testing.T) {
	l := newLife([]task{{name: "worker", replicas: 2}})
	l.step()
	refuse := func(status corev1.ConditionStatus, why string) {
		l.group.Status.Conditions = []schedulingv1beta1.PodGroupCondition{{Type: schedulingv1beta1.PodGroupUnschedulableType, Status: status, Message: why}}
		l.step()
	}
	for _, why := range []string{"needs 2, room for 1", "needs 2, room for 0"} {
		refuse(corev1.ConditionTrue, why)
		if s := l.job.Status.State; s.Phase != batchv1alpha1.Pending || s.Reason != "Unschedulable" || s.Message != why {
			t.Errorf("%+v, want %s", s, why)
		}
	}
	refuse(corev1.ConditionFalse, "needs 2, room for 0")
	if s := l.job.Status.State; s.Reason != "Pending" || len(l.job.Status.Conditions) != 1 {
		t.Errorf("%+v with %d conditions", s, len(l.job.Status.Conditions))
	}
	l.check(t)
}

func TestATimeoutDelaysAnActionWhileItsCauseLasts(t *testing.T) {
	late := on(busv1alpha1.RestartJobAction, busv1alpha1.PodFailedEvent)
	late.Timeout = &metav1.Duration{Duration: time.Minute}
	l := tale{policies: []batchv1alpha1.LifecyclePolicy{late}}.begin()
	l.ends("j-worker-0", 1)
	l.settle()
	if got := l.state(); !strings.HasPrefix(got, "Running retries=0") {
		t.Errorf("before its time: %s", got)
	}
	l.now = l.now.Add(time.Minute)
	l.settle()
	if got := l.state(); !strings.HasPrefix(got, "Running retries=1 running=3") {
		t.Errorf("after its time: %s", got)
	}
}

// TestAJobSaysThatItsPodsCantBeMade, and that they can be again.
func TestAJobSaysThatItsPodsCantBeMade(t *testing.T) {
	l := newLife([]task{{name: "worker", replicas: 2}})
	l.failed = "exceeded quota"
	l.step()
	l.step()
	if s := l.job.Status.State; s.Phase != batchv1alpha1.Pending || s.Reason != "FailedCreate" || s.Message != l.failed {
		t.Errorf("%+v", s)
	}
	l.failed = ""
	l.settle()
	l.failed = "exceeded quota again"
	l.step()
	if s := l.job.Status.State; s.Phase != batchv1alpha1.Running || s.Message != l.failed {
		t.Errorf("%+v", s)
	}
	l.failed = ""
	l.step()
	if s := l.job.Status.State; s.Phase != batchv1alpha1.Running || s.Reason == "FailedCreate" {
		t.Errorf("%+v", s)
	}
	l.check(t)
}

// TestPodsThatNothingControlsAreTakenBack, and are no evictions.
func TestPodsThatNothingControlsAreTakenBack(t *testing.T) {
	l := newLife([]task{{name: "worker", replicas: 2}}, on(busv1alpha1.RestartJobAction, busv1alpha1.PodEvictedEvent))
	l.settle()
	l.pods["j-worker-1"].OwnerReferences = nil
	out, _, err := Step(Observed{Job: l.job, Pods: []corev1.Pod{*l.pods["j-worker-0"], *l.pods["j-worker-1"]}, PodGroups: []schedulingv1beta1.PodGroup{*l.group}, Now: l.now})
	if err != nil || len(out.Patch) != 1 || out.Patch[0].Object.GetName() != "j-worker-1" || len(out.Create)+len(out.Delete) > 0 {
		t.Errorf("%+v %v", out, err)
	}
}
