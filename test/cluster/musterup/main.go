// Command musterup brings test clusters up and takes them down: a real Kubernetes
// control plane on loopback with simulated GPU nodes. It outlives the command and
// ends with `musterup down`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-sh/muster/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	served, err := cluster.Serve(ctx)
	if !served {
		err = command(os.Stdout).ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "musterup:", err)
		stop()
		os.Exit(1)
	}
}

func command(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "musterup",
		Short:         "Kubernetes control planes on loopback, for tests and trying out",
		Long:          "musterup runs a real etcd, kube-apiserver and kube-controller-manager on loopback, nodes\nsimulated by kwok, and on request the real Kubeflow operators. It builds them from Go\nmodules the first time, which takes about ten minutes on two cores.",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetOut(out)
	root.CompletionOptions.DisableDefaultCmd = true
	name := root.PersistentFlags().String("name", "muster", "name of the cluster; different names stand side by side")
	root.AddCommand(up(name), down(name), status(), logs(name), build())
	return root
}

// build returns `musterup build`.
func build() *cobra.Command {
	return &cobra.Command{
		Use: "build [BINARY...]", Short: "build what clusters run, once per machine and version",
		Long: fmt.Sprintf("build builds %s, or all of them.", strings.Join(binaries(), ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = binaries()
			}
			if err := cluster.Build(cmd.Context(), cmd.OutOrStdout(), args...); err != nil {
				return err
			}
			for _, name := range args {
				path, err := cluster.Binary(cmd.Context(), name, nil)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), path)
			}
			return nil
		},
	}
}

func binaries() []string {
	return []string{cluster.ControlPlane, cluster.TrainingOperator, cluster.MPIOperator}
}

// up returns `musterup up`.
func up(name *string) *cobra.Command {
	var cfg cluster.Config
	var plain, gang []string
	cmd := &cobra.Command{
		Use: "up", Short: "bring a cluster up and print the path of its kubeconfig", Args: cobra.NoArgs,
		Example: "  musterup up --nodes 20 --gpus 8 --operators training,mpi\n  musterup up --name other --nodes 4 --gang training",
		RunE: func(cmd *cobra.Command, _ []string) error {
			crds, err := cluster.CRDs()
			if err != nil {
				return err
			}
			if cfg.Conf != "" {
				if cfg.Conf, err = filepath.Abs(cfg.Conf); err != nil {
					return fmt.Errorf("--scheduler-conf: %w", err)
				}
			}
			cfg.Name, cfg.CRDs, cfg.Progress = *name, []string{crds}, cmd.OutOrStdout()
			for _, o := range plain {
				if !slices.Contains(gang, o) {
					cfg.Operators = append(cfg.Operators, cluster.Operator{Name: o})
				}
			}
			for _, o := range gang {
				cfg.Operators = append(cfg.Operators, cluster.Operator{Name: o, Gang: true})
			}
			c, err := cluster.Detach(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\nexport KUBECONFIG=%s\n", c.Kubeconfig())
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&cfg.Nodes, "nodes", 20, "simulated nodes")
	f.IntVar(&cfg.Node.GPUs, "gpus", 8, "GPUs of each node; -1: none")
	f.StringVar(&cfg.Node.Product, "gpu-product", "NVIDIA-H100-80GB-HBM3", "label nvidia.com/gpu.product of each node")
	f.StringVar(&cfg.Node.CPU, "cpu", "96", "CPUs of each node")
	f.StringVar(&cfg.Node.Memory, "memory", "1Ti", "memory of each node")
	f.IntVar(&cfg.Node.Racks, "racks", 4, "racks that nodes are spread over, label "+cluster.RackLabel)
	f.StringSliceVar(&plain, "operators", nil, "real operators to start without their gang flag: training, mpi")
	f.StringSliceVar(&gang, "gang", nil, "real operators to start with their gang flag: training, mpi")
	f.StringVar(&cfg.Muster, "muster", "", "path of muster's binary, to be run in the cluster as `muster all`; empty: none")
	f.StringVar(&cfg.Conf, "scheduler-conf", "", "path of a volcano-scheduler.conf for muster, which reads it again when it changes; empty: the default")
	return cmd
}

// down returns `musterup down`.
func down(name *string) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "down", Short: "end a cluster and all that runs in it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names := []string{*name}
			if all {
				running, err := cluster.List()
				if err != nil {
					return err
				}
				names = nil
				for _, r := range running {
					names = append(names, r.Name)
				}
			}
			var errs []error
			for _, name := range names {
				err := cluster.End(cmd.Context(), name)
				if errors.Is(err, cluster.ErrNotRunning) {
					fmt.Fprintln(cmd.OutOrStdout(), err)
					continue
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all clusters with a name")
	return cmd
}

// logs returns `musterup logs`.
func logs(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "logs COMPONENT", Short: "print a component's log; `musterup status` lists components", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := cluster.LogOf(*name, args[0])
			if err != nil {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(cmd.OutOrStdout(), f)
			return err
		},
	}
}

// status returns `musterup status`.
func status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "list the clusters that run, with their components", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			running, err := cluster.List()
			if err != nil {
				return err
			}
			if len(running) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "no cluster runs")
			}
			for _, r := range running {
				describe(cmd.Context(), cmd.OutOrStdout(), r)
			}
			return nil
		},
	}
}

func describe(ctx context.Context, out io.Writer, r cluster.Running) {
	state := "starting"
	if r.Ready {
		state = "up, " + nodes(ctx, r.Name)
	}
	fmt.Fprintf(out, "%s: %s, owned by process %d\n", r.Name, state, r.PID)
	if r.Kubeconfig != "" {
		fmt.Fprintf(out, "  export KUBECONFIG=%s\n", r.Kubeconfig)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, name := range r.Names() {
		state := "runs"
		if !r.Alive(name) {
			state = "ended by itself; see `musterup logs " + name + "`"
		}
		fmt.Fprintf(table, "  %s\tprocess %d\t%s\n", name, r.Components[name], state)
	}
	_ = table.Flush()
}

// nodes says how many nodes a cluster has, or why that can't be told.
func nodes(ctx context.Context, name string) string {
	c, err := cluster.Connect(name)
	if err != nil {
		return err.Error()
	}
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return err.Error()
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d nodes", len(list.Items))
}
