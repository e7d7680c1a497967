package live

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told is what a watch of a file said.
type told struct {
	text string
	err  error
}

// watchConf watches a file until the test ends.
func watchConf(t *testing.T, path string) <-chan told {
	t.Helper()
	file := confFile{path: path}
	if _, err := file.look(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, done := make(chan told), make(chan struct{})
	go func() {
		defer close(done)
		file.watch(ctx, func(text []byte, err error) {
			select {
			case out <- told{string(text), err}:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return out
}

// write puts a file in place at once, as editors do.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestAChangedFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	write(t, path, "one")
	news := watchConf(t, path)
	write(t, path, "two")
	if got := <-news; got.text != "two" || got.err != nil {
		t.Errorf("told %+v", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := <-news; got.err == nil || !strings.Contains(got.err.Error(), "--scheduler-conf") {
		t.Errorf("a file that is gone: %v", got.err)
	}
	write(t, path, "two") // the same again is news after it was gone
	if got := <-news; got.text != "two" || got.err != nil {
		t.Errorf("told %+v", got)
	}
}

// TestAMountedConfigMapIsReadAgain changes a folder as kubelet does: a link to
// the folder that counts is swapped; the file itself is a link through it.
func TestAMountedConfigMapIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "volcano-scheduler.conf"), text)
		if err := os.Symlink(name, filepath.Join(dir, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version("..1", "one")
	path := filepath.Join(dir, "volcano-scheduler.conf")
	if err := os.Symlink(filepath.Join("..data", "volcano-scheduler.conf"), path); err != nil {
		t.Fatal(err)
	}
	news := watchConf(t, path)
	version("..2", "two")
	if got := <-news; got.text != "two" || got.err != nil {
		t.Errorf("told %+v", got)
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "core")
	write(t, path, strings.Repeat("x", confLimit+1))
	if _, err := readConf(path); err == nil || !strings.Contains(err.Error(), "right file") {
		t.Errorf("%v", err)
	}
}

func TestOfSeveralUpdatesTheLatestCounts(t *testing.T) {
	c := &configs{updates: make(chan update, 1)}
	for i := range 3 {
		u := update{}
		u.config.NodesToScorePercent = i
		c.offer(u)
	}
	if got := (<-c.updates).config.NodesToScorePercent; got != 2 {
		t.Errorf("update %d is left, want the last", got)
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	if _, err := readConf(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v", err)
	}
}
