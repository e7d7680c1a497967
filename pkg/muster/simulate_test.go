package muster

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

const simulated = "../../examples/simulate/"

// simulateWith runs the command, and returns what it printed and told besides.
func simulateWith(t *testing.T, g *guests, args ...string) (out, errs string, err error) {
	t.Helper()
	return simulateUntil(t.Context(), g, args...)
}

// simulateUntil is the same, until the context ends.
func simulateUntil(ctx context.Context, g *guests, args ...string) (out, errs string, err error) {
	cmd := root(g)
	var stdout, stderr strings.Builder
	cmd.SetArgs(append([]string{"simulate"}, args...))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	err = cmd.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// files are all files below a folder with what they hold.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConfigurationsAreSimulatedSideBySideAndWrittenAlikeEachTime(t *testing.T) {
	var texts [2]string
	var written [2]map[string]string
	for i := range texts {
		dir := t.TempDir()
		out, errs, err := simulateWith(t, &guests{}, "--cluster", simulated+"cluster.yaml", "--workload", simulated+"workload.csv",
			"--compare", simulated+"borrow.conf,"+simulated+"reclaim.conf,default", "--out", dir)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(errs, "simulated in ") {
			t.Errorf("stderr is %q", errs)
		}
		texts[i], written[i] = strings.ReplaceAll(out, dir, "DIR"), files(t, dir)
	}
	want := []string{"report.html", "summary.json"}
	for _, name := range []string{"borrow", "reclaim", "default"} {
		want = append(want, name+"/gpus.svg", name+"/jobs.csv", name+"/queues.csv", name+"/usage.csv")
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(written[0])); !slices.Equal(got, want) {
		t.Errorf("wrote %v, want %v", got, want)
	}
	if texts[0] != texts[1] || !maps.Equal(written[0], written[1]) {
		t.Error("the same input gave other bytes")
	}
	page := written[0]["report.html"]
	if strings.Count(page, "<svg") != 3 || strings.Contains(page, " src=") || strings.Contains(page, " href=") {
		t.Error("the page lacks pictures, or needs something else than itself")
	}
	if written[0]["borrow/jobs.csv"] == written[0]["reclaim/jobs.csv"] {
		t.Error("jobs go the same way with and without reclaim")
	}
}

func TestNothingIsWrittenOfWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out := filepath.Join(dir, "out")
	_, _, err := simulateWith(t, &guests{}, "--cluster", write("c.yaml", "nodes: [{name: n, resources: {gpu: x}}]\n"), "--workload", write("w.csv", "submit,gang,gpus,duration\n0,0,1,1\n"),
		"--compare", write("a.conf", "actions: allocate, preemt\n")+","+filepath.Join(dir, "none.conf"), "--scheduler-conf", "x", "--out", out)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{"c.yaml:1: nodes[0].resources.gpu", "w.csv:2: column gang", "a.conf: line 1: ", "none.conf", "--scheduler-conf, --compare: give one of them"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
	if _, _, err := simulateWith(t, &guests{}); err == nil || !strings.Contains(err.Error(), "--cluster") || !strings.Contains(err.Error(), "--workload") {
		t.Errorf("without files: %v", err)
	}
	if _, _, err := simulateWith(t, &guests{}, "--out", ""); err == nil || !strings.Contains(err.Error(), "--out is empty: name a folder") {
		t.Errorf("without a folder: %v", err)
	}
}

func TestASimulationEndsWithASignal(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	out, errs, err := simulateUntil(ctx, &guests{}, "--cluster", simulated+"cluster.yaml", "--workload", simulated+"workload.csv")
	if err == nil || out != "" || !strings.HasPrefix(errs, "stopped after ") {
		t.Errorf("it printed %q and %q, and returned %v", out, errs, err)
	}
}

func TestAGuestsPluginIsSimulatedAndAnExtenderIsNotAsked(t *testing.T) {
	g := &guests{plugins: framework.Registry{}}
	WithPlugin("mine", func(framework.Args, framework.Env) (framework.Plugin, error) { return mine{}, nil })(g)
	conf := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	text := "tiers: [{plugins: [{name: gang}, {name: predicates}, {name: mine}, {name: extender, arguments: {extender.urlPrefix: \"http://127.0.0.1:1\"}}]}]\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := simulateWith(t, g, "--cluster", simulated+"cluster.yaml", "--workload", simulated+"workload.csv", "--scheduler-conf", conf); err != nil {
		t.Error(err)
	}
}
