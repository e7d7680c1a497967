package muster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
)

// upstream are the flags of vc-scheduler that are other words for ours, or that can be
// honoured besides. Its manifests start Muster unchanged.
type upstream struct {
	master                  string
	health, metrics, dumper bool
	onlyGiven               bool // the default configuration does not do
	verbosity               int
	sharding                string
	idle                    []string // given, and without effect here
}

// register adds the flags to f, which has ours. They are not in the help.
func (u *upstream) register(f *pflag.FlagSet) {
	own := pflag.NewFlagSet("upstream", pflag.ContinueOnError)
	own.StringVar(&u.master, "master", "", "")
	own.BoolVar(&u.health, "enable-healthz", true, "")
	own.BoolVar(&u.metrics, "enable-metrics", true, "")
	own.BoolVar(&u.dumper, "cache-dumper", true, "")
	own.BoolVar(&u.onlyGiven, "disable-default-scheduler-config", false, "")
	own.IntVarP(&u.verbosity, "v", "v", 0, "")
	own.StringVar(&u.sharding, "scheduler-sharding-mode", "none", "")
	for name, ours := range map[string]string{
		"listen-address": "metrics-bind-address", "healthz-address": "health-probe-bind-address", "enable-pprof": "profiling",
		"leader-elect-resource-namespace": "leader-elect-namespace", "lock-object-namespace": "leader-elect-namespace",
	} {
		flag := *f.Lookup(ours)
		flag.Name = name
		own.AddFlag(&flag)
	}
	for _, flag := range idleFlags() {
		for _, name := range flag.names {
			said := fmt.Sprintf("--%s has no effect here: %s", name, flag.because)
			own.VarPF(&ignored{u, said, flag.kind}, name, "", "").NoOptDefVal = map[string]string{"bool": "true"}[flag.kind]
		}
	}
	own.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	f.AddFlagSet(own)
}

// apply has what was given count in the settings.
func (u *upstream) apply(s *settings, f *pflag.FlagSet) {
	if !u.health {
		s.health = ""
	}
	if !u.metrics {
		s.metrics = ""
	}
	const everyDecision = 3 // from here on upstream logs what it decides
	if u.verbosity >= everyDecision && !f.Changed("log-level") {
		s.logs.level = "debug"
	}
}

// validate names all that can't be honoured and must not be ignored.
func (u *upstream) validate(s *settings, env func(string) string) error {
	var errs []error
	if u.onlyGiven && s.confFile == "" && s.confMap == "" {
		errs = append(errs, errors.New("--disable-default-scheduler-config: give --scheduler-conf or --scheduler-conf-configmap"))
	}
	const apart = "schedulers that run at once would place on the same nodes; give each a --scheduler-name and a --node-selector of its own, or let one lead (--leader-elect)"
	if u.sharding != "none" {
		errs = append(errs, fmt.Errorf("--scheduler-sharding-mode=%s: Muster does not divide nodes by shards: %s", u.sharding, apart))
	}
	if env("MULTI_SCHEDULER_ENABLE") == "true" {
		errs = append(errs, fmt.Errorf("MULTI_SCHEDULER_ENABLE=true: Muster does not divide gangs and nodes among replicas: %s", apart))
	}
	return errors.Join(errs...)
}

// sayIdle says which of the flags given mean nothing here.
func (u *upstream) sayIdle(log logr.Logger) {
	for _, said := range u.idle {
		log.Info("a setting has no effect", "said", said)
	}
}

// idleFlag is flags of one kind that mean nothing here, for one reason.
type idleFlag struct {
	kind    string // as pflag calls it
	because string
	names   []string
}

func idleFlags() []idleFlag {
	return []idleFlag{
		{"duration", "a cycle starts when something has changed", []string{"schedule-period"}},
		{"duration", "watches are kept, and nothing is listed again that did not break", []string{"resync-period", "resource-sync-timeout"}},
		{"string", "the API server gives PodGroups that name no queue the queue default", []string{"default-queue"}},
		{"int", "write percentageOfNodesToScore in the configuration; nodes beyond it are used last, never left out", []string{"percentage-nodes-to-find", "minimum-percentage-nodes-to-find", "minimum-feasible-nodes"}},
		{"int", "one goroutine owns all nodes, and gates open as fast as the API server lets them", []string{"node-worker-threads", "gate-removal-worker-num"}},
		{"bool", "priority classes count as far as the plugin priority is configured", []string{"priority-class"}},
		{"bool", "the capacity of storage counts where drivers tell it", []string{"csi-storage"}},
		{"string", "volumes of all provisioners count", []string{"ignored-provisioners"}},
		{"string", "plugins are compiled in: see muster.WithPlugin", []string{"plugins-dir"}},
		{"string", "what upstream's gates switch is there, for those pods and objects that ask for it", []string{"feature-gates"}},
		{"string", "health is served in the clear", []string{"ca-cert-file", "tls-cert-file", "tls-private-key-file"}},
		{"string", "no shard is looked at", []string{"scheduler-sharding-name"}},
		{"string", "it follows from --leader-elect-lease-duration, and each part of the process has its own lease", []string{"leader-elect-renew-deadline", "leader-elect-retry-period", "leader-elect-resource-lock", "leader-elect-resource-name"}},
		{"bool", "logs go to the standard error", []string{"logtostderr", "alsologtostderr", "skip_headers", "skip_log_headers", "add_dir_header", "one_output"}},
		{"string", "logs go to the standard error, by --log-level", []string{"vmodule", "stderrthreshold", "log_dir", "log_file", "log_file_max_size", "log_backtrace_at", "log-flush-frequency"}},
	}
}

// ignored is the value of a flag that means nothing here.
type ignored struct {
	by   *upstream
	said string
	kind string
}

// Set notes that the flag was given.
func (v *ignored) Set(string) error {
	if !slices.Contains(v.by.idle, v.said) {
		v.by.idle = append(v.by.idle, v.said)
	}
	return nil
}

// Type is what kind of value it takes.
func (v *ignored) Type() string { return v.kind }

// String is empty: there is no value.
func (*ignored) String() string { return "" }
