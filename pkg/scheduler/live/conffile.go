package live

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
)

const (
	confLimit  = 1 << 20                // bytes of a configuration; a ConfigMap holds no more
	confSettle = 200 * time.Millisecond // after a first sign of a change, until the file is read
	confReread = 30 * time.Second       // between looks when there was no sign; systems may give none
)

// readConf reads a configuration file of bounded size.
func readConf(path string) ([]byte, error) {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("configuration: %s is no regular file (%s); give a file", path, info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w; write it, or correct --scheduler-conf", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, confLimit+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(text) > confLimit {
		return nil, fmt.Errorf("configuration: %s is larger than %d bytes; is it the right file?", path, confLimit)
	}
	return text, nil
}

// confFile is a configuration file and what was last seen of it.
type confFile struct {
	path   string
	text   []byte // as last read
	failed string // why it could not be read last; empty when it could
}

// look reads the file and reports whether there is something new: another text,
// or that it can't be read, or can again.
func (f *confFile) look() (news bool, err error) {
	text, err := readConf(f.path)
	if err != nil {
		news = f.failed != err.Error()
		f.failed = err.Error()
		return news, err
	}
	news = f.failed != "" || !bytes.Equal(text, f.text)
	f.text, f.failed = text, ""
	return news, nil
}

// watch tells what is new until ctx ends. It watches the file's folder: a mounted
// ConfigMap changes by swapping a link there, and editors by renaming a file.
func (f *confFile) watch(ctx context.Context, tell func(text []byte, err error)) {
	log := logr.FromContextOrDiscard(ctx)
	var signs <-chan fsnotify.Event
	var faults <-chan error
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		signs, faults, err = watcher.Events, watcher.Errors, watcher.Add(filepath.Dir(f.path))
	}
	if err != nil {
		log.Error(err, "the configuration's folder can't be watched; the file is read from time to time instead", "file", f.path, "every", confReread)
	}
	timer := time.NewTimer(0) // for what changed since it was first read
	defer timer.Stop()
	soon := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-signs:
			if !soon {
				soon = true
				timer.Reset(confSettle)
			}
		case err := <-faults:
			log.Error(err, "watch the configuration's folder", "file", f.path)
		case <-timer.C:
			soon = false
			timer.Reset(confReread)
			if news, err := f.look(); news {
				tell(f.text, err)
			}
		}
	}
}
