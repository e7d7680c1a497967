package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/muster-sh/muster/test/cluster"
)

// eventually waits until holds reports true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("in vain: %s", what)
		case <-tick.C:
		}
	}
}

func TestTheServerIsRealAndGuarded(t *testing.T) {
	c, client := start(t)
	ns := c.Namespace(t)
	version, err := client.Discovery().ServerVersion()
	if err != nil || version.GitVersion != "v1.37.2" {
		t.Errorf("version is %v, %v; want v1.37.2", version, err)
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: cluster.RackLabel + "=rack-1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 3 { // of ten nodes in four racks
		t.Errorf("rack-1 has %d nodes, want 3", len(nodes.Items))
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if gpus := n.Status.Allocatable["nvidia.com/gpu"]; gpus.Value() != 8 || n.Labels["nvidia.com/gpu.count"] != "8" {
			t.Errorf("node %s has %s GPUs, label %q; want 8", n.Name, gpus.String(), n.Labels["nvidia.com/gpu.count"])
		}
	}
	as := rest.CopyConfig(c.RESTConfig())
	as.Impersonate.UserName = "system:serviceaccount:" + ns + ":default"
	nobody, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	review, err := nobody.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Namespace: ns}},
	}, metav1.CreateOptions{})
	if err != nil || review.Status.Allowed {
		t.Errorf("a bare service account may list pods: %v, %v", review.Status.Allowed, err)
	}
	if info, err := os.Stat(c.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v; want mode 0600", info.Mode(), err)
	}
}

func TestClustersStandSideBySide(t *testing.T) {
	first, _ := start(t)
	second, err := cluster.Up(t.Context(), cluster.Config{Name: "test-beside", Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if first.RESTConfig().Host == second.RESTConfig().Host {
		t.Errorf("both are at %s", first.RESTConfig().Host)
	}
	if _, err := cluster.Up(t.Context(), cluster.Config{Name: "test-beside"}); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second cluster of the same name: %v, want a complaint", err)
	}
	if r, runs, err := cluster.Find("test-beside"); err != nil || !runs || !r.Ready || !r.Alive("etcd") {
		t.Errorf("Find: %+v, %v, %v; want it ready", r, runs, err)
	}
	if err := second.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if _, runs, err := cluster.Find("test-beside"); err != nil || runs {
		t.Errorf("after Down it runs: %v, %v", runs, err)
	}
}

func TestAComponentCanCrashAndComeBack(t *testing.T) {
	c, client := start(t)
	ns := c.Namespace(t)
	if err := c.Kill("kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Error("a killed server answers")
	}
	address := strings.TrimPrefix(c.RESTConfig().Host, "https://")
	taken, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "kube-apiserver"); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("with its port taken the server says %v", err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "kube-apiserver"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart the namespace is lost: %v", err)
	}
	if err := c.Restart(t.Context(), "kube-apiserver"); err == nil {
		t.Error("a component that runs was started again")
	}
}

// callerVariable makes this test binary a program that brings a cluster up.
const callerVariable = "MUSTER_TEST_CALLER"

func TestChildrenDieWithAKilledCaller(t *testing.T) {
	if name := os.Getenv(callerVariable); name != "" {
		if _, err := cluster.Up(t.Context(), cluster.Config{Name: name}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("up")
		select {}
	}
	const name = "test-killed"
	caller := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildrenDieWithAKilledCaller$")
	caller.Env = append(os.Environ(), callerVariable+"="+name)
	out, err := caller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("the caller says %q, %v", line, err)
	}
	r, runs, err := cluster.Find(name)
	if err != nil || !runs || len(r.Components) != 4 {
		t.Fatalf("Find: %+v, %v, %v; want 4 components", r, runs, err)
	}
	if err := caller.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = caller.Wait()
	begin := time.Now()
	for _, component := range r.Names() {
		eventually(t, component+" ends", func() bool { return !r.Alive(component) })
	}
	t.Logf("all ended %v after their caller", time.Since(begin).Round(time.Millisecond))
	if _, runs, err := cluster.Find(name); err != nil || runs {
		t.Errorf("it still counts as running: %v, %v", runs, err)
	}
}

func TestABinaryThatFailsIsNamedWithItsLastWords(t *testing.T) {
	c, _ := start(t)
	bad := filepath.Join(t.TempDir(), "muster")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\necho cannot start: the moon is full >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := c.StartMuster(t.Context(), bad)
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{"muster is not ready", "exit status 3", "the moon is full", c.Logs(cluster.Muster)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error is %q, want %q in it", err, want)
		}
	}
}
