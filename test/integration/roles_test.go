package integration_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// system is the namespace that the generated roles are for.
const system = "muster-system"

// TestGeneratedRolesSuffice runs scheduler and controllers apart, each as its own
// ServiceAccount with the roles of config/rbac and nothing more, and elected.
func TestGeneratedRolesSuffice(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 8, Operators: []cluster.Operator{{Name: "training"}}})
	if err := w.Kill(cluster.Muster); err != nil {
		t.Fatal(err)
	}
	if _, err := w.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Cluster.Apply(t.Context(), filepath.Join("..", "..", "config", "rbac")); err != nil {
		t.Fatal(err)
	}
	logs := map[string]*output{}
	for _, part := range []string{"scheduler", "controllers"} {
		logs[part] = w.runAs(t, part)
	}
	ns := w.Namespace(t)
	w.queue(t, "roles", schedulingv1beta1.QueueSpec{})
	w.command(t, ns, "CloseQueue", "roles")
	w.inState(t, "roles", schedulingv1beta1.QueueStateClosed)
	w.noCommands(t, ns)
	if err := w.ApplyYAML(t.Context(), ns, job(3)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		groups, err := w.groups(ctx, ns)
		if err != nil || len(groups) != 1 {
			return fmt.Errorf("%d PodGroups (%w)", len(groups), err)
		}
		for name := range groups {
			err = w.oneGang(ctx, ns, name, map[string]int32{"master": 1, "worker": 3}, "Running")
		}
		return err
	})
	w.makeDevices(t)
	w.standBehind(t)
	w.make(t, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "claim"}, Spec: gpuClaim(1, "")})
	w.podGroup(t, ns, "claims", 1, "default")
	w.use(t, ns, "claims", 1, corev1.PodResourceClaim{ResourceClaimName: new("claim")})
	w.podGroup(t, ns, "extended", 1, "default")
	w.ask(t, ns, "extended", 1, share{extended, 1})
	for _, gang := range []string{"claims", "extended"} {
		eventually(t, func(ctx context.Context) error {
			_, err := w.nodesOf(ctx, ns, gang)
			return err
		})
	}
	for part, log := range logs {
		var lease coordinationv1.Lease
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "muster-" + part}, &lease); err != nil {
			t.Errorf("lease of %s: %v", part, err)
		}
		if text := log.String(); strings.Contains(text, "forbidden") {
			t.Errorf("%s lacks a right:\n%s", part, text)
		}
	}
}

// output is what a process wrote.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// runAs runs one part of Muster with the rights of its ServiceAccount, and with
// further flags, until the test ends.
func (w *world) runAs(t *testing.T, part string, flags ...string) *output {
	t.Helper()
	log := &output{}
	args := append([]string{
		part, "--kubeconfig=" + w.kubeconfigOf(t, "muster-"+part),
		"--leader-elect-namespace=" + system, "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0",
	}, flags...)
	cmd := exec.CommandContext(t.Context(), w.binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context has ended: it was asked to stop
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("%s did not stop cleanly: %v\n%s", part, err, log)
		}
	})
	return log
}

// kubeconfigOf writes a kubeconfig with a token of a ServiceAccount.
func (w *world) kubeconfigOf(t *testing.T, account string) string {
	t.Helper()
	token, err := w.core.CoreV1().ServiceAccounts(system).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
