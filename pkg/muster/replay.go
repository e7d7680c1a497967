package muster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/record"
)

// replayCommand plays a recording of `muster scheduler --record`.
func replayCommand(g *guests) *cobra.Command {
	return &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a recording of the scheduler and compare its decisions",
		Long: `Tells an engine everything that a scheduler run with --record was told, in the
same order and at the same times, and compares what it decides with what was
decided then, byte for byte. It needs no cluster. The first difference ends it with
status 1 and is shown with its line in the recording.`,
		Example: "  muster scheduler --record run.jsonl\n  muster replay run.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			defer f.Close()
			registry := g.registry(cmd.Context())
			parse := func(text string) (engine.Config, error) {
				return conf.Parse([]byte(text), actions.Builtin(), registry)
			}
			saw, err := record.Replay(f, parse, registry)
			if err != nil {
				return fmt.Errorf("%s: after %d events and %d decisions: %w", args[0], saw.Events, saw.Decisions, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d events, %d runs, %d decisions, all as recorded\n", args[0], saw.Events, saw.Runs, saw.Decisions)
			return nil
		},
	}
}

// dumps writes what the scheduler knows into a file of dir at each SIGUSR1 or SIGUSR2, until ctx ends;
// when not wanted, signals do nothing.
func dumps(ctx context.Context, dir string, wanted bool, dump func(func([]byte))) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(signals)
	log := logr.FromContextOrDiscard(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-signals:
			if !wanted {
				continue
			}
			path := filepath.Join(dir, fmt.Sprintf("muster-%d.jsonl", time.Now().UnixNano()))
			dump(func(text []byte) {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					log.Error(err, "write a dump")
					return
				}
				log.Info("dumped what the scheduler knows", "path", path, "bytes", len(text))
			})
		}
	}
}
