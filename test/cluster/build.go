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
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Binaries that [Binary] knows.
const (
	ControlPlane     = "controlplane"
	TrainingOperator = "training-operator"
	MPIOperator      = "mpi-operator"
)

// kubernetesVersion is what the API server says it is; the nested module pins the code.
const kubernetesVersion = "v1.37.2"

// recipe says how to build a binary: in which nested module, which package, and
// which folder of which module holds its CRDs.
type recipe struct{ module, pkg, crdModule, crdFolder string }

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
	}
}

// Binary returns the path of a binary, building it when this machine has none
// yet of these sources and versions. A first build of the control plane takes
// about ten minutes on two cores; progress is told once a second on a terminal,
// every 15 seconds elsewhere. Callers at the same time wait for one another.
func Binary(ctx context.Context, name string, out io.Writer) (string, error) {
	r, ok := recipes()[name]
	if !ok {
		return "", fmt.Errorf("binary %q is unknown", name)
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	source := filepath.Join(root, "test", "cluster", r.module)
	key, err := fingerprint(source)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	dir := filepath.Join(cache, "muster", "bin", name+"-"+key)
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := build(ctx, r, source, dir, name, out); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// build compiles into dir, the binary last and by renaming, so that what is there is whole.
func build(ctx context.Context, r recipe, source, dir, name string, out io.Writer) error {
	p := &progress{out: out, start: time.Now()}
	stop := p.tick("building " + name + " (once per version)")
	defer stop()
	if r.crdModule != "" {
		from, err := command(ctx, source, "list", "-m", "-f", "{{.Dir}}", r.crdModule)
		if err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(dir, "crds")); err != nil {
			return err
		}
		if err := copyCRDs(filepath.Join(strings.TrimSpace(from), r.crdFolder), filepath.Join(dir, "crds")); err != nil {
			return err
		}
	}
	const version = "k8s.io/component-base/version."
	flags := fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=37 -X %[1]sgitTreeState=clean", version, kubernetesVersion)
	if _, err := command(ctx, source, "build", "-ldflags", flags, "-o", filepath.Join(dir, "new"), r.pkg); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, name))
}

// command runs the go command without cgo, as all of the project's builds do, so that they share one cache.
func command(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
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

// lock waits for the exclusive lock on a file. The kernel lifts it when the holder dies.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-tick.C:
		}
	}
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

func copyCRDs(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "kubeflow.org_*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Join(fmt.Errorf("no CRDs in %s", from), err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
