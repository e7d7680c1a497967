package integration_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// queue makes a queue that ends with the test.
func (w *world) queue(t *testing.T, name string, spec schedulingv1beta1.QueueSpec) *schedulingv1beta1.Queue {
	t.Helper()
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	if err := w.Create(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), q) })
	return q
}

// command asks for an action on a queue and returns the name of the Command.
func (w *world) command(t *testing.T, namespace, action, queue string) string {
	t.Helper()
	c := &busv1alpha1.Command{
		ObjectMeta:   metav1.ObjectMeta{Namespace: namespace, GenerateName: "command-"},
		Action:       action,
		TargetObject: &metav1.OwnerReference{APIVersion: "scheduling.volcano.sh/v1beta1", Kind: "Queue", Name: queue},
	}
	if err := w.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c.Name
}

// inState waits until a queue has a state.
func (w *world) inState(t *testing.T, name string, want schedulingv1beta1.QueueState) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var q schedulingv1beta1.Queue
		if err := w.Get(ctx, client.ObjectKey{Name: name}, &q); err != nil {
			return err
		}
		if q.Status.State != want {
			return fmt.Errorf("queue %s is %q, want %s", name, q.Status.State, want)
		}
		return nil
	})
}

// noCommands waits until no Command is left in a namespace.
func (w *world) noCommands(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var left busv1alpha1.CommandList
		if err := w.List(ctx, &left, client.InNamespace(namespace)); err != nil {
			return err
		}
		if n := len(left.Items); n > 0 {
			return fmt.Errorf("%d Commands are left, the first: %+v", n, left.Items[0])
		}
		return nil
	})
}

// single is a gang of one pod.
func (w *world) single(t *testing.T, namespace, name, queue string, gpus int) {
	t.Helper()
	w.podGroup(t, namespace, name, 1, queue)
	if err := w.Create(t.Context(), member(namespace, name, 0, gpus)); err != nil {
		t.Fatal(err)
	}
}

// waitsFor waits until a PodGroup's Unschedulable condition has that reason.
func (w *world) waitsFor(t *testing.T, namespace, name, code string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var pg schedulingv1beta1.PodGroup
		if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pg); err != nil {
			return err
		}
		for _, c := range pg.Status.Conditions {
			if c.Type == schedulingv1beta1.PodGroupUnschedulableType && c.Status == corev1.ConditionTrue && c.Reason == code {
				return nil
			}
		}
		return fmt.Errorf("PodGroup %s: %+v", name, pg.Status.Conditions)
	})
}

// TestACloseCommandDrainsAQueueAndAnOpenCommandFillsIt closes a queue, through the
// one above it, while a gang runs in it.
func TestACloseCommandDrainsAQueueAndAnOpenCommandFillsIt(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.queue(t, "drain", schedulingv1beta1.QueueSpec{})
	w.queue(t, "drain-below", schedulingv1beta1.QueueSpec{Parent: "drain"})
	w.inState(t, "drain", schedulingv1beta1.QueueStateOpen)
	w.inState(t, "drain-below", schedulingv1beta1.QueueStateOpen)
	var q schedulingv1beta1.Queue
	if err := w.Get(t.Context(), client.ObjectKey{Name: "drain"}, &q); err != nil || q.Spec.Parent != schedulingv1beta1.RootQueue {
		t.Errorf("a queue without a parent is below %q: %v", q.Spec.Parent, err)
	}
	running := func(ctx context.Context, gang string) error {
		return w.inPhase(ctx, ns, gang, schedulingv1beta1.PodGroupRunning)
	}
	w.single(t, ns, "first", "drain-below", 1)
	eventually(t, func(ctx context.Context) error { return running(ctx, "first") })

	w.command(t, ns, "CloseQueue", "drain")
	w.inState(t, "drain", schedulingv1beta1.QueueStateClosing)
	w.inState(t, "drain-below", schedulingv1beta1.QueueStateClosing)
	w.noCommands(t, ns)
	w.single(t, ns, "second", "drain-below", 1)
	w.waitsFor(t, ns, "second", "QueueClosed")
	if err := running(t.Context(), "first"); err != nil {
		t.Error(err)
	}

	if _, err := w.core.CoreV1().Pods(ns).Patch(t.Context(), "first-0", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+cluster.RunForAnnotation+`":"1ms"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		return w.inPhase(ctx, ns, "first", schedulingv1beta1.PodGroupCompleted)
	})
	w.inState(t, "drain", schedulingv1beta1.QueueStateClosed)
	w.inState(t, "drain-below", schedulingv1beta1.QueueStateClosed)
	w.waitsFor(t, ns, "second", "QueueClosed")

	w.command(t, ns, "OpenQueue", "drain")
	w.inState(t, "drain", schedulingv1beta1.QueueStateOpen)
	w.inState(t, "drain-below", schedulingv1beta1.QueueStateOpen)
	eventually(t, func(ctx context.Context) error { return running(ctx, "second") })
	w.noCommands(t, ns)
}

// TestCommandsThatCantBeAreAnsweredAndGone tries every kind, beside one that is none of ours.
func TestCommandsThatCantBeAreAnsweredAndGone(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns, others := w.Namespace(t), w.Namespace(t)
	foreign := &busv1alpha1.Command{
		ObjectMeta: metav1.ObjectMeta{Namespace: others, Name: "abort"}, Action: "AbortJob",
		TargetObject: &metav1.OwnerReference{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "job"},
	}
	if err := w.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	answers[w.command(t, ns, "CloseQueue", "nowhere")] = `target.name is "nowhere": there is no such queue; create it, or name another`
	answers[w.command(t, ns, "CloseQueue", "not/a name")] = `target.name is "not/a name": there is no such queue; create it, or name another`
	answers[w.command(t, ns, "CloseQueue", "root")] = `target.name is "root": that queue is above all others and stays open; close the queues below it`
	answers[w.command(t, ns, "DropQueue", "default")] = `action is "DropQueue": give OpenQueue or CloseQueue to a queue`
	bare := &busv1alpha1.Command{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "bare"}, Action: "OpenQueue"}
	if err := w.Create(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	answers["bare"] = "target is missing: give kind and name of a queue or job"
	for name, want := range answers {
		eventually(t, func(ctx context.Context) error { return w.event(ctx, ns, "Command", name, want) })
		if !strings.Contains(want, "there is no such queue") && name != "bare" {
			queue := "default"
			if strings.Contains(want, "root") {
				queue = "root"
			}
			eventually(t, func(ctx context.Context) error {
				return w.event(ctx, "default", "Queue", queue, "Command "+ns+"/"+name+": "+want)
			})
		}
	}
	w.noCommands(t, ns)
	w.inState(t, "root", schedulingv1beta1.QueueStateOpen)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Errorf("a job's Command: %v", err)
	}
}

// TestLimitsThatCantBeAreToldOnTheQueue makes queues that disagree with each other.
func TestLimitsThatCantBeAreToldOnTheQueue(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.queue(t, "small", schedulingv1beta1.QueueSpec{Deserved: gpus(4), Capability: gpus(8)})
	w.queue(t, "small-a", schedulingv1beta1.QueueSpec{Parent: "small", Deserved: gpus(3), Capability: gpus(9)})
	w.queue(t, "small-b", schedulingv1beta1.QueueSpec{Parent: "small", Deserved: gpus(2)})
	w.queue(t, "orphan", schedulingv1beta1.QueueSpec{Parent: "nowhere"})
	for name, want := range map[string]string{
		"small":   `spec.deserved[nvidia.com/gpu]: Invalid value: "4": the queues below have 5 together (small-a 3, small-b 2), 1 more: raise it, or lower theirs`,
		"small-a": `spec.capability[nvidia.com/gpu]: Invalid value: "9": is 1 more than the capability of queue "small" above it, 8: lower it, or raise that`,
		"orphan":  `spec.parent: Invalid value: "nowhere": there is no such queue: create it, or name another parent`,
	} {
		eventually(t, func(ctx context.Context) error { return w.event(ctx, "default", "Queue", name, want) })
	}
	// A queue in disorder hurts nobody but those below it.
	w.single(t, ns, "good", "default", 1)
	eventually(t, func(ctx context.Context) error { return w.inPhase(ctx, ns, "good", schedulingv1beta1.PodGroupRunning) })
}

// metric adds up all series of a metric of Muster whose line holds a text.
func (w *world) metric(t *testing.T, name, holds string) float64 {
	t.Helper()
	text, err := fetch(t.Context(), "http://"+w.MusterAddress()+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	sum, found := 0.0, false
	for _, line := range regexp.MustCompile(`(?m)^`+name+`\{.*$`).FindAllString(text, -1) {
		if strings.Contains(line, holds) {
			value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum, found = sum+value, true
		}
	}
	if !found {
		t.Fatalf("no series of %s holds %q", name, holds)
	}
	return sum
}

// TestThousandsOfUpdatesOfAQueueMakeNoHotLoop labels a queue again and again:
// nobody looks at it anew, and nobody writes.
func TestThousandsOfUpdatesOfAQueueMakeNoHotLoop(t *testing.T) {
	const updates = 2000
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.queue(t, "busy", schedulingv1beta1.QueueSpec{Deserved: gpus(4)})
	w.inState(t, "busy", schedulingv1beta1.QueueStateOpen)
	w.single(t, ns, "settled", "busy", 1)
	w.allocated(t, "busy", "nvidia.com/gpu", "1")
	before := w.metric(t, "controller_runtime_reconcile_total", `controller="queue"`)
	writes := func() float64 {
		return w.metric(t, "rest_client_requests_total", `method="P`) + w.metric(t, "rest_client_requests_total", `method="GET"`)
	}
	asked := writes()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(2) // they are all for one object, and the API server lets one in at a time
	for i := range updates {
		group.Go(func() error {
			q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "busy"}}
			return w.Patch(ctx, q, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, i)))
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	// What comes after them is still served.
	w.command(t, ns, "CloseQueue", "busy")
	w.inState(t, "busy", schedulingv1beta1.QueueStateClosing)
	looks, requests := w.metric(t, "controller_runtime_reconcile_total", `controller="queue"`)-before, writes()-asked
	t.Logf("%d updates that change nothing, and one Command: %v reconciles, %v requests", updates, looks, requests)
	if looks > 20 || requests > updates/20 {
		t.Error("somebody works at every update")
	}
}

// TestAQueueCanBeDeletedWhileItIsUsed deletes a queue with a running gang: that
// runs on, is charged on when the queue comes back, and what waits says why.
func TestAQueueCanBeDeletedWhileItIsUsed(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	q := w.queue(t, "fleeting", schedulingv1beta1.QueueSpec{Capability: gpus(2)})
	w.single(t, ns, "held", "fleeting", 2)
	w.allocated(t, "fleeting", "nvidia.com/gpu", "2")
	if err := w.Delete(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKey{Name: "fleeting"}, &schedulingv1beta1.Queue{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the queue is still there: %w", err)
		}
		return nil
	})
	w.single(t, ns, "stranded", "fleeting", 1)
	w.waitsFor(t, ns, "stranded", "QueueMissing")
	if err := w.inPhase(t.Context(), ns, "held", schedulingv1beta1.PodGroupRunning); err != nil {
		t.Error(err)
	}
	w.queue(t, "fleeting", schedulingv1beta1.QueueSpec{Capability: gpus(2)})
	w.allocated(t, "fleeting", "nvidia.com/gpu", "2")
	w.waitsFor(t, ns, "stranded", "QueueCapability")
	w.command(t, ns, "CloseQueue", "fleeting")
	w.inState(t, "fleeting", schedulingv1beta1.QueueStateClosing)
}
