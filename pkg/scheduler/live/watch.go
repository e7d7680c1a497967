package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
)

// watch feeds the mailbox from now on and returns when all that exists already is in it.
// All kinds are asked for at once, and told in the order of their list.
func (s *Scheduler) watch(ctx context.Context) error {
	kinds := watched()
	var informers []cache.Informer
	for i := 0; i < len(kinds); i++ {
		informer, err := s.cache.GetInformer(ctx, kinds[i], cache.BlockUntilSynced(false))
		if optional(kinds[i]) && meta.IsNoMatchError(err) {
			kinds = slices.Delete(kinds, i, i+1)
			i--
			continue
		}
		if err != nil {
			return fmt.Errorf("watch %T: %w; are Muster's CRDs installed?", kinds[i], err)
		}
		informers = append(informers, informer)
	}
	if err := s.cache.IndexField(ctx, &corev1.Pod{}, byGang, gangIndex); err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	for i, obj := range kinds {
		seen, err := informers[i].AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { s.tell(ctx, o, false) },
			UpdateFunc: func(old, o any) {
				if replaced(old, o) {
					s.tell(ctx, old, true)
				}
				s.tell(ctx, o, false)
			},
			DeleteFunc: func(o any) { s.tell(ctx, o, true) },
		})
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
		if !toolscache.WaitFor(ctx, "", seen.HasSyncedChecker()) {
			return fmt.Errorf("watch %T: %w", obj, errors.Join(errors.New("not synced"), ctx.Err()))
		}
	}
	return nil
}

// optional reports whether Muster can do without a kind that the API server does not serve:
// one before Kubernetes 1.37 knows no DeviceTaintRules, and HyperNodes come with a CRD of
// their own.
func optional(kind framework.Object) bool {
	switch kind.(type) {
	case *resourcev1.DeviceTaintRule, *topologyv1alpha1.HyperNode:
		return true
	default:
		return false
	}
}

// replaced reports whether an update is of one object by another of its name: what
// was deleted and made anew while a watch was broken comes so.
func replaced(old, o any) bool {
	a, errA := meta.Accessor(old)
	b, errB := meta.Accessor(o)
	return errA == nil && errB == nil && a.GetUID() != b.GetUID()
}

// tell turns one watch event into engine events.
func (s *Scheduler) tell(ctx context.Context, o any, gone bool) {
	if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	switch o := o.(type) {
	case *corev1.Pod:
		s.mailbox.put(s.pod(o, gone))
	case *corev1.Node:
		if gone || !s.uses(o) {
			s.mailbox.put(engine.NodeGone{Name: o.Name})
		} else {
			s.mailbox.put(engine.NodeSet{Node: intake.Node(o)})
		}
	case *schedulingv1beta1.Queue:
		s.mailbox.put(s.queue(o, gone))
	case *schedulingv1beta1.PodGroup:
		s.groups.Lock()
		defer s.groups.Unlock()
		if gone {
			delete(s.known, o.UID)
		} else {
			s.known[o.UID] = o
		}
		s.mailbox.put(s.podGroup(ctx, o, gone))
	case *schedulingv1.PriorityClass:
		s.reprioritise(ctx)
	case runtime.Object:
		s.mailbox.put(engine.ObjectSet{Object: o, Gone: gone})
	}
}

// uses reports whether a node is one that this scheduler may place on.
func (s *Scheduler) uses(n *corev1.Node) bool {
	return len(s.options.Nodes) == 0 || slices.ContainsFunc(s.options.Nodes, func(label string) bool {
		key, value, _ := strings.Cut(label, ":")
		have, ok := n.Labels[key]
		return ok && have == value
	})
}

func (s *Scheduler) pod(p *corev1.Pod, gone bool) engine.Event {
	task, concerns := intake.Pod(p, s.answersTo)
	if s.options.Took != nil {
		s.announcer.watched(p, gone)
	}
	if gone || !concerns {
		s.binder.forget(string(p.UID))
		s.nominator.forget(string(p.UID))
		return engine.TaskGone{UID: string(p.UID)}
	}
	return engine.TaskSet{Task: task}
}

func (s *Scheduler) queue(q *schedulingv1beta1.Queue, gone bool) engine.Event {
	if gone {
		s.queues.lost(q.Name)
		return engine.QueueGone{Name: q.Name}
	}
	spec := intake.Queue(q)
	if spec.Problem != nil {
		s.recorder.Event(q, corev1.EventTypeWarning, string(spec.Problem.Code), spec.Problem.String())
	}
	s.queues.seen(q)
	return engine.QueueSet{Queue: spec}
}

func (s *Scheduler) podGroup(ctx context.Context, pg *schedulingv1beta1.PodGroup, gone bool) engine.Event {
	if gone {
		key := client.ObjectKeyFromObject(pg).String()
		s.wait(key, nil)
		s.statuses.forget(key, string(pg.UID))
		return engine.GangGone{Key: key, UID: string(pg.UID)}
	}
	return engine.GangSet{Gang: s.gang(ctx, pg)}
}

func (s *Scheduler) gang(ctx context.Context, pg *schedulingv1beta1.PodGroup) model.GangSpec {
	return intake.PodGroup(pg, s.priority(ctx, pg.Spec.PriorityClassName))
}

// priority returns the value of a priority class; that of the global default,
// else 0, when the name is empty or not found.
func (s *Scheduler) priority(ctx context.Context, name string) int32 {
	var classes schedulingv1.PriorityClassList
	if err := s.cache.List(ctx, &classes); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "list priority classes")
		return 0
	}
	var fallback int32
	for i := range classes.Items {
		if classes.Items[i].Name == name {
			return classes.Items[i].Value
		}
		if classes.Items[i].GlobalDefault {
			fallback = classes.Items[i].Value
		}
	}
	return fallback
}

// reprioritise tells all gangs anew: one of their priority classes changed. A
// PodGroup that changes meanwhile is told of after this, so the last word is the newest.
func (s *Scheduler) reprioritise(ctx context.Context) {
	s.groups.Lock()
	defer s.groups.Unlock()
	for _, pg := range s.known {
		s.mailbox.put(engine.GangSet{Gang: s.gang(ctx, pg)})
	}
}
