package integration_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/test/cluster"
)

// submit makes a gang of pods that ask for 8 GPUs each.
func (w *world) submit(t *testing.T, ns, gang string, size int) {
	t.Helper()
	w.podGroup(t, ns, gang, int32(size), "default")
	for i := range size {
		if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), member(ns, gang, i, 8), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestARecordedRunIsReplayed records a scheduler that binds, refuses and is
// reconfigured, plays the recording back, and sees a change to it found.
func TestARecordedRunIsReplayed(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	dir := t.TempDir()
	recording, config := filepath.Join(dir, "run.jsonl"), filepath.Join(dir, "volcano-scheduler.conf")
	replace(t, config, confPlaces)
	w.restart(t, "--record="+recording, "--scheduler-conf="+config)
	for gang := range 5 {
		w.submit(t, ns, fmt.Sprintf("g%d", gang), 4)
		if gang == 3 {
			replace(t, config, "actions: \"enqueue, allocate, backfill\"\n")
		}
	}
	w.submit(t, ns, "never", 100)
	eventually(t, func(ctx context.Context) error {
		for gang := range 5 {
			if n, err := w.bound(ctx, ns, fmt.Sprintf("g%d", gang)); err != nil || n != 4 {
				return fmt.Errorf("gang %d: %d of 4 pods are bound (%w)", gang, n, err)
			}
		}
		_, err := w.unschedulable(ctx, ns, "never")
		return err
	})
	if err := w.Terminate(t.Context(), cluster.Muster); err != nil {
		t.Fatal(err)
	}
	replay := func(path string) (string, error) {
		out, err := exec.CommandContext(t.Context(), w.binary, "replay", path).CombinedOutput()
		return string(out), err
	}
	if out, err := replay(recording); err != nil || !strings.Contains(out, "all as recorded") {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, "changed.jsonl")
	lie := strings.Replace(string(text), `"type":"Bind","value":{"UID":"`, `"type":"Bind","value":{"UID":"x`, 1)
	if diff := cmp.Diff(string(text), lie); diff == "" {
		t.Fatal("nothing was bound in the recording")
	}
	if err := os.WriteFile(changed, []byte(lie), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := replay(changed); err == nil || !strings.Contains(out, "recorded Bind") {
		t.Fatalf("a changed recording was not found out: %v: %s", err, out)
	}
}
