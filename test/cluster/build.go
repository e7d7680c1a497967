package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Binaries that [Binary] knows.
const (
	ControlPlane     = "controlplane"
	TrainingOperator = "training-operator"
	MPIOperator      = "mpi-operator"
	Prometheus       = "prometheus"
)

// kubernetesVersion is what the API server says it is; the nested module pins the code.
const kubernetesVersion = "v1.37.2"

// recipe says how to build a binary: in which nested module, which package, with which
// build tags, and which folder of which module holds its CRDs.
type recipe struct{ module, pkg, tags, crdModule, crdFolder string }

func recipes() map[string]recipe {
	return map[string]recipe{
		ControlPlane: {module: "controlplane", pkg: "."},
		TrainingOperator: {
			module: "operators/training", pkg: "github.com/kubeflow/training-operator/cmd/training-operator.v1",
			crdModule: "github.com/kubeflow/training-operator", crdFolder: "manifests/base/crds",
		},
		MPIOperator: {
			module: "operators/mpi", pkg: "github.com/kubeflow/mpi-operator/cmd/mpi-operator",
			crdModule: "github.com/kubeflow/mpi-operator", crdFolder: "manifests/base",
		},
		// Without the clouds it could find targets in, and without its web pages.
		Prometheus: {module: "prometheus", pkg: "github.com/prometheus/prometheus/cmd/prometheus", tags: "remove_all_sd"},
	}
}

// Build builds those of the named binaries that this machine does not have yet,
// and tells which step of how many it is at.
func Build(ctx context.Context, out io.Writer, names ...string) error {
	var missing []string
	for _, name := range names {
		_, path, err := locate(name)
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, name)
		}
	}
	for i, name := range missing {
		if _, err := binary(ctx, name, fmt.Sprintf("[%d/%d] ", i+1, len(missing)), out); err != nil {
			return err
		}
	}
	return nil
}

// Built reports whether this machine has a binary of these sources and versions.
func Built(name string) (bool, error) {
	_, path, err := locate(name)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(path)
	return err == nil, nil
}

// Binary returns the path of a binary, building it when this machine has none
// yet of these sources and versions. A first build of the control plane takes
// about ten minutes on two cores. Callers at the same time wait for one another.
func Binary(ctx context.Context, name string, out io.Writer) (string, error) {
	return binary(ctx, name, "", out)
}

func binary(ctx context.Context, name, step string, out io.Writer) (string, error) {
	source, path, err := locate(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(path), "lock"))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	j := &job{recipe: recipes()[name], name: name, source: source, path: path}
	stop := newProgress(out).tick(func() string { return step + "building " + name + ", once per version: " + j.state() })
	err = j.build(ctx)
	stop()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// locate returns where a binary's nested module is and where the built binary belongs.
func locate(name string) (source, path string, err error) {
	r, ok := recipes()[name]
	if !ok {
		return "", "", fmt.Errorf("binary %q is unknown", name)
	}
	root, err := Root()
	if err != nil {
		return "", "", err
	}
	source = filepath.Join(root, "test", "cluster", r.module)
	key, err := fingerprint(source)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", fmt.Errorf("find cache folder: %w", err)
	}
	return source, filepath.Join(cache, "muster", "bin", name+"-"+key, name), nil
}

// fingerprint is equal for equal sources, dependencies and compilers.
func fingerprint(source string) (string, error) {
	files, err := filepath.Glob(filepath.Join(source, "*"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(fmt.Errorf("no sources in %s", source), err)
	}
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH, kubernetesVersion)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(file), len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// lock waits for the exclusive lock on a file.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		held, err := tryLock(path)
		if err == nil {
			return func() { _ = held.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// tryLock takes the exclusive lock on a file of an existing folder, or fails with
// EWOULDBLOCK. Closing the file lifts it, and so does the death of the holder.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Root is the folder of Muster's sources, found upwards from the working folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find working folder: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module github.com/muster-sh/muster\n")) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not inside Muster's source tree, whose modules are needed to build the control plane", dir)
		}
	}
}
