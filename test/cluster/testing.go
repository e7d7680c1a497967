package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shared holds the clusters of this test binary. They end with it.
//
//nolint:gochecknoglobals // a test binary has one set of clusters, and no place to hand it around
var shared = struct {
	sync.Mutex
	clusters map[string]*Cluster
}{clusters: map[string]*Cluster{}}

// Start returns the cluster of this test binary with that configuration,
// bringing it up when no test asked for it before. The test fails, with the last
// log lines, when it can't be had.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	key := fmt.Sprintf("%+v", cfg)
	shared.Lock()
	defer shared.Unlock()
	if c := shared.clusters[key]; c != nil {
		return c
	}
	if cfg.Progress == nil {
		cfg.Progress = testLog{t}
	}
	c, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatalf("bring up a control plane: %v", err)
	}
	c.progress.silence() // the cluster outlives this test
	c.config.Progress = nil
	shared.clusters[key] = c
	return c
}

// Stop ends the clusters of this test binary; for TestMain, which need not call
// it to be safe, but to leave no folders behind.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	for key, c := range shared.clusters {
		_ = c.Down(context.Background())
		delete(shared.clusters, key)
	}
}

type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

// Namespace makes a namespace in which pods can be made, and deletes it after the test.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ns, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	t.Cleanup(func() {
		if err := c.client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete namespace %s: %v", ns.Name, err)
		}
	})
	if err := poll(t.Context(), func(ctx context.Context) error { return c.serviceAccount(ctx, ns.Name) }); err != nil {
		t.Fatalf("namespace %s: %v", ns.Name, err)
	}
	return ns.Name
}
