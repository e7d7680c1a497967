package muster

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/muster-sh/muster/pkg/manifests"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

func TestGeneratedFilesAreFresh(t *testing.T) {
	const root = "../.."
	files, err := manifests.Files(root, generated())
	if err != nil {
		t.Fatal(err)
	}
	stale, err := manifests.Stale(root, files)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("stale: %s; run `make generate`", strings.Join(stale, ", "))
	}
}

func TestWrongFlagsAreAllNamed(t *testing.T) {
	cmd := root(&guests{})
	cmd.SetArgs([]string{"scheduler", "--bind-workers=-1", "--kube-api-qps=NaN", "--shutdown-timeout=0s", "--scheduler-name=", "--leader-elect-lease-duration=1s", "--scheduler-conf-configmap=x", "--scheduler-name=a,a", "--node-selector=k:v,k:v"})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("wrong flags were accepted")
	}
	for _, flag := range []string{"--bind-workers=-1", "--kube-api-qps=NaN", "--shutdown-timeout=0s", "--scheduler-name", "--leader-elect-lease-duration=1s", "--scheduler-conf-configmap=x", "--scheduler-name=a is given twice", "--node-selector=k:v is given twice"} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("%v does not name %s", err, flag)
		}
	}
}

// TestUpstreamsFlagsStartMuster: its manifests name them; those that count do, those that
// can't are said, and what must not be ignored is refused.
func TestUpstreamsFlagsStartMuster(t *testing.T) {
	read := func(args ...string) *settings {
		s := &settings{}
		f := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
		s.register(f, parts{scheduler: true})
		if err := f.Parse(args); err != nil {
			t.Fatal(err)
		}
		s.upstream.apply(s, f)
		return s
	}
	none := func(string) string { return "" }
	s := read("--logtostderr", "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf", "--enable-healthz=true", "--enable-metrics=true",
		"--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=2000", "--schedule-period=1s", "--node-worker-threads", "20", "-v=3",
		"--listen-address=:9090", "--healthz-address=:9091", "--enable-pprof", "--leader-elect-resource-namespace=ns", "--master=https://api:6443", "--csi-storage", "--feature-gates=A=true,B=false")
	if err := errors.Join(s.validate(), s.upstream.validate(s, none)); err != nil {
		t.Error(err)
	}
	got := []any{s.metrics, s.health, s.profile, s.leaseNamespace, s.upstream.master, s.logs.level, s.elect, s.upstream.dumper}
	if diff := cmp.Diff([]any{":9090", ":9091", true, "ns", "https://api:6443", "debug", false, true}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var said []string
	for _, text := range s.upstream.idle {
		flag, _, _ := strings.Cut(text, " has no effect here: ")
		said = append(said, flag)
	}
	if diff := cmp.Diff([]string{"--logtostderr", "--schedule-period", "--node-worker-threads", "--csi-storage", "--feature-gates"}, said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	s = read("--enable-healthz=false", "--enable-metrics=false", "-v=4", "--log-level=warn", "--cache-dumper=false")
	if s.metrics+s.health != "" || s.logs.level != "warn" || s.upstream.dumper {
		t.Errorf("%+v", s)
	}
	s = read("--disable-default-scheduler-config", "--scheduler-sharding-mode=hard")
	err := s.upstream.validate(s, func(key string) string { return map[string]string{"MULTI_SCHEDULER_ENABLE": "true"}[key] })
	for _, want := range []string{"--disable-default-scheduler-config: give", "--scheduler-sharding-mode=hard", "MULTI_SCHEDULER_ENABLE=true"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// TestWithoutUpstreamsFlagsAllIsAsOurs, in every part.
func TestWithoutUpstreamsFlagsAllIsAsOurs(t *testing.T) {
	for _, p := range []parts{{scheduler: true}, {controllers: true}} { // none of them given
		s := &settings{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.register(f, p)
		s.upstream.apply(s, f)
		if err := s.upstream.validate(s, func(string) string { return "" }); err != nil || s.metrics == "" || s.health == "" {
			t.Errorf("%+v: %v, metrics at %q, health at %q", p, err, s.metrics, s.health)
		}
	}
}

func TestLogSettingsNameWhatIsWrong(t *testing.T) {
	for _, s := range []logSettings{{"loud", "text"}, {"info", "xml"}} {
		if _, err := s.handler(io.Discard); err == nil || !strings.Contains(err.Error(), "give ") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestTheDefaultConfigurationIsPrinted(t *testing.T) {
	cmd := root(&guests{})
	var out strings.Builder
	cmd.SetArgs([]string{"scheduler", "--print-default-conf"})
	cmd.SetOut(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := conf.Parse([]byte(out.String()), actions.Builtin(), (&guests{}).registry(t.Context())); err != nil {
		t.Errorf("what is printed can't be read: %v", err)
	}
}

func TestAGuestsPluginCanBeConfigured(t *testing.T) {
	g := &guests{plugins: framework.Registry{}}
	WithPlugin("mine", func(framework.Args, framework.Env) (framework.Plugin, error) { return mine{}, nil })(g)
	const text = "tiers: [{plugins: [{name: gang}, {name: mine}]}]\n"
	if _, err := conf.Parse([]byte(text), actions.Builtin(), g.registry(t.Context())); err != nil {
		t.Error(err)
	}
}

// mine is a plugin of somebody else.
type mine struct{}

func (mine) Name() string { return "mine" }

// TestASignalDumpsWhatIsKnown into a new file each time, and nothing where that is not wanted.
func TestASignalDumpsWhatIsKnown(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1) // so that one that comes early ends nothing
	defer signal.Stop(signals)
	dir := t.TempDir()
	for _, wanted := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		asked, done := make(chan struct{}, 1), make(chan error, 1)
		dump := func(write func([]byte)) {
			write([]byte("text"))
			asked <- struct{}{}
		}
		go func() { done <- dumps(ctx, dir, wanted, dump) }()
		for n := 0; len(asked) == 0 && (wanted || n < 20); n++ {
			if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			<-signals
		}
		for len(asked) > 0 {
			<-asked
		}
		stop()
		go func() { // it may be about to say so again
			for range asked {
			}
		}()
		if err := <-done; err != nil {
			t.Error(err)
		}
		files, err := os.ReadDir(dir)
		if got := len(files) > 0; err != nil || got != wanted {
			t.Errorf("wanted: %v; a file was written: %v, %v", wanted, got, err)
		}
		close(asked)
	}
}
