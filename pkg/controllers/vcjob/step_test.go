package vcjob

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
)

func flat() *batchv1alpha1.VCJob {
	v := &batchv1alpha1.VCJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "bert", UID: "u", Generation: 1}}
	v.Spec.Tasks = []batchv1alpha1.VCTaskSpec{{Name: "worker", Replicas: 2, Pod: batchv1alpha1.VCPodSpec{Image: "i"}}}
	return v
}

func running(v *batchv1alpha1.VCJob) *batchv1alpha1.Job {
	job := v.Job()
	job.Status.State.Phase, job.Status.Running = batchv1alpha1.Running, 2
	return job
}

func pod(name, task string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{schedulingv1beta1.TaskSpecAnnotation: task}}}
}

// said is what an outcome asks for, in short.
func said(out outcome.Outcome) string {
	var words []string
	for _, o := range out.Create {
		words = append(words, "make "+o.GetName())
	}
	for _, p := range out.Patch {
		for key := range p.Fields {
			if key == "spec" {
				words = append(words, "change "+p.Object.GetName())
			}
		}
		if len(p.Status) > 0 {
			words = append(words, "tell")
		}
	}
	for _, o := range out.Delete {
		words = append(words, "delete "+o.GetName())
	}
	for _, e := range out.Events {
		words = append(words, e.Reason)
	}
	return strings.Join(words, ", ")
}

func TestWhatIsDoneAboutAVCJob(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Observed)
		want string
	}{
		"it is new":        {func(o *Observed) { o.Job = nil }, "make bert"},
		"it asks for more": {func(o *Observed) { o.Job = nil; o.VCJob.Spec.MinAvailable = 4 }, "make bert, MinAvailable"},
		"its Job is young": {func(o *Observed) { o.Job.Status = batchv1alpha1.JobStatus{} }, "tell"},
		"its Job runs":     {func(*Observed) {}, "tell"},
		"all is said":      {func(o *Observed) { o.VCJob.Status = o.Job.Status }, ""},
		"it is scaled": {func(o *Observed) {
			o.VCJob.Status = o.Job.Status
			o.VCJob.Generation++
			o.VCJob.Spec.Tasks[0].Replicas = 3
		}, "change bert"},
		"its Job is another": {func(o *Observed) { o.Job.OwnerReferences = nil }, "NameTaken"},
		"its Job is gone":    {func(o *Observed) { o.VCJob.Status = o.Job.Status; o.Job = nil }, "delete bert, JobDeleted"},
		"it is going":        {func(o *Observed) { o.VCJob.DeletionTimestamp = new(metav1.Now()) }, ""},
		"its pods go at the end": {func(o *Observed) {
			o.Job.Status.State.Phase = batchv1alpha1.Completed
			o.VCJob.Spec.RunPolicy.CleanUpTaskPolicy = []batchv1alpha1.CleanUpTaskPolicy{{Action: "Delete", Task: "worker", When: batchv1alpha1.Completed}}
			o.VCJob.Status = o.Job.Status
			o.Pods = []corev1.Pod{pod("bert-worker-0", "worker"), pod("bert-master-0", "master")}
		}, "delete bert-worker-0"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observed{VCJob: flat()}
			o.Job = running(o.VCJob)
			c.edit(&o)
			out, err := Step(o)
			if err != nil {
				t.Fatal(err)
			}
			if got := said(out); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
