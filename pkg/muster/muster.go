// Package muster is the command line of Muster: the scheduler, the controllers, and
// what goes with them. It wires rooms together and decides nothing. A program of
// your own that adds scheduler plugins is a main function that calls [Main] with
// [WithPlugin].
package muster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // settings name time zones, and images without an operating system know none

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Option changes what Main runs.
type Option func(*guests)

// guests are what a program adds to Muster's own.
type guests struct{ plugins framework.Registry }

// WithPlugin adds a scheduler plugin, to be named in volcano-scheduler.conf. A name
// that Muster has itself is replaced.
func WithPlugin(name string, make framework.New) Option {
	return func(g *guests) { g.plugins[name] = make }
}

// Main runs the command line of the process and ends it with status 1 on an error.
func Main(options ...Option) {
	guests := &guests{plugins: framework.Registry{}}
	for _, o := range options {
		o(guests)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := root(guests).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func root(g *guests) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "muster",
		Short: "Gang scheduling and queues for AI workloads on Kubernetes",
		Long: `Muster places gangs of pods whole or not at all, in queues with ceilings, and
always says why one waits. It speaks Volcano's API: pods that name
schedulerName: volcano, PodGroups and Queues work unchanged, and so do the
Kubeflow jobs that Muster has an adapter for.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	cmd.AddCommand(
		run(g, "all", "Run the scheduler and the controllers in one process", parts{scheduler: true, controllers: true}),
		run(g, "scheduler", "Run the scheduler", parts{scheduler: true}),
		run(g, "controllers", "Run the controllers that derive PodGroups from workloads", parts{controllers: true}),
		replayCommand(g),
		simulateCommand(g),
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: cobra.NoArgs,
			Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version()) },
		},
		manifestsCommand(),
	)
	return cmd
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := []string{info.Main.Version, info.GoVersion}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text = append(text, s.Value)
		}
	}
	return strings.Join(text, " ")
}
