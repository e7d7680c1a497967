package queue

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// Indices of the cache.
const (
	inQueue = "queue.of"     // PodGroups by the queue they are in
	below   = "queue.parent" // Queues by the one above them
	forName = "queue.target" // Commands by the queue they target
)

type index struct {
	of    client.Object
	value client.IndexerFunc
}

func indices() map[string]index {
	return map[string]index{
		inQueue: {&schedulingv1beta1.PodGroup{}, func(o client.Object) []string { return []string{queueOf(o)} }},
		below:   {&schedulingv1beta1.Queue{}, func(o client.Object) []string { return []string{parentOf(o)} }},
		forName: {&busv1alpha1.Command{}, func(o client.Object) []string {
			if name, ours := target(o); ours {
				return []string{name}
			}
			return nil
		}},
	}
}

func queueOf(o client.Object) string {
	if pg, ok := o.(*schedulingv1beta1.PodGroup); ok && pg.Spec.Queue != "" {
		return pg.Spec.Queue
	}
	return schedulingv1beta1.DefaultQueue
}

func parentOf(o client.Object) string {
	if q, ok := o.(*schedulingv1beta1.Queue); ok {
		return q.ParentName()
	}
	return ""
}

// noTarget stands for the queue of Commands that name none: no queue has that name.
const noTarget = "-"

// target returns the queue that a Command names, and whether the Command is ours
// to carry out or refuse. Those for jobs, and for kinds of others, are not.
func target(o client.Object) (name string, ours bool) {
	c, ok := o.(*busv1alpha1.Command)
	switch {
	case !ok:
		return "", false
	case c.TargetObject == nil || c.TargetObject.Kind == "":
		return noTarget, true
	case c.TargetObject.Kind != "Queue" || !ourGroup(c.TargetObject.APIVersion):
		return "", false
	case c.TargetObject.Name == "":
		return noTarget, true
	}
	return c.TargetObject.Name, true
}

// ourGroup reports whether an API version may mean our queues, as an empty one does.
func ourGroup(version string) bool {
	group, _, _ := strings.Cut(version, "/")
	return version == "" || group == schedulingv1beta1.GroupName
}

// queueMatters lets through what may change a state or a limit. What the
// scheduler writes to the status of queues, and labels, do not.
func queueMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, wasOK := e.ObjectOld.(*schedulingv1beta1.Queue)
		is, isOK := e.ObjectNew.(*schedulingv1beta1.Queue)
		return !wasOK || !isOK || was.Generation != is.Generation || was.UID != is.UID || was.Status.State != is.Status.State ||
			was.Annotations[schedulingv1beta1.ClosedByParentAnnotation] != is.Annotations[schedulingv1beta1.ClosedByParentAnnotation]
	}}
}

// workMatters lets through gangs that begin or end to be at work, or move.
func workMatters() predicate.Predicate {
	works := func(o client.Object) bool {
		pg, ok := o.(*schedulingv1beta1.PodGroup)
		return ok && AtWork(pg)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return works(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return works(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return works(e.ObjectOld) != works(e.ObjectNew) || queueOf(e.ObjectOld) != queueOf(e.ObjectNew)
		},
	}
}

// fresh lets through all but what is gone.
func fresh() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// ofCommand maps a Command to the queue it targets.
func (*reconciler) ofCommand(_ context.Context, o client.Object) []reconcile.Request {
	if name, ours := target(o); ours {
		return []reconcile.Request{request(name)}
	}
	return nil
}

// ofPodGroup maps a PodGroup to the queues for which it matters who works in them.
func (r *reconciler) ofPodGroup(ctx context.Context, o client.Object) []reconcile.Request {
	above, err := r.above(ctx, queueOf(o))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the queues of a PodGroup", "podGroup", client.ObjectKeyFromObject(o))
	}
	var requests []reconcile.Request
	for _, q := range above {
		if q.Closed() {
			requests = append(requests, request(q.Name))
		}
	}
	return requests
}

// ofQueue maps a queue to itself and all those that it may concern: a limit binds
// those below, and their sum is compared above.
func (r *reconciler) ofQueue(ctx context.Context, o client.Object) []reconcile.Request {
	requests := []reconcile.Request{request(o.GetName())}
	above, err := r.above(ctx, parentOf(o))
	for _, q := range above {
		requests = append(requests, request(q.Name))
	}
	if err == nil {
		err = r.descend(ctx, o.GetName(), func(q *schedulingv1beta1.Queue) error {
			requests = append(requests, request(q.Name))
			return nil
		})
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the kin of a queue", "queue", o.GetName())
	}
	return requests
}

// above returns the queue with that name, the one above it and so on, as far as
// they exist; each once, should they form a circle.
func (r *reconciler) above(ctx context.Context, name string) ([]*schedulingv1beta1.Queue, error) {
	var chain []*schedulingv1beta1.Queue
	for met := map[string]bool{}; name != "" && !met[name]; {
		met[name] = true
		var q schedulingv1beta1.Queue
		if err := r.client.Get(ctx, types.NamespacedName{Name: name}, &q); err != nil {
			if apierrors.IsNotFound(err) {
				break
			}
			return chain, fmt.Errorf("read queue %s: %w", name, err)
		}
		chain = append(chain, &q)
		name = q.ParentName()
	}
	return chain, nil
}

// children returns the queues directly below one.
func (r *reconciler) children(ctx context.Context, name string) ([]schedulingv1beta1.Queue, error) {
	var list schedulingv1beta1.QueueList
	if err := r.client.List(ctx, &list, client.MatchingFields{below: name}); err != nil {
		return nil, fmt.Errorf("list queues below %s: %w", name, err)
	}
	return list.Items, nil
}

// descend visits all queues below one; each once, should they form a circle.
func (r *reconciler) descend(ctx context.Context, name string, visit func(*schedulingv1beta1.Queue) error) error {
	met, open := map[string]bool{name: true}, []string{name}
	for len(open) > 0 {
		children, err := r.children(ctx, open[0])
		if err != nil {
			return err
		}
		open = open[1:]
		for i := range children {
			if q := &children[i]; !met[q.Name] {
				met[q.Name] = true
				open = append(open, q.Name)
				if err := visit(q); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
