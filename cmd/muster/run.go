package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/muster-sh/muster/pkg/controllers"
	"github.com/muster-sh/muster/pkg/metrics"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/live"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

// parts says what a process is made of.
type parts struct{ scheduler, controllers bool }

// run makes a command that runs parts until a signal comes.
func run(name, short string, p parts) *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Args:    cobra.NoArgs,
		Example: "  muster " + name + " --kubeconfig ~/.kube/config --leader-elect=false",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.validate(); err != nil {
				return err
			}
			h, err := s.logs.handler(os.Stderr)
			if err != nil {
				return err
			}
			return serve(logr.NewContext(cmd.Context(), install(h)), name, s, p)
		},
	}
	s.register(cmd.Flags(), p)
	return cmd
}

// serve wires the parts into one manager and runs it until ctx ends.
func serve(ctx context.Context, name string, s *settings, p parts) error {
	log := logr.FromContextOrDiscard(ctx)
	cfg, err := restConfig(s)
	if err != nil {
		return err
	}
	scheme, err := controllers.Scheme()
	if err != nil {
		return err
	}
	health, err := address(s.health)
	if err != nil {
		return fmt.Errorf("--health-probe-bind-address: %w", err)
	}
	metricsAt, err := address(s.metrics)
	if err != nil {
		return fmt.Errorf("--metrics-bind-address: %w", err)
	}
	handlers := map[string]http.Handler{}
	if s.profile {
		handlers["/debug/pprof/"] = http.HandlerFunc(pprof.Index)
		handlers["/debug/pprof/profile"] = http.HandlerFunc(pprof.Profile)
	}
	var scheduler *live.Scheduler
	if p.scheduler {
		scheduler, err = live.New(cfg, live.Options{
			SchedulerNames: s.schedulerNames, BindWorkers: s.bindWorkers, DrainTimeout: s.shutdown,
			Config: conf.Default(), Registry: plugins.Builtin(),
		})
		if err != nil {
			return err
		}
		handlers["/debug/explain/"] = http.HandlerFunc(scheduler.Explain)
	}
	renew := s.leaseDuration * 2 / 3
	mgr, err := manager.New(cfg, manager.Options{
		Scheme:                        scheme,
		HealthProbeBindAddress:        health,
		Metrics:                       server.Options{BindAddress: metricsAt, ExtraHandlers: handlers},
		LeaderElection:                s.elect,
		LeaderElectionID:              "muster-" + name,
		LeaderElectionNamespace:       s.leaseNamespace,
		LeaseDuration:                 &s.leaseDuration,
		RenewDeadline:                 &renew,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &s.shutdown,
		BaseContext:                   func() context.Context { return ctx },
		Logger:                        log,
	})
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	if err := assemble(ctx, mgr, scheduler, s, p); err != nil {
		return err
	}
	log.Info("starting", "command", name, "version", version(), "health", health, "metrics", metricsAt)
	if err := mgr.Start(ctx); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// assemble adds the parts and their checks to the manager.
func assemble(ctx context.Context, mgr manager.Manager, scheduler *live.Scheduler, s *settings, p parts) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	ready := healthz.Checker(healthz.Ping)
	if p.scheduler {
		if err := mgr.Add(scheduler); err != nil {
			return err
		}
		if err := crmetrics.Registry.Register(metrics.New(scheduler.Last)); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
		ready = standby(mgr, scheduler.Ready)
	}
	if err := mgr.AddReadyzCheck("ready", ready); err != nil {
		return err
	}
	if !p.controllers {
		return nil
	}
	for _, c := range controllers.All() {
		if err := c.Setup(ctx, mgr, controllers.Options{SchedulerNames: s.schedulerNames}); err != nil {
			return fmt.Errorf("controller %s: %w", c.Name, err)
		}
	}
	return nil
}

// standby counts a process that waits for its lease as ready: it is as ready as it can be.
func standby(mgr manager.Manager, check healthz.Checker) healthz.Checker {
	return func(r *http.Request) error {
		select {
		case <-mgr.Elected():
			return check(r)
		default:
			return nil
		}
	}
}

func restConfig(s *settings) (*rest.Config, error) {
	var cfg *rest.Config
	var err error
	if s.kubeconfig != "" {
		cfg, err = clientcmd.BuildConfigFromFlags("", s.kubeconfig)
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
