package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// TestSeedJobsRun applies the mission's own jobs as they are, each with the queue that it
// names. Some are cut short for the reader, and lack what every pod needs: that is said.
func TestSeedJobsRun(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	for file, want := range map[string]struct{ queue, lacks string }{
		"04-vcjob-pytorch-policies.yaml":     {queue: "ai-training"},
		"07-vcjob-nccl-topology-policy.yaml": {lacks: "spec.containers[0].image: Required value"},
		"11-vcjob-pytorch-plugin.yaml":       {},
		"14-priorityclass-and-vcjob.yaml":    {queue: "ai-training", lacks: "spec.containers: Required value"},
		"17-vcjob-ttl-maxretry.yaml":         {},
		"24-vcjob-slo-deadline.yaml":         {queue: "ai-training", lacks: "spec.containers[0].image: Required value"},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(seeds, file))
			if err != nil {
				t.Skipf("it is not here: %v", err)
			}
			ns := w.Namespace(t)
			t.Cleanup(func() { w.clear(t, ns) })
			if want.queue != "" {
				w.queue(t, want.queue, schedulingv1beta1.QueueSpec{Weight: 1})
			}
			if err := w.ApplyYAML(t.Context(), ns, string(text)); err != nil {
				t.Fatal(err)
			}
			if want.lacks != "" {
				eventually(t, func(ctx context.Context) error { return w.failsToCreate(ctx, ns, want.lacks) })
				return
			}
			eventually(t, func(ctx context.Context) error { return w.runs(ctx, ns) })
		})
	}
}

// runs returns nil when a namespace has one job and that runs.
func (w *world) runs(ctx context.Context, namespace string) error {
	var jobs batchv1alpha1.JobList
	if err := w.List(ctx, &jobs, client.InNamespace(namespace)); err != nil {
		return err
	}
	if len(jobs.Items) != 1 {
		return fmt.Errorf("%d jobs", len(jobs.Items))
	}
	s := jobs.Items[0].Status
	if s.State.Phase != batchv1alpha1.Running || s.Running < s.MinAvailable || s.MinAvailable == 0 {
		return fmt.Errorf("%+v", s)
	}
	return nil
}

// failsToCreate returns nil when an event tells what keeps the pods of a job from being made.
func (w *world) failsToCreate(ctx context.Context, namespace, why string) error {
	events, err := w.core.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Job,reason=FailedCreate"})
	if err != nil {
		return err
	}
	for i := range events.Items {
		if strings.Contains(events.Items[i].Message, why) {
			return nil
		}
	}
	return fmt.Errorf("%d events, none says %q", len(events.Items), why)
}

// clear deletes the jobs of a namespace, so that the next one has their room.
func (w *world) clear(t *testing.T, namespace string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := w.DeleteAllOf(ctx, &batchv1alpha1.Job{}, client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
}
