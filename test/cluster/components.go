package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of components, for [Cluster.Logs], [Cluster.Kill] and [Cluster.Restart].
// Operators go by their own names.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	kwok              = "kwok"
)

//go:embed stages.yaml
var ownStages string

type ports struct{ etcd, peer, api int }

// controlPlane starts all components, each as soon as what it needs is there.
func (c *Cluster) controlPlane(ctx context.Context, binary string) error {
	if err := freePorts(&c.ports.etcd, &c.ports.peer, &c.ports.api); err != nil {
		return err
	}
	if err := c.writePKI(); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	for _, s := range []spec{c.etcd(binary), c.apiServer(binary)} {
		if err := c.launch(ctx, s); err != nil {
			return err
		}
	}
	if err := c.applyCRDs(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.launch(ctx, c.controllerManager(binary)) })
	group.Go(func() error { return c.startKwok(ctx, binary) })
	return group.Wait()
}

// applyCRDs applies all CRDs that are known in advance. The controller manager
// is started after them: of later ones its garbage collector learns only within
// half a minute, and until then what belongs to a deleted job stays.
func (c *Cluster) applyCRDs(ctx context.Context) error {
	paths := slices.Clone(c.config.CRDs)
	for _, o := range c.config.Operators {
		files, err := c.operatorCRDs(ctx, o.Name)
		if err != nil {
			return err
		}
		paths = append(paths, files...)
	}
	return c.Apply(ctx, paths...)
}

// startKwok starts kwok with the stages of its own module and ours.
func (c *Cluster) startKwok(ctx context.Context, binary string) error {
	stages, err := exec.CommandContext(ctx, binary, "stages").Output()
	if err != nil {
		return fmt.Errorf("print kwok's stages: %w", err)
	}
	if err := os.WriteFile(c.file("stages.yaml"), append(stages, ownStages...), 0o600); err != nil {
		return fmt.Errorf("write kwok's stages: %w", err)
	}
	return c.launch(ctx, c.kwok(binary))
}

// freePorts asks the kernel for free ports. It holds them all until it has them all.
func freePorts(to ...*int) error {
	for _, port := range to {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

func local(scheme string, port int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port) }

// inMemory is where the system, if it can, keeps files in memory.
const inMemory = "/dev/shm"

// etcdDir is in memory where the system offers that: a test cluster need not survive.
func (c *Cluster) etcdDir() string {
	if info, err := os.Stat(inMemory); err == nil && info.IsDir() {
		return filepath.Join(inMemory, fmt.Sprintf("muster-etcd-%d-%d", os.Getpid(), c.ports.etcd))
	}
	return c.file("etcd")
}

func (c *Cluster) etcd(binary string) spec {
	client, peer := local("http", c.ports.etcd), local("http", c.ports.peer)
	return spec{
		name: etcd, path: binary,
		args: []string{
			"etcd", "--data-dir=" + c.etcdDir(), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
			"--quota-backend-bytes=4294967296", "--snapshot-count=100000",
		},
		ready: func(ctx context.Context) error { return get(ctx, client+"/health") },
	}
}

func (c *Cluster) apiServer(binary string) spec {
	return spec{
		name: apiServer, path: binary,
		args: []string{
			"kube-apiserver", "--etcd-servers=" + local("http", c.ports.etcd),
			"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports.api),
			"--tls-cert-file=" + c.file("server.crt"), "--tls-private-key-file=" + c.file("server.key"),
			"--client-ca-file=" + c.file("ca.crt"), "--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + c.file("sa.key"), "--service-account-signing-key-file=" + c.file("sa.key"),
			"--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true",
			"--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false",
			"--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000", "--delete-collection-workers=16",
		},
		ready: func(ctx context.Context) error {
			return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(ctx).Error()
		},
	}
}

// controllerManager is patient with nodes: kwok reports each one every ten
// minutes, so that thousands of them cost next to nothing.
func (c *Cluster) controllerManager(binary string) spec {
	return spec{
		name: controllerManager, path: binary,
		args: []string{
			"kube-controller-manager", "--kubeconfig=" + c.file("controller-manager.kubeconfig"),
			"--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=true",
			"--service-account-private-key-file=" + c.file("sa.key"), "--root-ca-file=" + c.file("ca.crt"),
			"--cluster-signing-cert-file=" + c.file("ca.crt"), "--cluster-signing-key-file=" + c.file("ca.key"),
			"--allocate-node-cidrs=false", "--node-monitor-grace-period=1h",
			"--kube-api-qps=500", "--kube-api-burst=1000", "--concurrent-gc-syncs=20",
		},
		ready: func(ctx context.Context) error { return c.serviceAccount(ctx, "default") },
	}
}

// serviceAccount reports whether a namespace has its default service account: without it no pod can be made.
func (c *Cluster) serviceAccount(ctx context.Context, namespace string) error {
	_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
	return err
}

func (c *Cluster) kwok(binary string) spec {
	return spec{
		name: kwok, path: binary,
		args: []string{
			"kwok", "--kubeconfig=" + c.kubeconfig, "--config=" + c.file("stages.yaml"),
			"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-ip=127.0.0.1",
		},
		ready: func(context.Context) error { return nil },
	}
}

func get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

// exists turns "already there" into success.
func exists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
