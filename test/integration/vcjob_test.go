package integration_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// vcjob is a job of one master and two workers with policies for all that happens to them;
// how its pods end is said per task.
func vcjob(name, policies, master, worker string) string {
	return fmt.Sprintf(`
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: %s}
spec:
  minAvailable: 3
  policies: [%s]
  tasks:
  - {name: master, replicas: 1, template: {metadata: {annotations: {%s}}, spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}
  - {name: worker, replicas: 2, template: {metadata: {annotations: {%s}}, spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}
`, name, policies, master, worker)
}

// How pods of a job end: never, or soon, or soon and badly.
const (
	long  = ""
	short = "muster.sh/run-for: 1s"
	fails = `muster.sh/run-for: 1s, muster.sh/exit-code: "3"`
)

// newJob starts Muster and has a job made.
func newJob(t *testing.T, text string) (w *world, namespace string) {
	t.Helper()
	w = newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	if err := w.ApplyYAML(t.Context(), ns, text); err != nil {
		t.Fatal(err)
	}
	return w, ns
}

// podsOf returns the pods of a job that are not going, by name.
func (w *world) podsOf(ctx context.Context, namespace, job string) (map[string]*corev1.Pod, error) {
	list, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1alpha1.JobNameKey + "=" + job})
	if err != nil {
		return nil, err
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods[list.Items[i].Name] = &list.Items[i]
		}
	}
	return pods, nil
}

// becomes waits until a job is in a phase and holds what is said besides.
func (w *world) becomes(t *testing.T, namespace, name string, phase batchv1alpha1.JobPhase, holds func(batchv1alpha1.JobStatus) error) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var j batchv1alpha1.Job
		if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &j); err != nil {
			return err
		}
		if j.Status.State.Phase != phase {
			return fmt.Errorf("job %s is %q, want %s: %+v", name, j.Status.State.Phase, phase, j.Status)
		}
		return holds(j.Status)
	})
}

func counted(running, succeeded, failed, retries int32) func(batchv1alpha1.JobStatus) error {
	return func(s batchv1alpha1.JobStatus) error {
		if s.Running != running || s.Succeeded != succeeded || s.Failed != failed || s.RetryCount != retries {
			return fmt.Errorf("%d run, %d succeeded, %d failed, %d retries; want %d, %d, %d and %d", s.Running, s.Succeeded, s.Failed, s.RetryCount, running, succeeded, failed, retries)
		}
		return nil
	}
}

// asked has a Command made for a job.
func (w *world) asked(t *testing.T, namespace, job string, action busv1alpha1.Action) {
	t.Helper()
	c := &busv1alpha1.Command{
		ObjectMeta:   metav1.ObjectMeta{Namespace: namespace, GenerateName: "command-"},
		Action:       string(action),
		TargetObject: &metav1.OwnerReference{APIVersion: batchv1alpha1.GroupVersion().String(), Kind: "Job", Name: job},
	}
	if err := w.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.noCommands(t, namespace)
}

func TestAJobRunsToItsEnd(t *testing.T) {
	w, ns := newJob(t, vcjob("fine", "", short, short))
	w.becomes(t, ns, "fine", batchv1alpha1.Completed, counted(0, 3, 0, 0))
	eventually(t, func(ctx context.Context) error {
		groups, err := w.groups(ctx, ns)
		if err == nil && len(groups) > 0 {
			err = fmt.Errorf("%d PodGroups are left", len(groups))
		}
		return err
	})
}

func TestAJobFailsWithoutPolicies(t *testing.T) {
	w, ns := newJob(t, vcjob("lost", "", short, fails))
	w.becomes(t, ns, "lost", batchv1alpha1.Failed, counted(0, 1, 2, 0))
}

func TestAJobStartsAgainOnceWhenAllItsPodsAreEvicted(t *testing.T) {
	w, ns := newJob(t, vcjob("evicted", "{event: PodEvicted, action: RestartJob}", long, long))
	w.becomes(t, ns, "evicted", batchv1alpha1.Running, counted(3, 0, 0, 0))
	before, err := w.podsOf(t.Context(), ns, "evicted")
	if err != nil || len(before) != 3 {
		t.Fatalf("%d pods (%v)", len(before), err)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if err := w.core.CoreV1().Pods(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.becomes(t, ns, "evicted", batchv1alpha1.Running, counted(3, 0, 0, 1))
	after, err := w.podsOf(t.Context(), ns, "evicted")
	if err != nil || len(after) != 3 {
		t.Fatalf("%d pods (%v)", len(after), err)
	}
	for name, pod := range after {
		if pod.UID == before[name].UID || pod.Annotations[batchv1alpha1.JobVersion] != "1" {
			t.Errorf("pod %s is that of before, or of version %s", name, pod.Annotations[batchv1alpha1.JobVersion])
		}
	}
}

func TestAJobStartsAgainUntilItsRetriesAreUsedUp(t *testing.T) {
	w, ns := newJob(t, vcjob("again", "{exitCode: 3, action: RestartJob}", long, fails))
	w.becomes(t, ns, "again", batchv1alpha1.Failed, func(s batchv1alpha1.JobStatus) error {
		if s.RetryCount != 3 || s.Failed == 0 || s.Running != 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}

func TestATaskStartsAgain(t *testing.T) {
	w, ns := newJob(t, vcjob("part", "{event: PodEvicted, action: RestartTask}", long, long))
	w.becomes(t, ns, "part", batchv1alpha1.Running, counted(3, 0, 0, 0))
	before, err := w.podsOf(t.Context(), ns, "part")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.core.CoreV1().Pods(ns).Delete(t.Context(), "part-worker-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.becomes(t, ns, "part", batchv1alpha1.Running, counted(3, 0, 0, 1))
	after, err := w.podsOf(t.Context(), ns, "part")
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]bool{"part-master-0": true, "part-worker-0": false, "part-worker-1": false} {
		if after[name] == nil || (after[name].UID == before[name].UID) != same {
			t.Errorf("pod %s: the same as before should be %v", name, same)
		}
	}
}

func TestCommandsForAJob(t *testing.T) {
	w, ns := newJob(t, vcjob("told", "", long, long))
	w.becomes(t, ns, "told", batchv1alpha1.Running, counted(3, 0, 0, 0))
	w.asked(t, ns, "told", busv1alpha1.AbortJobAction)
	w.becomes(t, ns, "told", batchv1alpha1.Aborted, counted(0, 0, 0, 0))
	w.asked(t, ns, "told", busv1alpha1.ResumeJobAction)
	w.becomes(t, ns, "told", batchv1alpha1.Running, counted(3, 0, 0, 1))
	w.asked(t, ns, "told", busv1alpha1.CompleteJobAction)
	w.becomes(t, ns, "told", batchv1alpha1.Completed, counted(0, 0, 0, 1))
}

func TestAJobIsScaled(t *testing.T) {
	w, ns := newJob(t, vcjob("scaled", "", long, long))
	w.becomes(t, ns, "scaled", batchv1alpha1.Running, counted(3, 0, 0, 0))
	for _, replicas := range []int32{4, 1} {
		patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/tasks/1/replicas","value":%d},{"op":"replace","path":"/spec/minAvailable","value":%d}]`, replicas, min(replicas+1, 3))
		j := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "scaled"}}
		if err := w.Patch(t.Context(), j, client.RawPatch("application/json-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
		w.becomes(t, ns, "scaled", batchv1alpha1.Running, counted(replicas+1, 0, 0, 0))
	}
}

// TestAJobBeginsWithItsMinimum: as upstream's own example, which says nothing of its task's
// minimum, and its queue has no room for more.
func TestAJobBeginsWithItsMinimum(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.queue(t, "three", schedulingv1beta1.QueueSpec{Capability: cpu("3").Requests})
	w.inState(t, "three", schedulingv1beta1.QueueStateOpen)
	if err := w.ApplyYAML(t.Context(), ns, `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: elastic}
spec:
  minAvailable: 3
  queue: three
  tasks:
  - {name: nginx, replicas: 6, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}
`); err != nil {
		t.Fatal(err)
	}
	w.becomes(t, ns, "elastic", batchv1alpha1.Running, counted(3, 0, 0, 0))
}

func TestAJobGoesAfterItsTime(t *testing.T) {
	w, ns := newJob(t, vcjob("brief", "", short, short))
	j := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "brief"}}
	if err := w.Patch(t.Context(), j, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"ttlSecondsAfterFinished":1}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(j), j); !apierrors.IsNotFound(err) {
			return fmt.Errorf("job %s is %s (%w)", j.Name, j.Status.State.Phase, err)
		}
		return nil
	})
}

// TestTheExampleJobDoesWhatItSays runs it, and stops it.
func TestTheExampleJobDoesWhatItSays(t *testing.T) {
	read := func(file string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "jobs", file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	w, ns := newJob(t, read("training.yaml"))
	w.becomes(t, ns, "training", batchv1alpha1.Running, counted(4, 0, 0, 0))
	pods, err := w.podsOf(t.Context(), ns, "training")
	if err != nil {
		t.Fatal(err)
	}
	for name, rank := range map[string]string{"training-master-0": "0", "training-worker-2": "3"} {
		env := map[string]string{}
		for _, e := range pods[name].Spec.Containers[0].Env {
			env[e.Name] = e.Value
		}
		if env["RANK"] != rank || env["WORLD_SIZE"] != "4" || env["MASTER_ADDR"] != "training-master-0.training" {
			t.Errorf("pod %s: rank %s of %s, master %s", name, env["RANK"], env["WORLD_SIZE"], env["MASTER_ADDR"])
		}
	}
	for _, kind := range []client.Object{&corev1.Service{}, &corev1.ConfigMap{}, &networkingv1.NetworkPolicy{}} {
		name := "training"
		if _, hosts := kind.(*corev1.ConfigMap); hosts {
			name = "training-svc"
		}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, kind); err != nil || !metav1.IsControlledBy(kind, &metav1.ObjectMeta{UID: pods["training-master-0"].OwnerReferences[0].UID}) {
			t.Errorf("%T of the job: %v", kind, err)
		}
	}
	stop := &busv1alpha1.Command{}
	if err := yaml.Unmarshal([]byte(read("stop.yaml")), stop); err != nil {
		t.Fatal(err)
	}
	stop.Namespace = ns
	if err := w.Create(t.Context(), stop); err != nil {
		t.Fatal(err)
	}
	w.becomes(t, ns, "training", batchv1alpha1.Aborted, counted(0, 0, 0, 0))
}

// TestKeysOfAJobStay: who runs knows them, whoever comes later, and a restart of all finds them.
func TestKeysOfAJobStay(t *testing.T) {
	w, ns := newJob(t, strings.Replace(vcjob("keys", "{event: PodEvicted, action: RestartTask}", long, long), "spec:\n", "spec:\n  plugins: {mpi: []}\n", 1))
	w.becomes(t, ns, "keys", batchv1alpha1.Running, counted(3, 0, 0, 0))
	secret := func() *corev1.Secret {
		t.Helper()
		s, err := w.core.CoreV1().Secrets(ns).Get(t.Context(), "keys-ssh", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := secret()
	if len(before.OwnerReferences) != 1 || len(before.Data["id_rsa"]) == 0 {
		t.Errorf("owners %v, %d files", before.OwnerReferences, len(before.Data))
	}
	if err := w.core.CoreV1().Pods(ns).Delete(t.Context(), "keys-worker-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.becomes(t, ns, "keys", batchv1alpha1.Running, counted(3, 0, 0, 1))
	if after := secret(); after.ResourceVersion != before.ResourceVersion {
		t.Error("the keys were written again")
	}
}

// TestAJobSaysWhyItWaits, in its own status.
func TestAJobSaysWhyItWaits(t *testing.T) {
	w, ns := newJob(t, strings.ReplaceAll(vcjob("huge", "", long, long), "cpu: 1}", "cpu: 1000}"))
	w.becomes(t, ns, "huge", batchv1alpha1.Pending, func(s batchv1alpha1.JobStatus) error {
		if s.State.Reason != "Unschedulable" || !strings.Contains(s.State.Message, "more than it ever has") {
			return fmt.Errorf("%+v", s.State)
		}
		return nil
	})
}
