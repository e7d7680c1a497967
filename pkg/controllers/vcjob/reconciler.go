package vcjob

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// Rules is what the controller must be allowed to do, and no more.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		outcome.May(batchv1alpha1.GroupName, "flatvcjobs", "get", "list", "watch", "delete"),
		outcome.May(batchv1alpha1.GroupName, "flatvcjobs/status", "patch"),
		outcome.May(batchv1alpha1.GroupName, "flatvcjobs/finalizers", "update"),
		outcome.May(batchv1alpha1.GroupName, "jobs", "get", "list", "watch", "create", "patch"),
		outcome.May(corev1.GroupName, "pods", "get", "list", "watch", "delete"),
		outcome.May(corev1.GroupName, "events", "create", "patch"),
	}
}

// Setup adds the controller to mgr.
func Setup(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("vcjob").
		For(&batchv1alpha1.VCJob{}).
		Owns(&batchv1alpha1.Job{}).
		Complete(&reconciler{
			client: mgr.GetClient(), live: mgr.GetAPIReader(),
			//nolint:staticcheck // core events, not events.k8s.io: they say how often, and need no second right
			do: outcome.Doer{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorderFor("muster-vcjob")},
		})
}

type reconciler struct {
	client client.Client
	live   client.Reader // asks the API server itself
	do     outcome.Doer
}

// Reconcile looks at one VCJob, lets Step decide, and has that done.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var v batchv1alpha1.VCJob
	if err := r.client.Get(ctx, req.NamespacedName, &v); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	o, err := r.observe(ctx, &v)
	if err != nil {
		return reconcile.Result{}, err
	}
	out, err := Step(o)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	switch err := r.do.Do(ctx, out); {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: outcome.Again}, nil
	case err != nil:
		r.do.Recorder.Event(&v, corev1.EventTypeWarning, "FailedWrite", err.Error())
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

// observe reads what there is around a VCJob. That its Job is gone it asks the API server, since
// more than a look at the cache hangs on it.
func (r *reconciler) observe(ctx context.Context, v *batchv1alpha1.VCJob) (o Observed, err error) {
	o.VCJob = v
	var job batchv1alpha1.Job
	err = r.client.Get(ctx, client.ObjectKeyFromObject(v), &job)
	if apierrors.IsNotFound(err) && Ended(o) {
		err = r.live.Get(ctx, client.ObjectKeyFromObject(v), &job)
	}
	switch {
	case apierrors.IsNotFound(err):
		return o, nil
	case err != nil:
		return o, fmt.Errorf("read the Job of VCJob %s: %w", v.Name, err)
	}
	o.Job = &job
	if !CleansUp(v, o.Job) {
		return o, nil
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(v.Namespace), client.MatchingLabels{batchv1alpha1.JobNameKey: job.Name}); err != nil {
		return o, fmt.Errorf("list pods of VCJob %s: %w", v.Name, err)
	}
	for _, pod := range pods.Items {
		if metav1.IsControlledBy(&pod, &job) {
			o.Pods = append(o.Pods, pod)
		}
	}
	return o, nil
}
