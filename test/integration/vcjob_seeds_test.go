package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// TestSeedJobsRun applies the mission's own jobs as they are, each with the queue that it
// names. Some are cut short for the reader and lack what every pod needs, some ask for what is
// not there: their status says exactly that.
func TestSeedJobsRun(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	for file, want := range map[string]struct{ queue, says string }{
		"04-vcjob-pytorch-policies.yaml":     {queue: "ai-training"},
		"07-vcjob-nccl-topology-policy.yaml": {says: "spec.containers[0].image: Required value"},
		"08-vcjob-tf-ps-task-topology.yaml":  {says: "spec.containers[0].image: Required value"},
		"10-vcjob-torchrun-vc-env.yaml":      {queue: "gpu-queue", says: "training-dataset"},
		"11-vcjob-pytorch-plugin.yaml":       {},
		"13-vcjob-reservation.yaml":          {says: "spec.containers[0].image: Required value"},
		"14-priorityclass-and-vcjob.yaml":    {queue: "ai-training", says: "spec.containers: Required value"},
		"17-vcjob-ttl-maxretry.yaml":         {},
		"19-vcjob-hami-gpumem-gpucores.yaml": {queue: "inference-queue", says: "nvidia.com/gpumem"},
		"24-vcjob-slo-deadline.yaml":         {queue: "ai-training", says: "spec.containers[0].image: Required value"},
		"42-together-vcjob-gpu-gang.yaml":    {queue: "research", says: "shared-pvc"},
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
			if want.says != "" {
				eventually(t, func(ctx context.Context) error { return w.statusSays(ctx, ns, want.says) })
				return
			}
			eventually(t, func(ctx context.Context) error { return w.runs(ctx, ns) })
		})
	}
}

// TestSeed18HasNoName: no API server takes an object without one, and with one it runs.
func TestSeed18HasNoName(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(seeds, "18-vcjob-gfd-nodeselector.yaml"))
	if err != nil {
		t.Skipf("it is not here: %v", err)
	}
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	t.Cleanup(func() { w.clear(t, ns) })
	if err := w.ApplyYAML(t.Context(), ns, string(text)); err == nil {
		t.Error("it was taken")
	}
	w.queue(t, "gpu-training", schedulingv1beta1.QueueSpec{Weight: 1})
	named := strings.Replace(string(text), "spec:", "metadata: {name: selected}\nspec:", 1)
	if err := w.ApplyYAML(t.Context(), ns, named); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		return w.statusSays(ctx, ns, "spec.containers[0].image: Required value")
	})
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

// statusSays returns nil when the one job of a namespace waits and its status says why.
func (w *world) statusSays(ctx context.Context, namespace, why string) error {
	jobs, err := w.jobsOf(ctx, namespace)
	if err != nil || len(jobs) != 1 {
		return fmt.Errorf("%d jobs (%w)", len(jobs), err)
	}
	if s := jobs[0].Status.State; s.Phase != batchv1alpha1.Pending || !strings.Contains(s.Message, why) {
		return fmt.Errorf("%+v", s)
	}
	return nil
}

// clear deletes the jobs of a namespace, so that the next one has their room.
func (w *world) clear(t *testing.T, namespace string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := w.DeleteAllOf(ctx, &batchv1alpha1.Job{}, client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
}
