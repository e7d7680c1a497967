package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// job is one build under way.
type job struct {
	recipe
	name, source, path string
	packages, compiled atomic.Int64
}

// state says in words how far the build is.
func (j *job) state() string {
	if j.packages.Load() == 0 {
		return "fetching modules"
	}
	return fmt.Sprintf("%d packages of at most %d", j.compiled.Load(), j.packages.Load())
}

// build compiles into the binary's folder, the binary last and by renaming, so that what is there is whole.
func (j *job) build(ctx context.Context) error {
	dir := filepath.Dir(j.path)
	if err := j.crds(ctx, filepath.Join(dir, "crds")); err != nil {
		return err
	}
	packages, err := command(ctx, j.source, nil, "list", "-tags", j.tags, "-deps", j.pkg)
	if err != nil {
		return err
	}
	j.packages.Store(int64(strings.Count(packages, "\n")))
	const version = "k8s.io/component-base/version."
	flags := fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=1 -X %[1]sgitMinor=37 -X %[1]sgitTreeState=clean", version, kubernetesVersion)
	if _, err := command(ctx, j.source, &j.compiled, "build", "-v", "-tags", j.tags, "-ldflags", flags, "-o", filepath.Join(dir, "new"), j.pkg); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "new"), j.path)
}

// crds copies an operator's CRDs out of its module.
func (j *job) crds(ctx context.Context, to string) error {
	if j.crdModule == "" {
		return nil
	}
	if _, err := command(ctx, j.source, nil, "mod", "download", j.crdModule); err != nil {
		return err
	}
	module, err := command(ctx, j.source, nil, "list", "-m", "-f", "{{.Dir}}", j.crdModule)
	if err != nil {
		return err
	}
	from := filepath.Join(strings.TrimSpace(module), j.crdFolder)
	files, err := filepath.Glob(filepath.Join(from, "kubeflow.org_*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Join(fmt.Errorf("no CRDs in %s", from), err)
	}
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
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

// command runs the go command without cgo, as all of the project's builds do, so
// that they share one cache. It counts the packages that -v names, if asked to.
func command(ctx context.Context, dir string, compiled *atomic.Int64, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if compiled != nil {
		cmd.Stderr = &counter{names: compiled, rest: &stderr}
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// counter counts the lines that are a package's name and passes the rest on: those are complaints.
type counter struct {
	names *atomic.Int64
	rest  io.Writer
	line  []byte // begun
}

func (c *counter) Write(p []byte) (int, error) {
	c.line = append(c.line, p...)
	for {
		line, rest, whole := bytes.Cut(c.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		c.line = rest
		if !bytes.ContainsAny(line, " \t") {
			c.names.Add(1)
		} else if _, err := fmt.Fprintf(c.rest, "%s\n", line); err != nil {
			return 0, err
		}
	}
}
