package integration_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/test/cluster"
)

// These configurations show in what is scheduled: the first binds nothing.
const (
	confIdle   = "actions: enqueue\n"
	confPlaces = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n    enableJobStarving: false\n"
	confBroken = "actions: \"enqueue, alocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: binpack\n    arguments:\n      binpack.weight: -1\n"
)

// brokenFaults is what is wrong with confBroken.
func brokenFaults() []string {
	return []string{
		`line 1: action "alocate" is unknown; did you mean "allocate"?`,
		`line 7: plugin "binpack": argument binpack.weight is "-1": give a whole number of 0 or more`,
	}
}

// TestAConfigurationFileIsReadAgain changes the file that Muster runs with.
func TestAConfigurationFileIsReadAgain(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	replace(t, path, confIdle)
	w.restart(t, "--scheduler-conf="+path)
	submit := func(gang string) {
		t.Helper()
		w.podGroup(t, ns, gang, 1, "default")
		if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), member(ns, gang, 0, 1), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	bound := func(gang string) func(context.Context) error {
		return func(ctx context.Context) error {
			if n, err := w.bound(ctx, ns, gang); err != nil || n != 1 {
				return fmt.Errorf("%s: %d pods are bound (%w)", gang, n, err)
			}
			return nil
		}
	}
	submit("first")
	eventually(t, func(ctx context.Context) error {
		return w.counts(ctx, "volcano_config_valid 1", `volcano_config_reload_total{result="success"} 0`)
	})
	if n, err := w.bound(t.Context(), ns, "first"); err != nil || n != 0 {
		t.Fatalf("%d pods are bound without the action that binds (%v)", n, err)
	}

	replace(t, path, confPlaces)
	eventually(t, bound("first"))
	eventually(t, func(ctx context.Context) error {
		return w.counts(ctx, "volcano_config_valid 1", `volcano_config_reload_total{result="success"} 1`)
	})
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, "default", "Queue", "root", path+": actions enqueue, allocate; plugins priority, gang")
	})
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, "default", "Queue", "root", path+`: line 6: plugin "gang": enableJobStarving has no effect here: Muster decides this for itself`)
	})

	replace(t, path, confBroken)
	eventually(t, func(ctx context.Context) error {
		return w.counts(ctx, "volcano_config_valid 0", `volcano_config_reload_total{result="error"} 1`)
	})
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, "default", "Queue", "root", path+", the configuration that runs stays: "+strings.Join(brokenFaults(), "\n"))
	})
	log, err := os.ReadFile(w.Logs(cluster.Muster))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range brokenFaults() {
		if !strings.Contains(strings.ReplaceAll(string(log), `\"`, `"`), fault) {
			t.Errorf("the log does not say %s", fault)
		}
	}
	submit("second") // by the configuration that stays
	eventually(t, bound("second"))
	replace(t, path, confPlaces)
	eventually(t, func(ctx context.Context) error {
		return w.counts(ctx, "volcano_config_valid 1", `volcano_config_reload_total{result="success"} 2`)
	})
}

// TestMusterDoesNotStartWithAFileItCantUse starts it with a file that is wrong, and with none.
func TestMusterDoesNotStartWithAFileItCantUse(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	for _, want := range [][]string{{"no such file", "--scheduler-conf"}, brokenFaults()} {
		if err := w.Kill(cluster.Muster); err != nil {
			t.Fatal(err)
		}
		err := w.StartMuster(t.Context(), w.binary, "--scheduler-conf="+path)
		if err == nil {
			t.Fatal("it started")
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %s", err, part)
			}
		}
		replace(t, path, confBroken)
	}
}

// TestAConfigMapIsReadAgain runs the scheduler with no more rights than its
// generated role has, and lets the ConfigMap of its configuration come, break and go.
func TestAConfigMapIsReadAgain(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	if err := w.Kill(cluster.Muster); err != nil {
		t.Fatal(err)
	}
	_, err := w.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if err := w.Cluster.Apply(t.Context(), filepath.Join("..", "..", "config", "rbac")); err != nil {
		t.Fatal(err)
	}
	const name = "volcano-scheduler-configmap"
	log := w.runAs(t, "scheduler", "--scheduler-conf-configmap="+system+"/"+name)
	logged := func(text string) func(context.Context) error {
		return func(context.Context) error {
			if !strings.Contains(log.String(), text) {
				return fmt.Errorf("the log does not say %q:\n%s", text, log)
			}
			return nil
		}
	}
	eventually(t, logged("does not exist; the default holds until it does"))
	eventually(t, logged("watches are synced"))

	maps := w.core.CoreV1().ConfigMaps(system)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"volcano-scheduler.conf": confPlaces}}
	if m, err = maps.Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	source := "ConfigMap " + system + "/" + name
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, system, "ConfigMap", name, source+": actions enqueue, allocate; plugins priority, gang")
	})
	m.Data["volcano-scheduler.conf"] = confBroken
	if _, err = maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		return w.event(ctx, system, "ConfigMap", name, source+", the configuration that runs stays: volcano-scheduler.conf: "+strings.Join(brokenFaults(), "\nvolcano-scheduler.conf: "))
	})
	if err := maps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, logged("is gone; the configuration that runs stays"))
	if text := log.String(); strings.Contains(text, "forbidden") {
		t.Errorf("the scheduler lacks a right:\n%s", text)
	}
}

// restart starts Muster anew with further flags.
func (w *world) restart(t *testing.T, flags ...string) {
	t.Helper()
	if err := w.Kill(cluster.Muster); err != nil {
		t.Fatal(err)
	}
	if err := w.StartMuster(t.Context(), w.binary, flags...); err != nil {
		t.Fatal(err)
	}
}

// fetch returns what a server answers.
func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json, text/plain;q=0.5")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// counts returns nil when the metrics have all these lines.
func (w *world) counts(ctx context.Context, lines ...string) error {
	text, err := fetch(ctx, "http://"+w.MusterAddress()+"/metrics")
	if err != nil {
		return err
	}
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			return fmt.Errorf("the metrics do not say %s", line)
		}
	}
	return nil
}

// replace puts a file in place of another at once.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
