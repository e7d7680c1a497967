package podgroup

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
	"github.com/muster-sh/muster/pkg/workload"
)

// byController indexes pods and PodGroups by the UID of what controls them.
const byController = "metadata.controller.uid"

// reconcilesAtOnce is how many workloads of a kind are looked at together.
const reconcilesAtOnce = 8

// crdPoll is how often a kind that is not installed is looked for.
const crdPoll = 5 * time.Second

// Setup adds a controller per adapter to mgr; for kinds whose CRD is not
// installed, as soon as it is.
func Setup(ctx context.Context, mgr manager.Manager, adapters []workload.Adapter, ours func(schedulerName string) bool) error {
	for _, obj := range []client.Object{&corev1.Pod{}, &schedulingv1beta1.PodGroup{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, obj, byController, controllerUID); err != nil {
			return fmt.Errorf("index %T by controller: %w", obj, err)
		}
	}
	for _, a := range adapters {
		r := &reconciler{
			client: mgr.GetClient(), adapter: a, ours: ours, told: map[types.NamespacedName]string{},
			//nolint:staticcheck // core events, not events.k8s.io: they say how often, and need no second right
			do: outcome.Doer{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorderFor("muster-podgroup")},
		}
		if err := mgr.Add(waiter{mgr: mgr, reconciler: r}); err != nil {
			return fmt.Errorf("add controller for %s: %w", a.Kind().Kind, err)
		}
	}
	return nil
}

// controllerUID is the UID of what controls an object; a pod that nothing controls stands
// for itself.
func controllerUID(obj client.Object) []string {
	if c := metav1.GetControllerOf(obj); c != nil {
		return []string{string(c.UID)}
	}
	if _, pod := obj.(*corev1.Pod); pod {
		return []string{string(obj.GetUID())}
	}
	return nil
}

// waiter starts a controller once its kind is served.
type waiter struct {
	mgr        manager.Manager
	reconciler *reconciler
}

// NeedLeaderElection says that only one process may write PodGroups.
func (waiter) NeedLeaderElection() bool { return true }

// Start waits for the kind, adds its controller, and returns.
func (w waiter) Start(ctx context.Context) error {
	kind := w.reconciler.adapter.Kind()
	log := ctrl.LoggerFrom(ctx).WithValues("kind", kind.Kind)
	tick := time.NewTicker(crdPoll)
	defer tick.Stop()
	for said := false; ; said = true {
		_, err := w.mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			log.Info("watching workloads")
			return w.add()
		}
		if !meta.IsNoMatchError(err) {
			log.Error(err, "look for the kind")
		} else if !said {
			log.Info("kind is not installed; looking for it again and again", "every", crdPoll)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w waiter) add() error {
	r := w.reconciler
	obj, ok := r.adapter.New().(client.Object)
	if !ok {
		return fmt.Errorf("%s is no object", r.adapter.Kind().Kind)
	}
	toOwner := handler.EnqueueRequestsFromMapFunc(r.owner)
	return ctrl.NewControllerManagedBy(w.mgr).
		Named("podgroup-"+r.adapter.Kind().Resource).
		For(obj, builder.WithPredicates(predicate.NewPredicateFuncs(r.concerns))).
		Watches(&schedulingv1beta1.PodGroup{}, toOwner).
		Watches(&corev1.Pod{}, toOwner).
		WithOptions(controller.Options{MaxConcurrentReconciles: reconcilesAtOnce}).
		Complete(r)
}

type reconciler struct {
	client  client.Client
	adapter workload.Adapter
	ours    func(string) bool
	do      outcome.Doer

	mu   sync.Mutex
	told map[types.NamespacedName]string // by workload: the refusal that it was last told
}

// concerns leaves out, of pods as workloads, the many that are part of another or not ours.
func (r *reconciler) concerns(obj client.Object) bool {
	p, pod := obj.(*corev1.Pod)
	if !pod {
		return true
	}
	_, _, ok := r.adapter.Member(p)
	return ok
}

// owner maps a pod or PodGroup to the workload of this kind that controls it.
func (r *reconciler) owner(_ context.Context, obj client.Object) []reconcile.Request {
	c, kind := metav1.GetControllerOf(obj), r.adapter.Kind()
	if c == nil || c.Kind != kind.Kind || c.APIVersion != kind.GroupVersion().String() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: c.Name}}}
}

// Reconcile looks at one workload, lets Step decide, and has that done.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	obj, ok := r.adapter.New().(client.Object)
	if !ok {
		return reconcile.Result{}, fmt.Errorf("%s is no object", r.adapter.Kind().Kind)
	}
	if err := r.client.Get(ctx, req.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.tell(req.NamespacedName, "")
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	seen, err := r.observe(ctx, obj)
	if err != nil {
		return reconcile.Result{}, err
	}
	out, err := Step(seen, r.adapter, r.ours)
	if err != nil {
		return reconcile.Result{}, err
	}
	refusal := refused(seen)
	if refusal != "" && refusal != r.lastTold(req.NamespacedName) {
		out.Events = append(out.Events, outcome.Event{On: obj, Warning: true, Reason: string(schedulingv1beta1.PodGroupUnschedulableType), Message: refusal})
	}
	if err = r.do.Do(ctx, out); err == nil {
		r.tell(req.NamespacedName, refusal)
	}
	if apierrors.IsInvalid(err) {
		// What the workload asks for can't be written as a PodGroup; trying again would not help.
		r.do.Recorder.Event(obj, corev1.EventTypeWarning, "InvalidGang", err.Error())
		err = reconcile.TerminalError(err)
	}
	return reconcile.Result{}, err
}

func (r *reconciler) observe(ctx context.Context, obj client.Object) (Observed, error) {
	seen := Observed{Workload: obj}
	where := []client.ListOption{client.InNamespace(obj.GetNamespace()), client.MatchingFields{byController: string(obj.GetUID())}}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, where...); err != nil {
		return seen, fmt.Errorf("list pods of %s: %w", obj.GetName(), err)
	}
	var groups schedulingv1beta1.PodGroupList
	if err := r.client.List(ctx, &groups, where...); err != nil {
		return seen, fmt.Errorf("list PodGroups of %s: %w", obj.GetName(), err)
	}
	var ns corev1.Namespace
	if err := r.client.Get(ctx, types.NamespacedName{Name: obj.GetNamespace()}, &ns); client.IgnoreNotFound(err) != nil {
		return seen, fmt.Errorf("read namespace: %w", err)
	}
	seen.Pods, seen.PodGroups = pods.Items, groups.Items
	seen.NamespaceQueue = ns.Annotations[schedulingv1beta1.QueueNameAnnotation]
	return seen, nil
}

// refused returns why the PodGroups of a workload wait; empty: none does, or it is a pod,
// which the scheduler tells itself.
func refused(seen Observed) string {
	if _, pod := seen.Workload.(*corev1.Pod); pod {
		return ""
	}
	groups := seen.PodGroups
	for i := range groups {
		for _, c := range groups[i].Status.Conditions {
			if groups[i].DeletionTimestamp == nil && c.Type == schedulingv1beta1.PodGroupUnschedulableType && c.Status == corev1.ConditionTrue {
				return c.Message
			}
		}
	}
	return ""
}

// lastTold returns the refusal that a workload was last told.
func (r *reconciler) lastTold(workload types.NamespacedName) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[workload]
}

// tell notes what a workload was told; empty: nothing any more.
func (r *reconciler) tell(workload types.NamespacedName, refusal string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if refusal == "" {
		delete(r.told, workload)
	} else {
		r.told[workload] = refusal
	}
}
