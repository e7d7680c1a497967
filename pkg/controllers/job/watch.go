package job

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// Indices of the cache.
const (
	byJob  = "job.uid"    // pods and PodGroups by the job that controls them
	orphan = "job.group"  // pods that nothing controls, by the PodGroup that they name
	forJob = "job.target" // Commands by the job that they target
)

type index struct {
	of    client.Object
	name  string
	value client.IndexerFunc
}

func indices() []index {
	return []index{
		{&corev1.Pod{}, byJob, jobUID},
		{&schedulingv1beta1.PodGroup{}, byJob, jobUID},
		{&corev1.Pod{}, orphan, func(o client.Object) []string {
			if group := o.GetAnnotations()[schedulingv1beta1.GroupNameAnnotation]; group != "" && metav1.GetControllerOf(o) == nil {
				return []string{group}
			}
			return nil
		}},
		{&busv1alpha1.Command{}, forJob, func(o client.Object) []string {
			if name := target(o); name != "" {
				return []string{name}
			}
			return nil
		}},
	}
}

func jobUID(o client.Object) []string {
	c := metav1.GetControllerOf(o)
	if c == nil || c.Kind != "Job" || c.APIVersion != batchv1alpha1.GroupVersion().String() {
		return nil
	}
	return []string{string(c.UID)}
}

// ofJob asks for a look at the job that controls an object; false: none does.
func ofJob(o client.Object) (reconcile.Request, bool) {
	if jobUID(o) == nil {
		return reconcile.Request{}, false
	}
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: metav1.GetControllerOf(o).Name}}, true
}

// target is the job that a Command names, itself or by the VCJob of the same name that it is
// made from; empty when it names none.
func target(o client.Object) string {
	c, ok := o.(*busv1alpha1.Command)
	if !ok || c.TargetObject == nil || c.TargetObject.Kind != "Job" && c.TargetObject.Kind != "VCJob" {
		return ""
	}
	group, _, _ := strings.Cut(c.TargetObject.APIVersion, "/")
	if group != "" && group != batchv1alpha1.GroupName {
		return ""
	}
	return c.TargetObject.Name
}

// means reports whether a Command means this very job, or the VCJob that controls it.
func means(c *busv1alpha1.Command, job *batchv1alpha1.Job) bool {
	owner := metav1.GetControllerOf(job)
	made := owner != nil && owner.Kind == "VCJob"
	uid := c.TargetObject.UID
	if c.TargetObject.Kind == "VCJob" {
		return made && (uid == "" || uid == owner.UID)
	}
	return uid == "" || uid == job.UID
}

// settling is how long the pods of a job may change before that is looked at, since they start
// and end together and each look may be a write. Pods that go are looked at at once.
const settling = 100 * time.Millisecond

// ofPods has a job looked at when its pods change.
func ofPods() handler.EventHandler {
	type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]
	look := func(queue requests, after time.Duration, objects ...client.Object) {
		for _, o := range objects {
			if job, ok := ofJob(o); ok {
				queue.AddAfter(job, after)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, queue requests) { look(queue, settling, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue requests) {
			after := settling
			if e.ObjectNew.GetDeletionTimestamp() != nil {
				after = 0
			}
			look(queue, after, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue requests) { look(queue, 0, e.Object) },
	}
}

// ofCommand maps a Command to the job it targets.
func ofCommand(_ context.Context, o client.Object) []reconcile.Request {
	name := target(o)
	if name == "" || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// ofClaim maps a volume claim to the jobs that speak of it.
func (r *reconciler) ofClaim(ctx context.Context, o client.Object) []reconcile.Request {
	var jobs batchv1alpha1.JobList
	if err := r.client.List(ctx, &jobs, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the jobs of a volume claim", "claim", client.ObjectKeyFromObject(o))
	}
	var requests []reconcile.Request
	for i := range jobs.Items {
		job := &jobs.Items[i]
		for v := range job.Spec.Volumes {
			if claimName(job, v) == o.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)})
				break
			}
		}
	}
	return requests
}

// madeFor is how long a pod that was made may take to be seen.
const madeFor = 30 * time.Second

// made remembers which pods were made that the cache may not show yet, so that none is made
// twice for nothing. Who forgets loses nothing: names are taken only once.
type made struct {
	mu     sync.Mutex
	jobs   map[types.UID]map[string]time.Time // names of pods, and until when that counts
	failed map[types.UID]string               // why pods could not be made
	lost   map[types.NamespacedName]bool      // jobs of which something was deleted that plugins made
}

func newMade() *made {
	return &made{jobs: map[types.UID]map[string]time.Time{}, failed: map[types.UID]string{}, lost: map[types.NamespacedName]bool{}}
}

// fail remembers why pods of a job could not be made; nil: they could. It speaks of all pods of
// a task alike, since which of them fails first is chance.
func (m *made) fail(job *batchv1alpha1.Job, objects []apis.Object, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.failed, job.UID)
		return
	}
	why := err.Error()
	for _, o := range slices.Backward(objects) { // the longer names first: -10 before -1
		if task := o.GetLabels()[schedulingv1beta1.TaskSpecAnnotation]; task != "" {
			why = strings.ReplaceAll(why, o.GetName(), job.Name+"-"+task+"-*")
		}
	}
	m.failed[job.UID] = why
}

// lose remembers that something is gone that plugins made for a job.
func (m *made) lose(job types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost[job] = true
}

// lacks reports whether that was so since it was last asked.
func (m *made) lacks(job types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	lost := m.lost[job]
	delete(m.lost, job)
	return lost
}

// losses has a job looked at when something is deleted that plugins made for it.
func (m *made) losses() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if job, ok := ofJob(e.Object); ok {
			m.lose(job.NamespacedName)
			queue.Add(job)
		}
	}}
}

func (m *made) failure(job types.UID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed[job]
}

func (m *made) note(job types.UID, objects []apis.Object, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range objects {
		if _, pod := o.(*corev1.Pod); !pod {
			continue
		}
		if m.jobs[job] == nil {
			m.jobs[job] = map[string]time.Time{}
		}
		m.jobs[job][o.GetName()] = now.Add(madeFor)
	}
}

// unseen are the names of pods that were made and are not among those that are seen.
func (m *made) unseen(job types.UID, seen []corev1.Pod, now time.Time) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := m.jobs[job]
	for i := range seen {
		delete(names, seen[i].Name)
	}
	left := map[string]bool{}
	for name, until := range names {
		if now.After(until) {
			delete(names, name)
		} else {
			left[name] = true
		}
	}
	if len(names) == 0 {
		delete(m.jobs, job)
	}
	return left
}
