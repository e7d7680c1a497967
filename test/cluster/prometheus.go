package cluster

import (
	"context"
	"fmt"
	"os"
)

// StartPrometheus starts a Prometheus with that configuration, which keeps what it reads
// in the cluster's folder, waits until it is ready and returns its address.
func (c *Cluster) StartPrometheus(ctx context.Context, config string) (address string, err error) {
	binary, err := Binary(ctx, Prometheus, c.config.Progress)
	if err != nil {
		return "", err
	}
	file := c.file("prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return "", fmt.Errorf("write Prometheus' configuration: %w", err)
	}
	var port int
	if err := freePorts(&port); err != nil {
		return "", err
	}
	address = local("http", port)
	return address, c.launch(ctx, spec{
		name: Prometheus, path: binary,
		args: []string{
			"--config.file=" + file, "--storage.tsdb.path=" + c.file("prometheus"),
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port),
		},
		ready: func(ctx context.Context) error { return get(ctx, address+"/-/ready") },
	})
}
