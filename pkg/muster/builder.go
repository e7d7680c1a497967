package muster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/muster-sh/muster/pkg/controllers"
)

// builder makes a manager for each part of the process, so that each part has a
// lease of its own whether it runs alone or beside the other. The first one
// serves health and metrics for all.
type builder struct {
	settings        *settings
	rest            *rest.Config
	scheme          *runtime.Scheme
	health, metrics string // where the next manager serves; "0": nowhere
}

func newBuilder(s *settings) (*builder, error) {
	b := &builder{settings: s}
	var err error
	if b.rest, err = restConfig(s); err != nil {
		return nil, err
	}
	if b.scheme, err = controllers.Scheme(); err != nil {
		return nil, err
	}
	if b.health, err = address(s.health); err != nil {
		return nil, fmt.Errorf("--health-probe-bind-address: %w", err)
	}
	if b.metrics, err = address(s.metrics); err != nil {
		return nil, fmt.Errorf("--metrics-bind-address: %w", err)
	}
	return b, nil
}

func (b *builder) manager(ctx context.Context, part string, handlers map[string]http.Handler) (manager.Manager, error) {
	s := b.settings
	extra := maps.Clone(handlers)
	if s.profile {
		extra = profiles()
		maps.Copy(extra, handlers)
	}
	renew := s.leaseDuration * 2 / 3
	log := logr.FromContextOrDiscard(ctx).WithValues("part", part)
	mgr, err := manager.New(b.rest, manager.Options{
		Scheme:                        b.scheme,
		HealthProbeBindAddress:        b.health,
		Metrics:                       server.Options{BindAddress: b.metrics, ExtraHandlers: extra},
		LeaderElection:                s.elect,
		LeaderElectionID:              "muster-" + part,
		LeaderElectionNamespace:       s.leaseNamespace,
		LeaseDuration:                 &s.leaseDuration,
		RenewDeadline:                 &renew,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &s.shutdown,
		BaseContext:                   func() context.Context { return logr.NewContext(ctx, log) },
		Logger:                        log,
	})
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	if b.health != "0" || b.metrics != "0" {
		log.Info("serving", "health", b.health, "metrics", b.metrics)
	}
	b.health, b.metrics = "0", "0"
	return mgr, mgr.AddHealthzCheck("ping", healthz.Ping)
}

func restConfig(s *settings) (*rest.Config, error) {
	var cfg *rest.Config
	var err error
	if s.kubeconfig+s.upstream.master != "" {
		cfg, err = clientcmd.BuildConfigFromFlags(s.upstream.master, s.kubeconfig)
	} else {
		cfg, err = ctrl.GetConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w; give --kubeconfig", err)
	}
	cfg.QPS, cfg.Burst = s.qps, s.burst
	if cfg.Burst == 0 {
		cfg.Burst = int(2 * s.qps)
	}
	cfg.UserAgent = "muster"
	return cfg, nil
}

// address replaces port 0 by a free port, so that the one in use can be told. Empty becomes "0", which serves nothing.
func address(a string) (string, error) {
	if a == "" {
		return "0", nil
	}
	host, port, err := net.SplitHostPort(a)
	if err != nil {
		return "", err
	}
	if port != "0" {
		return a, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
