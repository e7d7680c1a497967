// Command muster is the scheduler and the controllers of Muster. It wires rooms
// together and decides nothing.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := root().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
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
		run("all", "Run the scheduler and the controllers in one process", parts{scheduler: true, controllers: true}),
		run("scheduler", "Run the scheduler", parts{scheduler: true}),
		run("controllers", "Run the controllers that derive PodGroups from workloads", parts{controllers: true}),
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
