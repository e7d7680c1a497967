package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// reconcilesAtOnce is how many queues are looked at together.
const reconcilesAtOnce = 4

// Setup adds the controller to mgr.
func Setup(ctx context.Context, mgr manager.Manager) error {
	for name, index := range indices() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.of, name, index.value); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.of, name, err)
		}
	}
	r := &reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), told: map[string]string{},
		//nolint:staticcheck // core events, not events.k8s.io: they say how often, and need no second right
		do: outcome.Doer{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorderFor("muster-queue")},
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("queue").
		Watches(&schedulingv1beta1.Queue{}, handler.EnqueueRequestsFromMapFunc(r.ofQueue), builder.WithPredicates(queueMatters())).
		Watches(&schedulingv1beta1.PodGroup{}, handler.EnqueueRequestsFromMapFunc(r.ofPodGroup), builder.WithPredicates(workMatters())).
		Watches(&busv1alpha1.Command{}, handler.EnqueueRequestsFromMapFunc(r.ofCommand), builder.WithPredicates(fresh())).
		WithOptions(controller.Options{MaxConcurrentReconciles: reconcilesAtOnce}).
		Complete(r)
}

type reconciler struct {
	client client.Client // reads go to the cache
	live   client.Reader // reads go to the API server
	do     outcome.Doer

	mu   sync.Mutex
	told map[string]string // by queue: what it was last told can't be right
}

// Reconcile looks at one queue, lets Step decide, and has that done.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	seen, kin, err := r.observe(ctx, req.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	out := Step(seen)
	wrong := problems(seen.Queue, kin)
	if wrong != "" && wrong != r.lastTold(req.Name) {
		out.Events = append(out.Events, outcome.Event{On: seen.Queue, Warning: true, Reason: "InvalidQueue", Message: wrong})
	}
	err = r.do.Do(ctx, out)
	if apierrors.IsConflict(err) { // the scheduler writes what the queue uses
		return reconcile.Result{RequeueAfter: outcome.Again}, nil
	}
	if err == nil {
		r.tell(req.Name, wrong)
	}
	return reconcile.Result{}, err
}

// observe reads what there is around a queue.
func (r *reconciler) observe(ctx context.Context, name string) (Observed, schedulingv1beta1.Kin, error) {
	var seen Observed
	var kin schedulingv1beta1.Kin
	var commands busv1alpha1.CommandList
	if err := r.client.List(ctx, &commands, client.MatchingFields{forName: name}); err != nil {
		return seen, kin, fmt.Errorf("list Commands for queue %s: %w", name, err)
	}
	seen.Commands = commands.Items
	var err error
	if seen.Queue, err = r.queue(ctx, name, len(seen.Commands) > 0); err != nil || seen.Queue == nil {
		return seen, kin, err
	}
	if kin.Above, err = r.above(ctx, seen.Queue.ParentName()); err != nil {
		return seen, kin, err
	}
	circle := slices.ContainsFunc(kin.Above, func(up *schedulingv1beta1.Queue) bool { return up.Name == name })
	if len(kin.Above) > 0 && !circle { // in a circle each would wait for the other to open
		seen.Parent = kin.Above[0]
	}
	children, err := r.children(ctx, name)
	if err != nil {
		return seen, kin, err
	}
	for i := range children {
		kin.Below = append(kin.Below, &children[i])
	}
	if Closes(seen) {
		seen.AtWork, err = r.atWork(ctx, name)
	}
	return seen, kin, err
}

// queue reads a queue, nil when there is none. A Command may come to our eyes
// before the queue does that was made just before it: then the API server is asked.
func (r *reconciler) queue(ctx context.Context, name string, commanded bool) (*schedulingv1beta1.Queue, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 { // nothing can have that name
		return nil, nil
	}
	var q schedulingv1beta1.Queue
	key := types.NamespacedName{Name: name}
	err := r.client.Get(ctx, key, &q)
	if apierrors.IsNotFound(err) && commanded {
		err = r.live.Get(ctx, key, &q)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read queue %s: %w", name, err)
	}
	return &q, nil
}

// atWork counts the gangs that keep a queue from being empty, those below it included.
func (r *reconciler) atWork(ctx context.Context, name string) (int, error) {
	n := 0
	count := func(queue string) error {
		var groups schedulingv1beta1.PodGroupList
		if err := r.client.List(ctx, &groups, client.MatchingFields{inQueue: queue}, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list PodGroups of queue %s: %w", queue, err)
		}
		for i := range groups.Items {
			if AtWork(&groups.Items[i]) {
				n++
			}
		}
		return nil
	}
	if err := count(name); err != nil {
		return 0, err
	}
	err := r.descend(ctx, name, func(q *schedulingv1beta1.Queue) error { return count(q.Name) })
	return n, err
}

// problems says what can't be right about a queue; empty: nothing.
func problems(q *schedulingv1beta1.Queue, kin schedulingv1beta1.Kin) string {
	if q == nil {
		return ""
	}
	var texts []string
	for _, err := range q.Check(kin) {
		texts = append(texts, err.Error())
	}
	text := strings.Join(texts, "; ")
	if len(text) > messageLimit {
		text = strings.ToValidUTF8(text[:messageLimit-3], "") + "..."
	}
	return text
}

// messageLimit is how long an Event's message may be, in bytes.
const messageLimit = 1024

// lastTold returns what a queue was last told can't be right.
func (r *reconciler) lastTold(queue string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[queue]
}

// tell notes what a queue was told; empty: nothing any more.
func (r *reconciler) tell(queue, problems string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if problems == "" {
		delete(r.told, queue)
	} else {
		r.told[queue] = problems
	}
}
