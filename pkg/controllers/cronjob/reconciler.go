package cronjob

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// byCronJob indexes jobs by the CronJob that controls them.
const byCronJob = "cronjob.uid"

// Rules is what the controller must be allowed to do, and no more.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		outcome.May(batchv1alpha1.GroupName, "cronjobs", "get", "list", "watch"),
		outcome.May(batchv1alpha1.GroupName, "cronjobs/status", "patch"),
		outcome.May(batchv1alpha1.GroupName, "cronjobs/finalizers", "update"),
		outcome.May(batchv1alpha1.GroupName, "jobs", "get", "list", "watch", "create", "delete"),
		outcome.May(corev1.GroupName, "events", "create", "patch"),
	}
}

// Setup adds the controller to mgr.
func Setup(ctx context.Context, mgr manager.Manager) error {
	index := func(o client.Object) []string {
		c := metav1.GetControllerOf(o)
		if c == nil || c.Kind != "CronJob" || c.APIVersion != batchv1alpha1.GroupVersion().String() {
			return nil
		}
		return []string{string(c.UID)}
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &batchv1alpha1.Job{}, byCronJob, index); err != nil {
		return fmt.Errorf("index jobs by CronJob: %w", err)
	}
	r := &reconciler{
		client: mgr.GetClient(), made: map[types.UID]time.Time{},
		//nolint:staticcheck // core events, not events.k8s.io: they say how often, and need no second right
		do: outcome.Doer{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorderFor("muster-cronjob")},
	}
	moves := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, isJob := e.ObjectOld.(*batchv1alpha1.Job)
		is, stays := e.ObjectNew.(*batchv1alpha1.Job)
		return !isJob || !stays || was.Status.State.Phase != is.Status.State.Phase
	}}
	return ctrl.NewControllerManagedBy(mgr).
		Named("cronjob").
		For(&batchv1alpha1.CronJob{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&batchv1alpha1.Job{}, builder.WithPredicates(moves)).
		Complete(r)
}

type reconciler struct {
	client client.Client
	do     outcome.Doer

	mu   sync.Mutex
	made map[types.UID]time.Time // by CronJob: for when the last job was made, which the cache may not show yet
}

// Reconcile looks at one CronJob, lets Step decide, and has that done. It looks again when the
// next job is due, and not before unless something changes.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var c batchv1alpha1.CronJob
	if err := r.client.Get(ctx, req.NamespacedName, &c); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var list batchv1alpha1.JobList
	if err := r.client.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingFields{byCronJob: string(c.UID)}); err != nil {
		return reconcile.Result{}, fmt.Errorf("list jobs of CronJob %s: %w", c.Name, err)
	}
	o := Observed{CronJob: &c, Jobs: list.Items, Made: r.noted(c.UID), Now: time.Now()}
	plan, err := Step(o)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	if err := r.do.Do(ctx, plan.Make); err != nil {
		r.do.Recorder.Event(&c, corev1.EventTypeWarning, "FailedCreate", err.Error())
		return reconcile.Result{}, err
	}
	r.note(&c, plan.Made)
	switch err := r.do.Do(ctx, plan.Tell); {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: outcome.Again}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	if plan.Next.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(time.Until(plan.Next), time.Millisecond)}, nil
}

func (r *reconciler) noted(c types.UID) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made[c]
}

// note remembers for when a job was made, until the CronJob says so itself.
func (r *reconciler) note(c *batchv1alpha1.CronJob, made time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := c.Status.LastScheduleTime
	switch {
	case !made.IsZero():
		r.made[c.UID] = made
	case c.DeletionTimestamp != nil || last != nil && !last.Time.Before(r.made[c.UID]):
		delete(r.made, c.UID)
	}
}
