package muster

import (
	"io"
	"strings"
	"testing"

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
