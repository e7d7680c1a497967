package job

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/jobplugin"
)

// goingKey on a pod says that it is to be deleted, so that who decided that may crash.
const goingKey = "volcano.sh/controller-out-of-sync"

// Observed is what there is around one job.
type Observed struct {
	Job       *batchv1alpha1.Job
	PodGroups []schedulingv1beta1.PodGroup // that it controls
	Pods      []corev1.Pod                 // that it controls, and those that it made and that nothing controls
	// Made names pods that were made and that Pods does not have yet.
	Made map[string]bool
	// Commands are those that name it.
	Commands []busv1alpha1.Command
	// Claims are the volume claims in its namespace, of those that it speaks of.
	Claims map[string]bool
	// Priorities are the values of the priority classes that its tasks name.
	Priorities map[string]int32
	Plugins    []jobplugin.Plugin // that wire its pods, in order
	Lost       bool               // something that plugins made for it was deleted
	Failed     string             // why its pods could not be made when that was last tried; empty: they could
	Now        time.Time
}

// sight is what is seen of a job: its pods by what they are to it.
type sight struct {
	Observed
	job   *batchv1alpha1.Job // with what its author left open
	tasks []taskSight
	count counts
}

// taskSight is the pods of one task.
type taskSight struct {
	*batchv1alpha1.TaskSpec
	pods    []*corev1.Pod // by index; nil: there is none
	surplus []*corev1.Pod // beyond its replicas, the highest index first
	phases  map[corev1.PodPhase]int32
}

// counts is pods by what becomes of them.
type counts struct {
	pending, running, succeeded, failed, unknown int32
	terminating                                  int32 // being deleted, or to be
}

// alive is those that may still do something.
func (c counts) alive() int32 { return c.pending + c.running + c.unknown + c.terminating }

func (c *counts) add(phase corev1.PodPhase) {
	switch phase {
	case corev1.PodRunning:
		c.running++
	case corev1.PodSucceeded:
		c.succeeded++
	case corev1.PodFailed:
		c.failed++
	case corev1.PodUnknown:
		c.unknown++
	default:
		c.pending++
	}
}

// look sorts out what was observed.
func look(o Observed) *sight {
	s := &sight{Observed: o, job: o.Job.DeepCopy()}
	batchv1alpha1.SetDefaults(s.job)
	byName := map[string]int{}
	for i := range s.job.Spec.Tasks {
		t := &s.job.Spec.Tasks[i]
		byName[t.Name] = i
		s.tasks = append(s.tasks, taskSight{TaskSpec: t, pods: make([]*corev1.Pod, max(t.Replicas, 0)), phases: map[corev1.PodPhase]int32{}})
	}
	for i := range o.Pods {
		pod := &o.Pods[i]
		at, known := byName[taskOf(pod)]
		index, err := strconv.Atoi(pod.Labels[batchv1alpha1.TaskIndex])
		if !known || err != nil || index < 0 || pod.Name != batchv1alpha1.PodName(s.job.Name, taskOf(pod), index) {
			continue // it is not ours, whatever it says
		}
		t := &s.tasks[at]
		if index >= len(t.pods) {
			t.surplus = append(t.surplus, pod)
			s.count.terminating++
			continue
		}
		t.pods[index] = pod
		if s.goes(pod) {
			s.count.terminating++
			continue
		}
		s.count.add(pod.Status.Phase)
		t.phases[phaseOf(pod)]++
	}
	for i := range s.tasks {
		slices.SortFunc(s.tasks[i].surplus, func(a, b *corev1.Pod) int { return cmp.Compare(indexOf(b), indexOf(a)) })
	}
	return s
}

// goes reports whether a pod is being deleted, or is to be.
func (s *sight) goes(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Annotations[goingKey] != "" ||
		s.job.Status.State.Phase == batchv1alpha1.Restarting && s.stale(pod)
}

// stale reports whether a pod is of a time before pods were last killed.
func (s *sight) stale(pod *corev1.Pod) bool { return versionOf(pod) < s.job.Status.Version }

func versionOf(pod *corev1.Pod) int32 {
	n, err := strconv.ParseInt(pod.Annotations[batchv1alpha1.JobVersion], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func taskOf(pod *corev1.Pod) string { return pod.Labels[schedulingv1beta1.TaskSpecAnnotation] }

// indexOf is a pod's number within its task; [look] has seen that it is one.
func indexOf(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Labels[batchv1alpha1.TaskIndex])
	if err != nil {
		return -1
	}
	return n
}

func phaseOf(pod *corev1.Pod) corev1.PodPhase {
	if pod.Status.Phase == "" {
		return corev1.PodPending
	}
	return pod.Status.Phase
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// replicas is how many pods the job has when all are there.
func (s *sight) replicas() (n int32) {
	for _, t := range s.tasks {
		n += t.Replicas
	}
	return n
}

// all calls visit with the pods of the job that are there, in order.
func (s *sight) all(visit func(t *taskSight, pod *corev1.Pod)) {
	for i := range s.tasks {
		for _, pod := range s.tasks[i].pods {
			if pod != nil {
				visit(&s.tasks[i], pod)
			}
		}
	}
}

// refused is why the job's gang is not placed, as the scheduler says; empty: it does not say.
func (s *sight) refused() string {
	if pg := s.group(); pg != nil {
		for _, c := range pg.Status.Conditions {
			if c.Type == schedulingv1beta1.PodGroupUnschedulableType && c.Status == corev1.ConditionTrue {
				return c.Message
			}
		}
	}
	return ""
}

// group is the job's PodGroup; nil: there is none.
func (s *sight) group() *schedulingv1beta1.PodGroup {
	name := groupName(s.job)
	for i := range s.PodGroups {
		if s.PodGroups[i].Name == name {
			return &s.PodGroups[i]
		}
	}
	return nil
}
