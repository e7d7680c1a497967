package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// life is a job with what is made for it, and nobody who watches: each step sees it as it is.
type life struct {
	job      *batchv1alpha1.Job
	pods     map[string]*corev1.Pod
	group    *schedulingv1beta1.PodGroup
	commands []busv1alpha1.Command
	now      time.Time
	uids     int
	writes   int // so far
	crashAt  int // number of the write before which the controller dies, once; 0: never
	errs     []error
	failed   string // why its pods can't be made
}

type task struct {
	name     string
	replicas int32
	policies []batchv1alpha1.LifecyclePolicy
}

func newLife(tasks []task, policies ...batchv1alpha1.LifecyclePolicy) *life {
	l := &life{pods: map[string]*corev1.Pod{}, now: time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC)}
	l.job = &batchv1alpha1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "j", UID: "u", CreationTimestamp: metav1.NewTime(l.now)},
		Spec:       batchv1alpha1.JobSpec{MaxRetry: 3, Policies: policies},
	}
	for _, t := range tasks {
		l.job.Spec.Tasks = append(l.job.Spec.Tasks, batchv1alpha1.TaskSpec{Name: t.name, Replicas: t.replicas, Policies: t.policies})
	}
	return l
}

func on(action busv1alpha1.Action, events ...busv1alpha1.Event) batchv1alpha1.LifecyclePolicy {
	return batchv1alpha1.LifecyclePolicy{Action: action, Events: events}
}

// step lets the controller look once.
func (l *life) step() {
	if l.job == nil {
		return
	}
	o := Observed{Job: l.job, Commands: l.commands, Now: l.now, Failed: l.failed}
	for _, name := range slices.Sorted(maps.Keys(l.pods)) {
		o.Pods = append(o.Pods, *l.pods[name].DeepCopy())
	}
	if l.group != nil {
		o.PodGroups = []schedulingv1beta1.PodGroup{*l.group}
	}
	out, _, err := Step(o)
	if err != nil {
		l.errs = append(l.errs, err)
	}
	l.do(out)
}

// do carries an outcome out, in its order, until the controller dies.
func (l *life) do(out outcome.Outcome) {
	var todo []func()
	for _, obj := range out.Apply {
		if pg, ok := obj.(*schedulingv1beta1.PodGroup); ok {
			todo = append(todo, func() { l.apply(pg) })
		}
	}
	for _, a := range out.Annotate {
		todo = append(todo, func() {
			if pod := l.pods[a.Object.GetName()]; pod != nil {
				maps.Copy(pod.Annotations, a.Annotations)
			}
		})
	}
	for _, p := range out.Patch {
		todo = append(todo, func() { l.patch(p.Status) })
	}
	for _, obj := range out.Delete {
		todo = append(todo, func() { l.remove(obj) })
	}
	for _, obj := range out.Create {
		if pod, ok := obj.(*corev1.Pod); ok {
			todo = append(todo, func() { l.create(pod) })
		}
	}
	for _, write := range todo {
		if l.writes++; l.writes == l.crashAt {
			return
		}
		write()
	}
}

// apply makes a PodGroup that may go ahead at once.
func (l *life) apply(pg *schedulingv1beta1.PodGroup) {
	status := schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupInqueue}
	if l.group != nil {
		status = l.group.Status
	}
	l.group = pg.DeepCopy()
	l.group.Status = status
}

func (l *life) create(pod *corev1.Pod) {
	if l.pods[pod.Name] != nil {
		return
	}
	l.uids++
	pod = pod.DeepCopy()
	pod.UID, pod.CreationTimestamp = types.UID(strconv.Itoa(l.uids)), metav1.NewTime(l.now)
	pod.Status.Phase = corev1.PodPending
	l.pods[pod.Name] = pod
}

func (l *life) patch(fields map[string]any) {
	is, err := json.Marshal(l.job.Status)
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	var all map[string]any
	l.errs = append(l.errs, json.Unmarshal(is, &all))
	merge(all, fields)
	text, err := json.Marshal(all)
	l.errs = append(l.errs, err)
	var next batchv1alpha1.JobStatus
	l.errs = append(l.errs, json.Unmarshal(text, &next))
	l.job.Status = next
}

func merge(into, from map[string]any) {
	for key, value := range from {
		below, deep := value.(map[string]any)
		old, was := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case deep && was:
			merge(old, below)
		default:
			into[key] = value
		}
	}
}

// remove deletes an object; pods take until the next beat to go.
func (l *life) remove(obj apis.Object) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		if pod := l.pods[obj.Name]; pod != nil && pod.UID == obj.UID {
			pod.DeletionTimestamp = new(metav1.NewTime(l.now))
		}
	case *schedulingv1beta1.PodGroup:
		l.group = nil
	case *busv1alpha1.Command:
		l.commands = slices.DeleteFunc(l.commands, func(c busv1alpha1.Command) bool { return c.Name == obj.Name })
	case *batchv1alpha1.Job:
		l.job = nil
	}
}

// beat lets a second go by: who was told to go is gone, who waits runs.
func (l *life) beat() {
	l.now = l.now.Add(time.Second)
	for name, pod := range l.pods {
		switch {
		case pod.DeletionTimestamp != nil:
			delete(l.pods, name)
		case pod.Status.Phase == corev1.PodPending:
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
	}
}

// settle steps until nothing is left to do.
func (l *life) settle() {
	for range 40 {
		before := fmt.Sprint(l.state(), l.writes)
		l.step()
		l.beat()
		if before == fmt.Sprint(l.state(), l.writes) {
			return
		}
	}
}

func (l *life) ends(name string, code int32) {
	pod := l.pods[name]
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(l.now)}}}}
}

func (l *life) command(action busv1alpha1.Action) {
	l.commands = append(l.commands, busv1alpha1.Command{
		ObjectMeta: metav1.ObjectMeta{Name: "c" + strconv.Itoa(len(l.commands))}, Action: string(action),
		TargetObject: &metav1.OwnerReference{Kind: "Job", Name: "j"},
	})
}

// state is what a user sees of a job.
func (l *life) state() string {
	if l.job == nil {
		return "gone"
	}
	s := l.job.Status
	text := fmt.Sprintf("%s retries=%d running=%d succeeded=%d failed=%d", s.State.Phase, s.RetryCount, s.Running, s.Succeeded, s.Failed)
	if l.group == nil {
		text += " no gang"
	}
	return text
}

// check fails when something could not be read or written.
func (l *life) check(t *testing.T) {
	t.Helper()
	for _, err := range l.errs {
		if err != nil {
			t.Error(err)
		}
	}
}
