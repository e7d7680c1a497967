package integration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// flatBecomes waits until a VCJob says that it is in a phase, and holds what is said besides.
func (w *world) flatBecomes(t *testing.T, namespace, name string, phase batchv1alpha1.JobPhase, holds func(batchv1alpha1.JobStatus) error) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var v batchv1alpha1.VCJob
		if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v); err != nil {
			return err
		}
		if v.Status.State.Phase != phase {
			return fmt.Errorf("VCJob %s is %q, want %s: %+v", name, v.Status.State.Phase, phase, v.Status)
		}
		return holds(v.Status)
	})
}

// TestSeed29Runs applies the mission's own VCJob as it is. It asks for four pods of one, which
// it is told, and its pod has what it says.
func TestSeed29Runs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(seeds, "29-vcjob-new-kind.yaml"))
	if err != nil {
		t.Skipf("it is not here: %v", err)
	}
	w := newWorld(t, cluster.Config{Nodes: 25})
	w.queue(t, "ai-training", schedulingv1beta1.QueueSpec{Weight: 1})
	ns := w.Namespace(t)
	if err := w.ApplyYAML(t.Context(), ns, string(text)); err != nil {
		t.Fatal(err)
	}
	w.flatBecomes(t, ns, "advanced-vcjob", batchv1alpha1.Running, counted(1, 0, 0, 0))
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, ns, "VCJob", "advanced-vcjob", "minAvailable is 4, and its tasks have 1 pods: it runs with 1; give more replicas, or a minAvailable of at most that")
	})
	pods, err := w.podsOf(t.Context(), ns, "advanced-vcjob")
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d pods (%v)", len(pods), err)
	}
	c := pods["advanced-vcjob-master-0"].Spec.Containers[0]
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	if env["WORLD_SIZE"] != "1" || env["MASTER_ADDR"] != "advanced-vcjob-master-0.advanced-vcjob" || c.Lifecycle.PreStop == nil || c.Resources.Limits.Cpu().String() != "64" {
		t.Errorf("%+v", c)
	}
	// Whoever deletes its Job wants neither.
	if err := w.Delete(t.Context(), &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "advanced-vcjob"}}, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.goes(t, &batchv1alpha1.VCJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "advanced-vcjob"}})
}

// goes waits until an object is no more.
func (w *world) goes(t *testing.T, o client.Object) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%T %s is there (%w)", o, o.GetName(), err)
		}
		return nil
	})
}

// TestAVCJobToItsEnd scales one, has its pods cleaned up at the end, which its counts outlive,
// and deletes it, which takes its Job along.
func TestAVCJobToItsEnd(t *testing.T) {
	w, ns := newJob(t, `
apiVersion: batch.volcano.sh/v1alpha1
kind: VCJob
metadata: {name: flat}
spec:
  runPolicy: {cleanUpTaskPolicy: [{action: Delete, task: all, when: Completed}]}
  tasks: [{name: worker, replicas: 1, restartPolicy: Never, pod: {image: i}}]
`)
	w.flatBecomes(t, ns, "flat", batchv1alpha1.Running, counted(1, 0, 0, 0))
	v := &batchv1alpha1.VCJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "flat"}}
	more := `[{"op":"replace","path":"/spec/tasks/0/replicas","value":2}]`
	if err := w.Patch(t.Context(), v, client.RawPatch(types.JSONPatchType, []byte(more))); err != nil {
		t.Fatal(err)
	}
	w.flatBecomes(t, ns, "flat", batchv1alpha1.Running, counted(2, 0, 0, 0))
	for _, name := range []string{"flat-worker-0", "flat-worker-1"} {
		end := []byte(`{"metadata":{"annotations":{"` + cluster.RunForAnnotation + `":"0s"}}}`)
		if _, err := w.core.CoreV1().Pods(ns).Patch(t.Context(), name, types.MergePatchType, end, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.flatBecomes(t, ns, "flat", batchv1alpha1.Completed, counted(0, 2, 0, 0))
	eventually(t, func(ctx context.Context) error {
		if pods, err := w.podsOf(ctx, ns, "flat"); err != nil || len(pods) > 0 {
			return fmt.Errorf("%d pods are left (%w)", len(pods), err)
		}
		return nil
	})
	w.flatBecomes(t, ns, "flat", batchv1alpha1.Completed, counted(0, 2, 0, 0))
	if err := w.Delete(t.Context(), v, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.goes(t, &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "flat"}})
}
