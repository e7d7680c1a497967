// Command demo shows Muster at work: on a real control plane with simulated GPU
// nodes, jobs made by the real training-operator are placed whole or not at all.
// It ends by itself and leaves nothing behind, unless told to keep the cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/test/cluster"
)

// Size of the cluster; the story's jobs are made for it.
const (
	nodes       = 20
	gpusPerNode = 8
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	served, err := cluster.Serve(ctx)
	if !served {
		err = command().ExecuteContext(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

type options struct {
	muster, name string
	keep         bool
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "see jobs be placed whole or not at all, on a real control plane",
		Args:  cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.muster, "muster", "bin/muster", "path of muster's binary")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "leave the cluster up afterwards")
	cmd.Flags().StringVar(&o.name, "name", "demo", "name of the cluster that --keep leaves up")
	return cmd
}

func run(ctx context.Context, o options) (err error) {
	begin := time.Now()
	sc := newScreen(os.Stdout)
	sc.title("A cluster of %d nodes with %d GPUs each, training-operator, and Muster", nodes, gpusPerNode)
	c, err := bringUp(ctx, o)
	if err != nil {
		return err
	}
	up := time.Since(begin)
	defer func() {
		if !o.keep {
			err = errors.Join(err, c.Down(context.WithoutCancel(ctx)))
		}
	}()
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	s, err := newStory(ctx, c, sc, filepath.Join(root, "examples", "demo"))
	if err != nil {
		return err
	}
	s.note("cluster, operator and muster are ready", up, "")
	if err := s.tell(ctx); err != nil {
		return fmt.Errorf("%w\n\nthe end of muster's log:\n%s\n\nthe end of training-operator's log:\n%s",
			err, c.Tail(cluster.Muster), c.Tail(cluster.TrainingOperator))
	}
	sc.title("Summary")
	sc.table(s.rows)
	sc.say("all of it took %s", seconds(time.Since(begin)))
	if o.keep {
		sc.title("The cluster stays up")
		sc.say("export KUBECONFIG=%s", c.Kubeconfig())
		sc.say("go run ./test/cluster/musterup status")
		sc.say("go run ./test/cluster/musterup down --name %s", o.name)
	}
	return nil
}

// bringUp starts all that takes part: as our own children, or, to be kept, as somebody else's.
func bringUp(ctx context.Context, o options) (*cluster.Cluster, error) {
	crds, err := cluster.CRDs()
	if err != nil {
		return nil, err
	}
	cfg := cluster.Config{
		Nodes: nodes, Node: cluster.NodeProfile{GPUs: gpusPerNode},
		Operators: []cluster.Operator{{Name: "training"}}, CRDs: []string{crds},
		Muster: o.muster, Progress: os.Stdout,
	}
	if !o.keep {
		return cluster.Up(ctx, cfg)
	}
	cfg.Name = o.name
	return cluster.Detach(ctx, cfg)
}
