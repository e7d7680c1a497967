package integration_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// job is a PyTorchJob of one master and workers, each with 8 GPUs. Its
// pods run until they are deleted, or as long as runFor says.
func job(workers int, runFor ...string) string {
	annotations := ""
	for _, d := range runFor {
		annotations = fmt.Sprintf("metadata: {annotations: {%s: %s}}, ", cluster.RunForAnnotation, d)
	}
	pod := "{" + annotations + `spec: {schedulerName: volcano, containers: [{name: pytorch, image: trainer, resources: {limits: {nvidia.com/gpu: 8}}}]}}`
	return fmt.Sprintf(`
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert}
spec:
  runPolicy: {schedulingPolicy: {queue: default}}
  pytorchReplicaSpecs:
    Master: {replicas: 1, restartPolicy: OnFailure, template: %s}
    Worker: {replicas: %d, restartPolicy: OnFailure, template: %s}
`, pod, workers, pod)
}

// groups returns the PodGroups of a namespace by name.
func (w *world) groups(ctx context.Context, namespace string) (map[string]schedulingv1beta1.PodGroup, error) {
	var list schedulingv1beta1.PodGroupList
	if err := w.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	byName := map[string]schedulingv1beta1.PodGroup{}
	for i := range list.Items {
		byName[list.Items[i].Name] = list.Items[i]
	}
	return byName, nil
}

// oneGang returns nil when a namespace has exactly one PodGroup, of that name,
// roles and phase, and all its pods are bound to it.
func (w *world) oneGang(ctx context.Context, namespace, name string, roles map[string]int32, phase schedulingv1beta1.PodGroupPhase) error {
	groups, err := w.groups(ctx, namespace)
	if err != nil {
		return err
	}
	pg, ok := groups[name]
	if len(groups) != 1 || !ok {
		return fmt.Errorf("PodGroups are %v, want %s alone", strings.Join(keys(groups), ", "), name)
	}
	var want int32
	for _, n := range roles {
		want += n
	}
	if pg.Spec.MinMember != want || !(len(pg.Spec.MinTaskMember) == 0 || maps.Equal(pg.Spec.MinTaskMember, roles)) || pg.Status.Phase != phase {
		return fmt.Errorf("PodGroup %s: minMember %d minTaskMember %v phase %q, want %d %v %s; %+v",
			name, pg.Spec.MinMember, pg.Spec.MinTaskMember, pg.Status.Phase, want, roles, phase, pg.Status.Conditions)
	}
	n, err := w.bound(ctx, namespace, name)
	if err == nil && int32(n) != want {
		err = fmt.Errorf("%d pods of %s are bound, want %d", n, name, want)
	}
	return err
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// edit changes the PyTorchJob.
func (w *world) edit(t *testing.T, namespace string, change func(*kubeflowv1.PyTorchJob)) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var j kubeflowv1.PyTorchJob
		if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "bert"}, &j); err != nil {
			return err
		}
		change(&j)
		return w.Update(ctx, &j)
	})
}

// TestAPyTorchJobIsOneGang follows a job made by the real training-operator,
// without its gang flag, through its life.
func TestAPyTorchJobIsOneGang(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 8, Operators: []cluster.Operator{{Name: "training"}}})
	ns := w.Namespace(t)
	if err := w.ApplyYAML(t.Context(), ns, job(3)); err != nil {
		t.Fatal(err)
	}
	var j kubeflowv1.PyTorchJob
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "bert"}, &j); err != nil {
		t.Fatal(err)
	}
	name := "podgroup-" + string(j.UID)
	roles := func(workers int32) map[string]int32 { return map[string]int32{"master": 1, "worker": workers} }
	runs := func(workers int32) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			return w.oneGang(ctx, ns, name, roles(workers), schedulingv1beta1.PodGroupRunning)
		})
	}
	runs(3)
	groups, err := w.groups(t.Context(), ns)
	if err != nil {
		t.Fatal(err)
	}
	pg := groups[name]
	if owner := metav1.GetControllerOf(&pg); owner == nil || owner.UID != j.UID {
		t.Errorf("the PodGroup's controller is %+v, want the job", owner)
	}
	if q := (*pg.Spec.MinResources)["nvidia.com/gpu"]; q.Value() != 32 {
		t.Errorf("minResources are %v, want 32 GPUs", pg.Spec.MinResources)
	}

	w.edit(t, ns, func(j *kubeflowv1.PyTorchJob) { j.Spec.PyTorchReplicaSpecs["Worker"].Replicas = new(int32(5)) })
	runs(5)

	w.edit(t, ns, func(j *kubeflowv1.PyTorchJob) { j.Spec.RunPolicy.Suspend = new(true) })
	eventually(t, func(ctx context.Context) error { return w.empty(ctx, ns) })
	w.edit(t, ns, func(j *kubeflowv1.PyTorchJob) { j.Spec.RunPolicy.Suspend = new(false) })
	runs(5)

	// More than the cluster has: nothing of the new gang is bound, and the job itself says why.
	w.edit(t, ns, func(j *kubeflowv1.PyTorchJob) { j.Spec.RunPolicy.Suspend = new(true) })
	eventually(t, func(ctx context.Context) error { return w.empty(ctx, ns) })
	w.edit(t, ns, func(j *kubeflowv1.PyTorchJob) {
		j.Spec.RunPolicy.Suspend = new(false)
		j.Spec.PyTorchReplicaSpecs["Worker"].Replicas = new(int32(9))
	})
	eventually(t, func(ctx context.Context) error {
		message, err := w.unschedulable(ctx, ns, name)
		if err != nil {
			return err
		}
		return w.event(ctx, ns, "PyTorchJob", "bert", message)
	})
	if n, err := w.bound(t.Context(), ns, name); n != 0 || err != nil {
		t.Errorf("%d pods of a gang that does not fit are bound (%v)", n, err)
	}

	if err := w.Delete(t.Context(), &j, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return w.empty(ctx, ns) })
}

// empty returns nil when a namespace has neither pods nor PodGroups.
func (w *world) empty(ctx context.Context, namespace string) error {
	groups, err := w.groups(ctx, namespace)
	if err != nil {
		return err
	}
	var pods corev1.PodList
	if err := w.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	if len(groups)+len(pods.Items) > 0 {
		return fmt.Errorf("there are %d PodGroups and %d pods", len(groups), len(pods.Items))
	}
	return nil
}

// TestAnOperatorsOwnPodGroupIsTheOnlyOne runs training-operator with its gang
// flag: it makes the PodGroup, waits until that is Inqueue, and ours stands back.
func TestAnOperatorsOwnPodGroupIsTheOnlyOne(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 8, Operators: []cluster.Operator{{Name: "training", Gang: true}}})
	ns := w.Namespace(t)
	if err := w.ApplyYAML(t.Context(), ns, job(3)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		return w.oneGang(ctx, ns, "bert", map[string]int32{"master": 1, "worker": 3}, schedulingv1beta1.PodGroupRunning)
	})
}

// TestAFinishedJobGivesItsPodGroupBack lets all pods of a job succeed.
func TestAFinishedJobGivesItsPodGroupBack(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 8, Operators: []cluster.Operator{{Name: "training"}}})
	ns := w.Namespace(t)
	if err := w.ApplyYAML(t.Context(), ns, job(2, "500ms")); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		var j kubeflowv1.PyTorchJob
		if err := w.Get(ctx, client.ObjectKey{Namespace: ns, Name: "bert"}, &j); err != nil {
			return err
		}
		groups, err := w.groups(ctx, ns)
		if err != nil {
			return err
		}
		if n := j.Status.ReplicaStatuses["Master"]; n == nil || n.Succeeded != 1 || len(groups) != 0 {
			return fmt.Errorf("replicas %+v, PodGroups %v", j.Status.ReplicaStatuses, keys(groups))
		}
		return nil
	})
}
