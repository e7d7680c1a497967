package muster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/muster-sh/muster/pkg/controllers"
	"github.com/muster-sh/muster/pkg/metrics"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/live"
	"github.com/muster-sh/muster/pkg/scheduler/meter"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/capacity"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/extender"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/relations"
)

// parts says what a process is made of.
type parts struct{ scheduler, controllers bool }

// run makes a command that runs parts until a signal comes.
func run(g *guests, name, short string, p parts) *cobra.Command {
	s := &settings{guests: g}
	cmd := &cobra.Command{
		Version: version(),
		Use:     name,
		Short:   short,
		Args:    cobra.NoArgs,
		Example: "  muster " + name + " --kubeconfig ~/.kube/config --leader-elect=false",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(s.validate(), s.upstream.validate(s, os.Getenv)); err != nil {
				return err
			}
			s.upstream.apply(s, cmd.Flags())
			if s.printConf {
				fmt.Fprint(cmd.OutOrStdout(), conf.DefaultText())
				return nil
			}
			h, err := s.logs.handler(os.Stderr)
			if err != nil {
				return err
			}
			ctx := logr.NewContext(cmd.Context(), install(h))
			logr.FromContextOrDiscard(ctx).Info("starting", "command", name, "version", version())
			s.upstream.sayIdle(logr.FromContextOrDiscard(ctx))
			return serve(ctx, s, p)
		},
	}
	s.register(cmd.Flags(), p)
	return cmd
}

// serve runs the parts until ctx ends or one of them fails; then all of them end,
// each after it has finished what is under way.
func serve(ctx context.Context, s *settings, p parts) error {
	clientfeatures.ReplaceFeatureGates(lists{clientfeatures.FeatureGates()})
	b, err := newBuilder(s)
	if err != nil {
		return err
	}
	var managers []manager.Manager
	if p.scheduler {
		mgr, err := schedulerManager(ctx, b)
		if err != nil {
			return fmt.Errorf("scheduler: %w", err)
		}
		managers = append(managers, mgr)
	}
	if p.controllers {
		mgr, err := controllersManager(ctx, b)
		if err != nil {
			return fmt.Errorf("controllers: %w", err)
		}
		managers = append(managers, mgr)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, mgr := range managers {
		group.Go(func() error { return mgr.Start(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("stopped")
	return nil
}

// schedulerManager wires the scheduler.
func schedulerManager(ctx context.Context, b *builder) (manager.Manager, error) {
	s := b.settings
	configMap, err := s.configMap()
	if err != nil {
		return nil, err
	}
	recording, err := s.recording()
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(b.rest)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	var scheduler *live.Scheduler
	collector := metrics.New(func() *live.Snapshot { return scheduler.Last() })
	scheduler, err = live.New(b.rest, live.Options{
		SchedulerNames: s.schedulerNames, BindWorkers: s.bindWorkers, DrainTimeout: s.shutdown,
		Config: conf.Default(), Registry: s.guests.registry(ctx), Actions: actions.Builtin(), Record: recording, Nodes: s.nodes,
		Meter:  meter.Cluster{Client: client, Address: strings.TrimSuffix(b.rest.Host, "/")}.Run,
		Source: live.Source{File: s.confFile, ConfigMap: configMap},
		Took:   collector.Took,
		Pod:    types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME")},
	})
	if err != nil {
		return nil, err
	}
	mgr, err := b.manager(ctx, "scheduler", map[string]http.Handler{live.ExplainPath: http.HandlerFunc(scheduler.Explain)})
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(scheduler); err != nil {
		return nil, err
	}
	if err := crmetrics.Registry.Register(collector); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return dumps(ctx, s.dumpDir, s.upstream.dumper, scheduler.Dump) })); err != nil {
		return nil, fmt.Errorf("watch signals: %w", err)
	}
	ready := healthz.Checker(scheduler.Ready)
	if s.elect {
		ready = standby(mgr, ready)
	}
	return mgr, mgr.AddReadyzCheck("scheduler", ready)
}

// registry is all plugins there are: the built-in ones, those that need more than
// the others may import, and the guests.
func (g *guests) registry(ctx context.Context) framework.Registry {
	r := plugins.Builtin()
	r["extender"] = extender.New(ctx)
	r["predicates"] = relations.New
	r["capacity"] = capacity.Selecting(relations.Selects())
	r["nodeorder"] = relations.NodeOrder(r["nodeorder"])
	maps.Copy(r, g.plugins)
	return r
}

// controllersManager wires the controllers.
func controllersManager(ctx context.Context, b *builder) (manager.Manager, error) {
	mgr, err := b.manager(ctx, "controllers", nil)
	if err != nil {
		return nil, err
	}
	for _, c := range controllers.All() {
		if err := c.Setup(ctx, mgr, controllers.Options{SchedulerNames: b.settings.schedulerNames}); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return mgr, mgr.AddReadyzCheck("controllers", healthz.Ping)
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

// profiles serves what `go tool pprof` asks for.
func profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}
