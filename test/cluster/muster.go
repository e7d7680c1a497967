package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Muster is the name of the component that [Cluster.StartMuster] starts.
const Muster = "muster"

// BuildMuster builds cmd/muster of this source tree and returns its path. It is
// built every time; the go command's cache makes that quick when nothing changed.
func BuildMuster(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", Muster)
	if _, err := command(ctx, root, nil, "build", "-o", path, "./cmd/muster"); err != nil {
		return "", err
	}
	return path, nil
}

// CRDs is the folder of Muster's own CRDs.
func CRDs() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "config", "crd"), nil
}

// StartMuster starts `muster all` from a binary, with further flags, and waits
// until it is ready. Muster's CRDs must be there already. Metrics are served at
// the address that [Cluster.MusterAddress] tells.
func (c *Cluster) StartMuster(ctx context.Context, binary string, flags ...string) error {
	binary, err := musterBinary(binary)
	if err != nil {
		return err
	}
	var health, metrics int
	if err := freePorts(&health, &metrics); err != nil {
		return err
	}
	c.mu.Lock()
	c.muster = fmt.Sprintf("127.0.0.1:%d", metrics)
	c.mu.Unlock()
	args := append([]string{
		"all", "--kubeconfig=" + c.kubeconfig, "--leader-elect=false",
		fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", health), "--metrics-bind-address=" + c.MusterAddress(),
	}, flags...)
	return c.launch(ctx, spec{
		name: Muster, path: binary, args: args,
		ready: func(ctx context.Context) error { return get(ctx, local("http", health)+"/readyz") },
	})
}

// musterBinary returns the whole path of a binary that is there: it will run in another folder.
func musterBinary(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("muster's binary: %w; build it with `make build`", err)
	}
	return path, nil
}

// MusterAddress is the host:port where Muster serves /metrics and /debug/explain.
func (c *Cluster) MusterAddress() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.muster
}
