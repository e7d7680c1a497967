package cluster_test

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-sh/muster/test/cluster"
)

func TestMain(m *testing.M) {
	code := m.Run()
	cluster.Stop()
	os.Exit(code)
}

func start(t *testing.T) (*cluster.Cluster, kubernetes.Interface) {
	t.Helper()
	c := cluster.Start(t, cluster.Config{Nodes: 10})
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return c, client
}

// bound makes a pod that is already on a node.
func bound(t *testing.T, client kubernetes.Interface, namespace, name string, annotations map[string]string) {
	t.Helper()
	_, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: corev1.PodSpec{
			NodeName: "node-000", RestartPolicy: corev1.RestartPolicyNever,
			InitContainers: []corev1.Container{{Name: "init", Image: "i"}},
			Containers:     []corev1.Container{{Name: "main", Image: "i"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// await waits until a pod is in a phase and returns it.
func await(t *testing.T, client kubernetes.Interface, namespace, name string, phase corev1.PodPhase) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w, err := client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last corev1.PodPhase
	for ev := range w.ResultChan() {
		if pod, ok := ev.Object.(*corev1.Pod); ok {
			if last = pod.Status.Phase; last == phase {
				return pod
			}
		}
	}
	t.Fatalf("pod %s is %s, want %s", name, last, phase)
	return nil
}

func TestPodsRunUntilDeleted(t *testing.T) {
	c, client := start(t)
	ns := c.Namespace(t)
	bound(t, client, ns, "p", nil)
	pod := await(t, client, ns, "p", corev1.PodRunning)
	if pod.Status.PodIP == "" || len(pod.Status.ContainerStatuses) != 1 || !pod.Status.ContainerStatuses[0].Ready {
		t.Errorf("status of a running pod: %+v", pod.Status)
	}
	if init := pod.Status.InitContainerStatuses; len(init) != 1 || init[0].State.Terminated == nil {
		t.Errorf("init containers of a running pod: %+v, want one that ended", init)
	}
	if err := client.CoreV1().Pods(ns).Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deleted pod goes away", func() bool {
		_, err := client.CoreV1().Pods(ns).Get(t.Context(), "p", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestPodsEndAsTheirAnnotationsSay(t *testing.T) {
	c, client := start(t)
	ns := c.Namespace(t)
	tests := map[string]struct {
		annotations map[string]string
		want        corev1.PodPhase
		code        int32
	}{
		"success": {map[string]string{cluster.RunForAnnotation: "200ms"}, corev1.PodSucceeded, 0},
		"failure": {map[string]string{cluster.RunForAnnotation: "200ms", cluster.ExitCodeAnnotation: "3"}, corev1.PodFailed, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bound(t, client, ns, name, tt.annotations)
			pod := await(t, client, ns, name, tt.want)
			ended := pod.Status.ContainerStatuses[0].State.Terminated
			if ended == nil || ended.ExitCode != tt.code {
				t.Errorf("container ended with %+v, want code %d", ended, tt.code)
			}
		})
	}
}
