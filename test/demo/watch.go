package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// namespace is where the story plays.
const namespace = "default"

// gang is what can be seen of a gang from outside.
type gang struct {
	phase     schedulingv1beta1.PodGroupPhase
	refusal   string // message of condition Unschedulable, while it holds
	made      int    // pods that exist
	bound     int    // of these: have a node
	running   int
	mostBound int       // most that were bound at once, ever
	lastMade  time.Time // when the last pod was made, bound, running
	lastBound time.Time
	lastRun   time.Time
}

// observer watches pods and PodGroups at the API server, as any client may.
type observer struct {
	mu      sync.Mutex
	pods    map[string]sight
	groups  map[string]schedulingv1beta1.PodGroupStatus // by job
	most    map[string]int                              // bound at once, by job
	broken  error
	changed chan struct{} // holds one token after a change
}

// sight is a pod with the moments at which changes were first seen.
type sight struct {
	job                string
	made, bound, began time.Time
}

func observe(ctx context.Context, c client.WithWatch) (*observer, error) {
	o := &observer{
		pods: map[string]sight{}, groups: map[string]schedulingv1beta1.PodGroupStatus{}, most: map[string]int{},
		changed: make(chan struct{}, 1),
	}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &schedulingv1beta1.PodGroupList{}} {
		w, err := c.Watch(ctx, list, client.InNamespace(namespace))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", list, err)
		}
		go func() {
			defer w.Stop()
			for event := range w.ResultChan() {
				o.see(event, time.Now())
			}
			o.end(fmt.Errorf("watch of %T ended", list))
		}()
	}
	return o, nil
}

func (o *observer) end(err error) {
	o.mu.Lock()
	o.broken = err
	o.mu.Unlock()
	o.notify()
}

func (o *observer) notify() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *observer) see(event watch.Event, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.notify()
	switch obj := event.Object.(type) {
	case *corev1.Pod:
		o.seePod(obj, event.Type == watch.Deleted, now)
	case *schedulingv1beta1.PodGroup:
		job := obj.Name
		if owner := metav1.GetControllerOf(obj); owner != nil {
			job = owner.Name
		}
		if event.Type == watch.Deleted {
			delete(o.groups, job)
		} else {
			o.groups[job] = obj.Status
		}
	}
}

func (o *observer) seePod(pod *corev1.Pod, gone bool, now time.Time) {
	if gone {
		delete(o.pods, pod.Name)
		return
	}
	s := o.pods[pod.Name]
	if s.made.IsZero() {
		s.made = now
	}
	if s.job = pod.Labels[kubeflowv1.JobNameLabel]; s.job == "" {
		s.job = pod.Annotations[schedulingv1beta1.GroupNameAnnotation]
	}
	if pod.Spec.NodeName != "" && s.bound.IsZero() {
		s.bound = now
	}
	if pod.Status.Phase == corev1.PodRunning && s.began.IsZero() {
		s.began = now
	}
	o.pods[pod.Name] = s
	o.most[s.job] = max(o.most[s.job], o.count(s.job).bound)
}

// gang returns what is known of a job's gang.
func (o *observer) gang(job string) (gang, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.count(job), o.broken
}

// count needs the lock.
func (o *observer) count(job string) gang {
	g := gang{phase: o.groups[job].Phase, mostBound: o.most[job]}
	for _, c := range o.groups[job].Conditions {
		if c.Type == schedulingv1beta1.PodGroupUnschedulableType && c.Status == corev1.ConditionTrue {
			g.refusal = c.Message
		}
	}
	tally := func(n *int, last *time.Time, at time.Time) {
		if !at.IsZero() {
			*n++
			if at.After(*last) {
				*last = at
			}
		}
	}
	for _, s := range o.pods {
		if s.job == job {
			tally(&g.made, &g.lastMade, s.made)
			tally(&g.bound, &g.lastBound, s.bound)
			tally(&g.running, &g.lastRun, s.began)
		}
	}
	return g
}

// follow shows each change of a job's gang until done reports true. Whatever
// takes longer than a minute went wrong.
func (o *observer) follow(ctx context.Context, job string, show func(gang), done func(gang) bool) (gang, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	clock := time.NewTicker(100 * time.Millisecond)
	defer clock.Stop()
	for {
		g, err := o.gang(job)
		if err != nil {
			return g, err
		}
		show(g)
		if done(g) {
			return g, nil
		}
		select {
		case <-ctx.Done():
			return g, fmt.Errorf("%s: %w: PodGroup %q, %d pods made, %d bound, %d running; it says: %s",
				job, context.Cause(ctx), g.phase, g.made, g.bound, g.running, g.refusal)
		case <-o.changed:
		case <-clock.C:
		}
	}
}
