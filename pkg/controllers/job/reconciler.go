package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/jobplugin"
	"github.com/muster-sh/muster/pkg/outcome"
)

// reconcilesAtOnce is how many jobs are looked at together.
const reconcilesAtOnce = 8

// Setup adds the controller to mgr.
func Setup(ctx context.Context, mgr manager.Manager) error {
	for _, index := range indices() {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.of, index.name, index.value); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.of, index.name, err)
		}
	}
	r := &reconciler{
		client: mgr.GetClient(), made: newMade(),
		//nolint:staticcheck // core events, not events.k8s.io: they say how often, and need no second right
		do: outcome.Doer{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorderFor("muster-job")},
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("job").
		For(&batchv1alpha1.Job{}).
		Watches(&corev1.Pod{}, ofPods()).
		Owns(&schedulingv1beta1.PodGroup{}).
		Watches(&busv1alpha1.Command{}, handler.EnqueueRequestsFromMapFunc(ofCommand)).
		Watches(&corev1.Service{}, r.made.losses(), builder.OnlyMetadata).
		Watches(&corev1.ConfigMap{}, r.made.losses(), builder.OnlyMetadata).
		Watches(&networkingv1.NetworkPolicy{}, r.made.losses(), builder.OnlyMetadata).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(r.ofClaim), builder.OnlyMetadata).
		WithOptions(controller.Options{MaxConcurrentReconciles: reconcilesAtOnce}).
		Complete(r)
}

type reconciler struct {
	client client.Client
	do     outcome.Doer
	made   *made
}

// Reconcile looks at one job, lets Step decide, and has that done.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var job batchv1alpha1.Job
	if err := r.client.Get(ctx, req.NamespacedName, &job); err != nil {
		if apierrors.IsNotFound(err) {
			r.made.lacks(req.NamespacedName) // and nobody will ask
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	seen, err := r.observe(ctx, &job)
	if err != nil {
		return reconcile.Result{}, err
	}
	if seen.Plugins, err = plugins(&job); err != nil {
		return reconcile.Result{}, r.refuse(ctx, &job, err)
	}
	out, next, err := Step(seen)
	if err != nil { // nobody but its author can mend that
		return reconcile.Result{}, r.refuse(ctx, &job, err)
	}
	err = r.do.Do(ctx, out)
	if err != nil && seen.Lost {
		r.made.lose(req.NamespacedName)
	}
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: outcome.Again}, nil
	case err != nil:
		if len(out.Create) > 0 {
			r.made.fail(&job, out.Create, err)
			r.do.Recorder.Event(&job, corev1.EventTypeWarning, "FailedCreate", err.Error())
		}
		return reconcile.Result{}, err
	}
	r.made.note(job.UID, out.Create, seen.Now)
	if seen.Failed != "" {
		r.made.fail(&job, nil, nil)
		return reconcile.Result{RequeueAfter: outcome.Again}, nil // so that its status says so
	}
	if next.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: max(next.Sub(seen.Now), time.Millisecond)}, nil
}

// refuse says in a job's status and in an Event what nobody but its author can mend.
func (r *reconciler) refuse(ctx context.Context, job *batchv1alpha1.Job, why error) error {
	r.do.Recorder.Event(job, corev1.EventTypeWarning, "InvalidJob", why.Error())
	state := job.Status.State
	state.Phase = cmp.Or(state.Phase, batchv1alpha1.Pending)
	state.Reason, state.Message = "InvalidJob", why.Error()
	status, err := outcome.Difference(batchv1alpha1.JobStatus{State: job.Status.State}, batchv1alpha1.JobStatus{State: state})
	if err != nil || len(status) == 0 {
		return errors.Join(reconcile.TerminalError(why), err)
	}
	err = r.do.Do(ctx, outcome.Outcome{Patch: []outcome.Patch{{Object: job, Status: status}}})
	return errors.Join(reconcile.TerminalError(why), err)
}

// plugins are those of a job that may make pods.
func plugins(job *batchv1alpha1.Job) ([]jobplugin.Plugin, error) {
	if phase := job.Status.State.Phase; phase.Final() || phase == batchv1alpha1.Aborted {
		return nil, nil
	}
	job = job.DeepCopy()
	batchv1alpha1.SetDefaults(job)
	return jobplugin.For(job, jobplugin.Builtin(rand.Reader))
}

// observe reads what there is around a job.
func (r *reconciler) observe(ctx context.Context, job *batchv1alpha1.Job) (Observed, error) {
	seen := Observed{Job: job, Now: time.Now(), Claims: map[string]bool{}, Priorities: map[string]int32{}}
	mine := []client.ListOption{client.InNamespace(job.Namespace), client.MatchingFields{byJob: string(job.UID)}}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, mine...); err != nil {
		return seen, fmt.Errorf("list pods of job %s: %w", job.Name, err)
	}
	var orphans corev1.PodList
	if err := r.client.List(ctx, &orphans, client.InNamespace(job.Namespace), client.MatchingFields{orphan: groupName(job)}); err != nil {
		return seen, fmt.Errorf("list pods of job %s that nothing controls: %w", job.Name, err)
	}
	seen.Lost = r.made.lacks(client.ObjectKeyFromObject(job))
	var groups schedulingv1beta1.PodGroupList
	if err := r.client.List(ctx, &groups, mine...); err != nil {
		return seen, fmt.Errorf("list PodGroups of job %s: %w", job.Name, err)
	}
	var commands busv1alpha1.CommandList
	if err := r.client.List(ctx, &commands, client.InNamespace(job.Namespace), client.MatchingFields{forJob: job.Name}); err != nil {
		return seen, fmt.Errorf("list Commands for job %s: %w", job.Name, err)
	}
	for _, c := range commands.Items {
		if means(&c, job) {
			seen.Commands = append(seen.Commands, c)
		}
	}
	seen.Pods, seen.PodGroups, seen.Failed = append(pods.Items, orphans.Items...), groups.Items, r.made.failure(job.UID)
	seen.Made = r.made.unseen(job.UID, seen.Pods, seen.Now)
	for i := range job.Spec.Volumes {
		claim := metav1.PartialObjectMetadata{}
		claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		err := r.client.Get(ctx, types.NamespacedName{Namespace: job.Namespace, Name: claimName(job, i)}, &claim)
		if client.IgnoreNotFound(err) != nil {
			return seen, fmt.Errorf("read volume claim: %w", err)
		}
		seen.Claims[claimName(job, i)] = err == nil
	}
	return seen, r.priorities(ctx, job, seen.Priorities)
}

// priorities reads the values of the priority classes that a job names; those that do not
// exist count 0.
func (r *reconciler) priorities(ctx context.Context, job *batchv1alpha1.Job, into map[string]int32) error {
	names := []string{job.Spec.PriorityClassName}
	for _, t := range job.Spec.Tasks {
		names = append(names, t.Template.Spec.PriorityClassName)
	}
	for _, name := range names {
		if _, known := into[name]; name == "" || known {
			continue
		}
		var class schedulingv1.PriorityClass
		if err := r.client.Get(ctx, types.NamespacedName{Name: name}, &class); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read priority class %s: %w", name, err)
		}
		into[name] = class.Value
	}
	return nil
}
