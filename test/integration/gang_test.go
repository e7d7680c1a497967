package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// TestRacingGangsAreBoundWholeOrNotAtAll lets 200 gangs race for room for 50 and
// watches the API server: at rest no gang is half bound, and never is more bound
// than fits.
func TestRacingGangsAreBoundWholeOrNotAtAll(t *testing.T) {
	const nodes, gangs, size, room = 25, 200, 4, 50 // a gang takes half a node: 4 pods of 1 GPU
	w := newWorld(t, cluster.Config{Nodes: nodes})
	ns := w.Namespace(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watching := watchBinds(ctx, t, w, ns, nodes*8)

	var group errgroup.Group
	group.SetLimit(16)
	for g := range gangs {
		name := fmt.Sprintf("gang-%03d", g)
		w.podGroup(t, ns, name, size, "default")
		for i := range size {
			group.Go(func() error {
				_, err := w.core.CoreV1().Pods(ns).Create(ctx, member(ns, name, i, 1), metav1.CreateOptions{})
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(context.Context) error {
		if n := watching.total(); n != room*size {
			return fmt.Errorf("%d pods are bound, want %d", n, room*size)
		}
		return nil
	})
	quiet := time.NewTimer(3 * time.Second) // rest: nothing more may happen
	defer quiet.Stop()
	select {
	case err := <-watching.broken:
		t.Fatal(err)
	case <-quiet.C:
	}
	whole := 0
	for gang, n := range watching.byGang() {
		if n != size {
			t.Errorf("%s has %d of %d pods bound", gang, n, size)
		}
		whole++
	}
	if whole != room {
		t.Errorf("%d gangs are bound, want %d", whole, room)
	}
}

// big is a gang that fills the cluster of these tests, 25 nodes of 8 GPUs.
const big, bigTasks, bigGPUs = "big", 100, 2

// whileBinding ends Muster, in the way that end does, when it has bound a quarter
// of a big gang, and returns how many pods are bound once it has ended. One
// worker makes binding slow enough to be hit in the middle.
func (w *world) whileBinding(t *testing.T, ns string, watching *binds, end func() error) int {
	t.Helper()
	w.podGroup(t, ns, big, bigTasks, "default")
	if err := w.Kill(cluster.Muster); err != nil {
		t.Fatal(err)
	}
	for i := range bigTasks {
		if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), member(ns, big, i, bigGPUs), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	started := make(chan error, 1)
	go func() { started <- w.StartMuster(t.Context(), w.binary, "--bind-workers=1") }()
	for watching.total() < bigTasks/4 {
		select {
		case <-watching.changed:
		case <-time.After(30 * time.Second):
			t.Fatalf("only %d pods were bound", watching.total())
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Logf("ended before it was ready: %v", err)
	}
	n, err := w.bound(t.Context(), ns, big)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ended with %d of %d pods bound", n, bigTasks)
	return n
}

// TestAKilledSchedulerCompletesItsGang kills Muster in the middle of binding. After
// a restart the half gang gets the room it needs, whatever priority a rival has.
func TestAKilledSchedulerCompletesItsGang(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	watching := watchBinds(t.Context(), t, w, ns, 200)
	if n := w.whileBinding(t, ns, watching, func() error { return w.Kill(cluster.Muster) }); n == bigTasks {
		t.Skip("the machine bound all before the kill came")
	}
	rival := `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: rival}
spec: {minMember: 1, priorityClassName: urgent}
`
	if err := w.ApplyYAML(t.Context(), ns, rival); err != nil {
		t.Fatal(err)
	}
	if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), member(ns, "rival", 0, bigGPUs), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.StartMuster(t.Context(), w.binary); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return w.inPhase(ctx, ns, big, schedulingv1beta1.PodGroupRunning) })
	eventually(t, func(ctx context.Context) error {
		_, err := w.unschedulable(ctx, ns, "rival")
		return err
	})
	if got := watching.byGang(); got[big] != bigTasks || got["rival"] != 0 {
		t.Errorf("bound are %v, want all %d of the half gang and none of its rival", got, bigTasks)
	}
}

// TestASignalLetsBindsFinish asks Muster to end in the middle of binding: what it
// decided it still carries out, and then it ends.
func TestASignalLetsBindsFinish(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	watching := watchBinds(t.Context(), t, w, ns, 200)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if n := w.whileBinding(t, ns, watching, func() error { return w.Terminate(ctx, cluster.Muster) }); n != bigTasks {
		t.Errorf("%d of %d pods are bound", n, bigTasks)
	}
}

// TestBadInputIsCalledOutAndHurtsNobody puts every kind of bad input beside a good gang.
func TestBadInputIsCalledOutAndHurtsNobody(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	pod := func(gang string, i int) {
		t.Helper()
		if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), member(ns, gang, i, 1), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.podGroup(t, ns, "nowhere", 1, "missing")
	pod("nowhere", 0)
	w.podGroup(t, ns, "wide", 3, "default")
	pod("wide", 0)
	pod("ghost", 0) // of a PodGroup that does not exist
	w.lonely(t, ns)
	negative := `{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: negative}, spec: {minMember: 1, minResources: {cpu: "-1"}}}`
	if err := w.ApplyYAML(t.Context(), ns, negative); err != nil {
		t.Fatal(err)
	}
	pod("negative", 0)
	w.podGroup(t, ns, "good", 1, "default")
	pod("good", 0)

	eventually(t, func(ctx context.Context) error { return w.inPhase(ctx, ns, "good", schedulingv1beta1.PodGroupRunning) })
	for name, want := range map[string]string{
		"nowhere":  `1/1 tasks in gang unschedulable: queue "missing" does not exist: create it, or name another in spec.queue`,
		"wide":     `3/3 tasks in gang unschedulable: the gang needs 3, only 1 exist (short 2)`,
		"negative": `1/1 tasks in gang unschedulable: spec.minResources[cpu] is -1: set it to 0 or more`,
	} {
		eventually(t, func(ctx context.Context) error {
			got, err := w.unschedulable(ctx, ns, name)
			if err == nil && got != want {
				err = fmt.Errorf("%s: got %q, want %q", name, got, want)
			}
			return err
		})
		eventually(t, func(ctx context.Context) error { return w.event(ctx, ns, "PodGroup", name, want) })
	}
	if got := w.explained(t, ns, "nowhere"); got.Code != "QueueMissing" || got.Object != "missing" || got.Gang != ns+"/nowhere" {
		t.Errorf("/debug/explain says %+v", got)
	}
	for name, want := range map[string]string{
		"lonely":  "the pod names no PodGroup: set its annotation scheduling.k8s.io/group-name to a PodGroup of its namespace, or create it through a workload that Muster knows",
		"ghost-0": "PodGroup " + ns + "/ghost does not exist: create it, or correct the pod's annotation scheduling.k8s.io/group-name",
	} {
		eventually(t, func(ctx context.Context) error {
			p, err := w.core.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Message == want {
					return nil
				}
			}
			return fmt.Errorf("pod %s: %+v", name, p.Status.Conditions)
		})
		eventually(t, func(ctx context.Context) error { return w.event(ctx, ns, "Pod", name, want) })
	}
}

// lonely makes a pod whose workload nobody makes a PodGroup for.
func (w *world) lonely(t *testing.T, namespace string) {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "unknown-workload"}}
	w.make(t, owner)
	pod := member(namespace, "", 0, 1)
	pod.Name, pod.Annotations = "lonely", nil
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	w.make(t, pod)
}

// podsSay waits until the condition PodScheduled of all pods of a namespace is so, and
// its message begins so.
func (w *world) podsSay(t *testing.T, namespace string, status corev1.ConditionStatus, why, message string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		pods, err := w.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Status == status && c.Reason == why && strings.HasPrefix(c.Message, message)
			}) {
				return fmt.Errorf("pod %s: %+v", p.Name, p.Status.Conditions)
			}
		}
		return nil
	})
}

// TestPodsOfAGangThatWaitsSayWhy has a gang wait for a queue, then for nodes, and run.
func TestPodsOfAGangThatWaitsSayWhy(t *testing.T) {
	const pods = 120 // more than are told in one turn
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.podGroup(t, ns, "big", pods, "not-yet")
	for i := range pods {
		if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), member(ns, "big", i, 8), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const missing = `QueueMissing: queue "not-yet" does not exist: create it, or name another in spec.queue`
	w.podsSay(t, ns, corev1.ConditionFalse, "QueueMissing", missing) // no node would help
	eventually(t, func(ctx context.Context) error { return w.event(ctx, ns, "Pod", "big-7", missing) })
	w.queue(t, "not-yet", schedulingv1beta1.QueueSpec{})
	w.podsSay(t, ns, corev1.ConditionFalse, corev1.PodReasonUnschedulable, "NeverFits: ")
	for i := 2; i < pods; i++ {
		if err := w.core.CoreV1().Pods(ns).Delete(t.Context(), fmt.Sprintf("big-%d", i), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	smaller := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"minMember": 2}}`))
	if err := w.Patch(t.Context(), &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "big"}}, smaller); err != nil {
		t.Fatal(err)
	}
	w.podsSay(t, ns, corev1.ConditionTrue, "", "")
}

// explanation is what /debug/explain serves.
type explanation struct{ Gang, Text, Code, Object string }

// explained asks Muster over HTTP why a PodGroup waits.
func (w *world) explained(t *testing.T, namespace, name string) explanation {
	t.Helper()
	text, err := fetch(t.Context(), "http://"+w.MusterAddress()+"/debug/explain/"+namespace+"/"+name)
	if err != nil {
		t.Fatal(err)
	}
	var got explanation
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestThePermanentQueuesComeBack deletes the queues that everything else stands on.
func TestThePermanentQueuesComeBack(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	for _, name := range []string{schedulingv1beta1.RootQueue, schedulingv1beta1.DefaultQueue} {
		if err := w.Delete(t.Context(), &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	w.podGroup(t, ns, "late", 1, schedulingv1beta1.DefaultQueue)
	if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), member(ns, "late", 0, 1), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return w.inPhase(ctx, ns, "late", schedulingv1beta1.PodGroupRunning) })
}
