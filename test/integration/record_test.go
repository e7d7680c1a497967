package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
	w.restart(t, "--record="+recording, "--cache-dump-dir="+dir, "--scheduler-conf="+config)
	for gang := range 5 {
		w.submit(t, ns, fmt.Sprintf("g%d", gang), 4)
		if gang == 3 {
			replace(t, config, "actions: \"enqueue, allocate, backfill\"\n")
		}
	}
	w.submit(t, ns, "never", 100)
	eventually(t, func(ctx context.Context) error {
		for gang := range 5 {
			if _, err := w.nodesOf(ctx, ns, fmt.Sprintf("g%d", gang)); err != nil {
				return err
			}
		}
		_, err := w.unschedulable(ctx, ns, "never")
		return err
	})
	dump := w.dump(t, dir)
	if err := w.Terminate(t.Context(), cluster.Muster); err != nil {
		t.Fatal(err)
	}
	if out, err := w.replay(t, recording); err != nil || !strings.Contains(out, "all as recorded") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := w.replay(t, dump); err != nil || !strings.Contains(out, "0 decisions") {
		t.Fatalf("the dump can't be read: %v: %s", err, out)
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
	if out, err := w.replay(t, changed); err == nil || !strings.Contains(out, "recorded Bind") {
		t.Fatalf("a changed recording was not found out: %v: %s", err, out)
	}
}

// dump asks Muster by signal for what it knows, and returns the file it is in.
func (w *world) dump(t *testing.T, dir string) string {
	t.Helper()
	if err := w.Signal(cluster.Muster, syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	var found []string
	eventually(t, func(context.Context) error {
		var err error
		if found, err = filepath.Glob(filepath.Join(dir, "muster-*.jsonl")); err == nil && len(found) == 0 {
			err = errors.New("nothing was dumped")
		}
		return err
	})
	return found[0]
}

// replay plays a recording with the binary under test.
func (w *world) replay(t *testing.T, path string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.binary, "replay", path).CombinedOutput()
	return string(out), err
}
