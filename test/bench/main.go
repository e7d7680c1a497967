// Command bench measures Muster against a real etcd and kube-apiserver: how fast
// it binds gangs that wait when it starts, compared in the same run with a
// client that does nothing but write the same bindings, and how long gangs wait
// that arrive one by one. It prints lines that benchstat reads, compares ratios
// with ranges.yaml, and fails when one is outside. Absolute times never fail.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-sh/muster/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	muster   string
	flags    []string
	nodes    int
	shapes   []string
	workers  []int
	trials   int
	patience int
	gang     int
	rate     float64
	duration time.Duration
	ranges   string
	out      string
	logs     string
	profile  string
	smoke    bool
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "measure Muster against a real API server",
		Args:  cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.muster, "muster", "bin/muster", "path of muster's binary")
	f.StringSliceVar(&o.flags, "muster-flag", nil, "further flag for muster scheduler, like --bind-workers=32; may be given more than once")
	f.IntVar(&o.nodes, "nodes", 1000, "nodes of 8 GPUs")
	f.StringSliceVar(&o.shapes, "gangs", []string{"50x100", "500x10"}, "bursts: so many gangs x so many pods; empty: none")
	f.IntSliceVar(&o.workers, "raw-workers", []int{8, 16, 32, 64}, "bindings at once of the client that only binds; the best counts")
	f.IntVar(&o.trials, "trials", 3, "how often each burst is measured")
	f.IntVar(&o.patience, "patience", 5, "how often a measurement is made again that other programs disturbed; the least disturbed counts")
	f.IntVar(&o.gang, "arrive-size", 8, "pods of a gang that arrives by itself")
	f.Float64Var(&o.rate, "arrive-rate", 20, "gangs per second that arrive")
	f.DurationVar(&o.duration, "arrive-for", 20*time.Second, "how long gangs arrive; 0: not at all")
	f.StringVar(&o.ranges, "ranges", "test/bench/ranges.yaml", "ranges that ratios are compared with; empty: with none")
	f.StringVar(&o.out, "out", "", "file that the benchmark lines go to as well; empty: none")
	f.StringVar(&o.logs, "muster-log", "", "file that muster's log is added to; empty: it is dropped")
	f.StringVar(&o.profile, "profile", "", "file that a CPU profile of muster in the last burst goes to; empty: none")
	f.BoolVar(&o.smoke, "smoke", false, "see in seconds that the program works: 2 gangs, 10 nodes; skipped where no control plane is built")
	return cmd
}

// shape is a burst: so many gangs of so many pods.
type shape struct{ gangs, size int }

func (s shape) pods() int { return s.gangs * s.size }

func (s shape) String() string { return fmt.Sprintf("%dx%d", s.gangs, s.size) }

func parseShape(text string) (shape, error) {
	gangs, size, _ := strings.Cut(text, "x")
	g, errG := strconv.Atoi(gangs)
	n, errN := strconv.Atoi(size)
	if errG != nil || errN != nil || g < 1 || n < 1 {
		return shape{}, fmt.Errorf("--gangs=%s: give the number of gangs and of pods of each, like 50x100", text)
	}
	return shape{g, n}, nil
}

// check reads the shapes and names all flags that can't be right.
func (o options) check() ([]shape, error) {
	var errs []error
	shapes := make([]shape, len(o.shapes))
	for i, text := range o.shapes {
		var err error
		shapes[i], err = parseShape(text)
		errs = append(errs, err)
		if room := o.nodes * gpusPerNode; shapes[i].pods() > room {
			errs = append(errs, fmt.Errorf("--gangs=%s: %d nodes have room for %d pods; give more --nodes", text, o.nodes, room))
		}
	}
	for _, w := range o.workers {
		if w < 1 {
			errs = append(errs, fmt.Errorf("--raw-workers=%d: give 1 or more", w))
		}
	}
	if len(o.workers) == 0 || o.trials < 1 || o.patience < 0 {
		errs = append(errs, errors.New("--raw-workers, --trials: give at least one; --patience: 0 or more"))
	}
	arrives := int(o.rate * o.duration.Seconds() * float64(o.gang))
	if o.rate <= 0 || o.gang < 1 || o.duration < 0 || arrives > o.nodes*gpusPerNode {
		errs = append(errs, fmt.Errorf("--arrive-rate=%v, --arrive-size=%d, --arrive-for=%v: %d pods on %d GPUs; give numbers above 0 and pods that fit",
			o.rate, o.gang, o.duration, arrives, o.nodes*gpusPerNode))
	}
	return shapes, errors.Join(errs...)
}

func run(ctx context.Context, o options) (err error) {
	if o.smoke {
		built, err := cluster.Built(cluster.ControlPlane)
		if err != nil {
			return err
		}
		if !built {
			fmt.Println("skipped: no control plane is built on this machine; `go run ./test/cluster/musterup build controlplane` builds it")
			return nil
		}
		o.nodes, o.shapes, o.workers, o.trials = 10, []string{"2x8"}, []int{8}, 1
		o.patience = 0
		o.rate, o.duration, o.ranges = 2, 2*time.Second, ""
	}
	shapes, err := o.check()
	if err != nil {
		return err
	}
	out := io.Writer(os.Stdout)
	if o.out != "" {
		f, err := os.Create(o.out)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = io.MultiWriter(out, f)
	}
	w, err := newWorld(ctx, o.nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.down(context.WithoutCancel(ctx))) }()
	b := &bench{world: w, options: o, results: newResults(out)}
	if b.muster, err = filepath.Abs(o.muster); err != nil {
		return err
	}
	return b.run(ctx, shapes)
}

// bench is one run of this program.
type bench struct {
	*world
	options
	muster  string
	results *results
}

func (b *bench) run(ctx context.Context, shapes []shape) error {
	b.results.header()
	if len(shapes) > 0 {
		for trial := range b.trials {
			if err := b.trial(ctx, shapes, trial == b.trials-1); err != nil {
				return err
			}
		}
	}
	if b.duration > 0 {
		if err := b.arrive(ctx); err != nil {
			return err
		}
	}
	if b.ranges == "" {
		return nil
	}
	return b.results.compare(b.ranges)
}

// trial finds out with how many bindings at once only binding is fastest, and then
// measures each burst between two measurements of that: the speed of the machine
// changes by half within minutes, less from one measurement to the next.
func (b *bench) trial(ctx context.Context, shapes []shape, last bool) error {
	bind := func(workers int) (speed, error) {
		got, err := b.quietly(ctx, func(ctx context.Context) (trial, error) { return b.raw(ctx, shapes[0].pods(), workers) })
		if err != nil {
			return speed{}, fmt.Errorf("only binding, %d at once: %w", workers, err)
		}
		return got, nil
	}
	var most speed
	var best int
	for _, workers := range b.workers {
		got, err := bind(workers)
		if err != nil {
			return err
		}
		if got.alone > most.alone {
			most, best = got, workers
		}
	}
	before, err := bind(best)
	if err != nil {
		return err
	}
	for i, s := range shapes {
		profile := ""
		if last && i == len(shapes)-1 {
			profile = b.profile
		}
		got, err := b.quietly(ctx, func(ctx context.Context) (trial, error) { return b.burst(ctx, s, profile) })
		if err != nil {
			return fmt.Errorf("burst of %v: %w", s, err)
		}
		after, err := bind(best)
		if err != nil {
			return err
		}
		b.results.ratio("burst/gangs="+s.String(), 2*got.alone/(before.alone+after.alone), 2*got.clock/(before.clock+after.clock))
		before = after
	}
	return nil
}
