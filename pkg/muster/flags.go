package muster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/pkg/scheduler/live"
)

// settings are the flags of the commands that run.
type settings struct {
	guests         *guests
	kubeconfig     string
	schedulerNames []string
	health         string
	metrics        string
	profile        bool
	logs           logSettings
	elect          bool
	leaseNamespace string
	leaseDuration  time.Duration
	shutdown       time.Duration
	bindWorkers    int
	record         string
	nodes          []string
	printConf      bool
	dumpDir        string
	qps            float32
	burst          int
	confFile       string
	confMap        string // NAMESPACE/NAME
	upstream       upstream
}

func (s *settings) register(f *pflag.FlagSet, p parts) {
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "path of a kubeconfig; empty: $KUBECONFIG, else the pod's own service account, else ~/.kube/config")
	f.StringSliceVar(&s.schedulerNames, "scheduler-name", []string{"volcano"}, "pod.spec.schedulerName that is ours; may be given more than once")
	f.StringVar(&s.health, "health-probe-bind-address", ":8081", "host:port of /healthz and /readyz; port 0: any free one; empty: none")
	f.StringVar(&s.metrics, "metrics-bind-address", ":8080", "host:port of /metrics and /debug/explain/NAMESPACE/PODGROUP; port 0: any free one; empty: none")
	f.BoolVar(&s.profile, "profiling", false, "serve /debug/pprof beside the metrics")
	f.StringVar(&s.logs.level, "log-level", "info", "debug, info, warn or error; debug logs every decision")
	f.StringVar(&s.logs.format, "log-format", "text", "text or json")
	f.BoolVar(&s.elect, "leader-elect", true, "of several processes let one act at a time")
	f.StringVar(&s.leaseNamespace, "leader-elect-namespace", "", "namespace of the lease; empty: the pod's own")
	f.DurationVar(&s.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long a leader that fell silent is waited for")
	f.DurationVar(&s.shutdown, "shutdown-timeout", 30*time.Second, "how long what is under way may take to finish after a signal")
	f.Float32Var(&s.qps, "kube-api-qps", -1, "API requests per second; negative: no limit but the server's own")
	f.IntVar(&s.burst, "kube-api-burst", 0, "API requests at once above --kube-api-qps; 0: twice that")
	s.upstream.register(f)
	if p.scheduler {
		f.StringVar(&s.record, "record", "", "file to record into what the scheduler is told and decides, for `muster replay`; it is made anew, and grows until the process ends")
		f.StringSliceVar(&s.nodes, "node-selector", nil, "key:value of a node label; only nodes that have one of those given are used; none: all")
		f.StringVar(&s.dumpDir, "cache-dump-dir", os.TempDir(), "folder into which SIGUSR1 and SIGUSR2 write what the scheduler knows, as a recording for `muster replay`")
		f.IntVar(&s.bindWorkers, "bind-workers", 64, "bindings written at once; 0: 64")
		f.BoolVar(&s.printConf, "print-default-conf", false, "print the volcano-scheduler.conf that holds when none is given, and end")
		f.StringVar(&s.confFile, "scheduler-conf", "", "path of a volcano-scheduler.conf, read again when it changes; empty: the default")
		f.StringVar(&s.confMap, "scheduler-conf-configmap", "", "NAMESPACE/NAME of a ConfigMap with a volcano-scheduler.conf, read again when it changes; the default while there is none; names other than "+strings.Join(live.ConfigMaps(), " and ")+" need a role to get, list and watch them")
	}
}

// validate names all settings that can't be right.
func (s *settings) validate() error {
	var errs []error
	if len(s.schedulerNames) == 0 {
		errs = append(errs, errors.New("--scheduler-name: give at least one"))
	}
	for i, name := range s.schedulerNames {
		if name == "" {
			errs = append(errs, errors.New("--scheduler-name: a name can't be empty"))
		} else if slices.Contains(s.schedulerNames[:i], name) {
			errs = append(errs, fmt.Errorf("--scheduler-name=%s is given twice: give it once", name))
		}
	}
	for i, label := range s.nodes {
		if key, _, ok := strings.Cut(label, ":"); !ok || key == "" {
			errs = append(errs, fmt.Errorf("--node-selector=%s: give key:value", label))
		} else if slices.Contains(s.nodes[:i], label) {
			errs = append(errs, fmt.Errorf("--node-selector=%s is given twice: give it once", label))
		}
	}
	if s.bindWorkers < 0 {
		errs = append(errs, fmt.Errorf("--bind-workers=%d: give 0 or more", s.bindWorkers))
	}
	if !(s.qps < 0 || s.qps > 0) {
		errs = append(errs, fmt.Errorf("--kube-api-qps=%v: give a number above 0, or below 0 for no limit", s.qps))
	}
	if _, err := s.configMap(); err != nil {
		errs = append(errs, err)
	}
	if s.shutdown <= 0 {
		errs = append(errs, fmt.Errorf("--shutdown-timeout=%v: give more than 0", s.shutdown))
	}
	if s.leaseDuration < 5*time.Second {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration=%v: give 5s or more", s.leaseDuration))
	}
	return errors.Join(errs...)
}

// configMap splits the name of the configuration's ConfigMap.
func (s *settings) configMap() (types.NamespacedName, error) {
	if s.confMap == "" {
		return types.NamespacedName{}, nil
	}
	namespace, name, ok := strings.Cut(s.confMap, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("--scheduler-conf-configmap=%s: give NAMESPACE/NAME", s.confMap)
	}
	if s.confFile != "" {
		return types.NamespacedName{}, errors.New("--scheduler-conf, --scheduler-conf-configmap: give one of them")
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// recording opens the file to record into; nil when none is wanted.
func (s *settings) recording() (io.Writer, error) {
	if s.record == "" {
		return nil, nil //nolint:nilnil // none is wanted
	}
	f, err := os.OpenFile(s.record, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record=%s: %w", s.record, err)
	}
	return f, nil
}
