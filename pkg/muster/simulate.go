package muster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/simulate"
)

// simulation is the flags of the command.
type simulation struct {
	cluster, workload string
	conf              string
	compare           []string
	out               string
	resource          string
}

// simulateCommand tries a workload on a cluster that need not be there.
func simulateCommand(g *guests) *cobra.Command {
	s := &simulation{}
	cmd := &cobra.Command{
		Use:   "simulate --cluster FILE --workload FILE",
		Short: "Try a workload, queues and a configuration on virtual time, without a cluster",
		Long: `Runs the scheduler's own engine over a workload on virtual time: jobs arrive, are
placed as a cluster would place them, run as long as the workload says, give way
where the configuration lets others take their room, and end. A month takes seconds.

It prints completion and queueing times, makespan, utilisation, fairness between
queues, preemptions and lost work; with --out it writes them too, with every job, the
use of each queue over time, and a page with pictures. The same input gives the same
bytes. Jobs that can never be placed are named, with the reason.

The cluster is YAML with nodes and queues; Node and Queue objects, as kubectl get -o
yaml prints them, do as well, beside it or instead:

  nodes:
  - {name: gpu, count: 4, resources: {gpu: 8, cpu: 96, memory: 1Ti}, labels: {zone: a}}
  queues:                        # as in a Queue's spec; without: those that jobs name
  - {name: research, weight: 2, capability: {gpu: 24}}

The workload is CSV, in a file called .csv, with a line of column names:

  submit    when it arrives: seconds since the start, or as in 1h30m
  gang      how many pods it has
  gpus      how many GPUs each asks for
  duration  how long each runs from when it is placed
  queue     default, when empty
  priority  0, when empty
  name, cpu, memory (of each pod), min (pods that must run together; all, when
  empty), deadline (by when it should have ended, since the start): as you like

or YAML with a list called jobs that has the same keys, and resources, nodeSelector,
tolerations, annotations and repeat: {count: 10, every: 1h}. Pods that have to give
way come back as waiting ones and begin anew.`,
		Example: `  muster simulate --cluster examples/simulate/cluster.yaml --workload examples/simulate/workload.csv
  muster simulate --cluster cluster.yaml --workload workload.csv --compare default,reclaim.conf --out report
  kubectl get nodes,queues -o yaml > cluster.yaml   # try it on what you have`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.out == "" && cmd.Flags().Changed("out") {
				return errors.New("--out is empty: name a folder to write into, or leave it out to only print")
			}
			return s.run(cmd.Context(), g, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.cluster, "cluster", "", "file of nodes and queues")
	f.StringVar(&s.workload, "workload", "", "file of jobs, CSV or YAML")
	f.StringVar(&s.conf, "scheduler-conf", "", "volcano-scheduler.conf to decide by; empty: the default")
	f.StringSliceVar(&s.compare, "compare", nil, "several volcano-scheduler.conf, side by side; the word default stands for the default")
	f.StringVar(&s.out, "out", "", "folder to write report.html, summary.json and the figures of each configuration into; files of these names are replaced")
	f.StringVar(&s.resource, "resource", simulate.GPU, "resource that figures and pictures count")
	return cmd
}

func (s *simulation) run(ctx context.Context, g *guests, out, errs io.Writer) error {
	trace, options, err := s.read(g)
	if err != nil {
		return err
	}
	if s.out != "" {
		if err := os.MkdirAll(s.out, 0o777); err != nil {
			return fmt.Errorf("--out=%s: %w", s.out, err)
		}
	}
	meter := newProgressBar(errs, len(options))
	results := make([]*simulate.Result, len(options))
	var group errgroup.Group
	for i, o := range options {
		o.Progress = func(p simulate.Progress) bool {
			meter.tell(i, o.Name, p)
			return ctx.Err() == nil
		}
		group.Go(func() (err error) {
			results[i], err = simulate.Run(trace, o)
			return err
		})
	}
	err = group.Wait()
	if err != nil {
		meter.end("stopped after")
		return err
	}
	meter.end("simulated in")
	simulate.Print(out, results)
	if s.out == "" {
		return nil
	}
	files, err := simulate.Files(results)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(s.out, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return fmt.Errorf("--out=%s: %w", s.out, err)
		}
		if err := os.WriteFile(path, f.Text, 0o666); err != nil {
			return fmt.Errorf("--out=%s: %w", s.out, err)
		}
	}
	fmt.Fprintf(out, "\nWrote %d files; begin with %s\n", len(files), filepath.Join(s.out, files[0].Name))
	return nil
}

// read reads all files, and names everything that is wrong with any of them.
func (s *simulation) read(g *guests) (*simulate.Trace, []simulate.Options, error) {
	var errs []error
	open := func(flag, name string) simulate.File {
		if name == "" {
			errs = append(errs, fmt.Errorf("--%s is not given: name a file; see examples/simulate, and muster simulate --help", flag))
			return simulate.File{}
		}
		text, err := os.ReadFile(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
		return simulate.File{Name: name, Text: text}
	}
	cluster, workload := open("cluster", s.cluster), open("workload", s.workload)
	var trace *simulate.Trace
	if len(errs) == 0 {
		var err error
		if trace, err = simulate.Read(cluster, workload); err != nil {
			errs = append(errs, err)
		}
	}
	confs := s.compare
	switch {
	case len(confs) == 0:
		confs = []string{s.conf}
	case s.conf != "":
		errs = append(errs, errors.New("--scheduler-conf, --compare: give one of them"))
	}
	var options []simulate.Options
	used := map[string]int{}
	for _, name := range confs {
		o, err := s.option(name, g)
		if err != nil {
			errs = append(errs, err)
		}
		if used[o.Name]++; used[o.Name] > 1 {
			o.Name = fmt.Sprintf("%s-%d", o.Name, used[o.Name])
		}
		options = append(options, o)
	}
	return trace, options, errors.Join(errs...)
}

// option reads one configuration.
func (s *simulation) option(name string, g *guests) (simulate.Options, error) {
	o := simulate.Options{Name: "default", Config: conf.Default(), Resource: s.resource, Registry: plugins.Builtin()}
	o.Registry["extender"] = func(framework.Args, framework.Env) (framework.Plugin, error) { return silent{}, nil }
	maps.Copy(o.Registry, g.plugins)
	if name == "" || name == "default" {
		return o, nil
	}
	o.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	text, err := os.ReadFile(name)
	if err != nil {
		return o, fmt.Errorf("configuration: %w", err)
	}
	var config engine.Config
	if config, err = conf.Parse(text, actions.Builtin(), o.Registry); err != nil {
		var lines []error
		if faults, ok := errors.AsType[conf.Faults](err); ok {
			for _, f := range faults {
				lines = append(lines, fmt.Errorf("%s: %w", name, f))
			}
			return o, errors.Join(lines...)
		}
		return o, fmt.Errorf("%s: %w", name, err)
	}
	o.Config = config
	return o, nil
}

// silent stands for the extender, whose server knows nothing of virtual time: it is not asked.
type silent struct{}

func (silent) Name() string { return "extender" }

// progressBar shows how far simulations are: as a bar on a terminal, else as a line now and then.
type progressBar struct {
	out      io.Writer
	terminal bool
	began    time.Time
	mu       sync.Mutex
	last     []simulate.Progress
	told     time.Time
}

func newProgressBar(out io.Writer, n int) *progressBar {
	m := &progressBar{out: out, began: time.Now(), told: time.Now(), last: make([]simulate.Progress, n)}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		m.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return m
}

// tell notes how far one simulation is.
func (m *progressBar) tell(i int, name string, p simulate.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[i] = p
	every := 5 * time.Second
	if m.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(m.told) < every {
		return
	}
	m.told = time.Now()
	ended, jobs := 0, 0
	for _, l := range m.last {
		ended += l.Ended
		jobs += p.Jobs
	}
	percent := 100 * ended / max(jobs, 1)
	day := p.Now.Round(time.Minute)
	if m.terminal {
		const width = 30
		full := width * percent / 100
		fmt.Fprintf(m.out, "\r\x1b[K[%s%s] %3d%%  %d of %d jobs ended, %s is at %v, %d pods run", strings.Repeat("#", full), strings.Repeat(".", width-full), percent, ended, jobs, name, day, p.Running)
		return
	}
	fmt.Fprintf(m.out, "simulating: %d%%, %d of %d jobs ended, %s is at %v\n", percent, ended, jobs, name, day)
}

// end takes the bar away, and says how long it took until what.
func (m *progressBar) end(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.terminal {
		fmt.Fprint(m.out, "\r\x1b[K")
	}
	fmt.Fprintf(m.out, "%s %v\n", what, time.Since(m.began).Round(time.Millisecond))
}
