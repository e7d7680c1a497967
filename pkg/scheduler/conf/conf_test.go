package conf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
)

// standIn is a plugin that can do nothing, with whole numbers for arguments.
type standIn struct{ name string }

func (s standIn) Name() string { return s.name }

// registry has the built-in plugins, and stand-ins for those of them that these
// tests name and that are not there.
func registry() framework.Registry {
	r := plugins.Builtin()
	for name, args := range map[string][]string{
		"conformance": nil, "overcommit": nil, "proportion": nil, "capacity": nil,
		"drf":       {"drf.weight"},
		"nodeorder": {"plugin.weight", "plugin.least-task.weight", "plugin.binpack.weight", "plugin.binpack.nvidia.com/gpu"},
	} {
		if r[name] != nil {
			continue
		}
		r[name] = func(given framework.Args, _ framework.Env) (framework.Plugin, error) {
			reader := given.Read()
			for _, arg := range args {
				reader.Int(arg, 1, 0)
			}
			if name == "drf" {
				reader.Bool("enableHierarchy", false)
				reader.Bool("drf.enableHierarchy", false)
			}
			return standIn{name}, reader.Err()
		}
	}
	// nested has a block of arguments, as some plugins do.
	r["nested"] = func(given framework.Args, _ framework.Env) (framework.Plugin, error) {
		reader := given.Read()
		inner := reader.Map("block").Read()
		inner.Int("weight", 1, 0)
		reader.Inside("block", inner.Err())
		return standIn{"nested"}, reader.Err()
	}
	return r
}

func parse(text string) (engine.Config, error) {
	return conf.Parse([]byte(text), actions.Builtin(), registry())
}

// show writes a configuration so that a test can compare it.
func show(t testing.TB, config engine.Config) string {
	t.Helper()
	text, err := conf.Format(config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatATextSaysIsRead(t *testing.T) {
	standard := conf.Default().Tiers
	tests := map[string]struct {
		text string
		want string // actions
		more engine.Config
	}{
		"only actions, as a comma list":   {`actions: "allocate, enqueue"`, "allocate enqueue", engine.Config{Tiers: standard}},
		"only actions, as a list":         {"actions: [enqueue, allocate]", "enqueue allocate", engine.Config{Tiers: standard}},
		"an empty value counts as absent": {"actions:\ntiers:\n", "enqueue allocate backfill", engine.Config{Tiers: standard}},
		"no plugins at all":               {"tiers: []", "enqueue allocate backfill", engine.Config{}},
		"tiers in order, one of them empty": {
			"tiers:\n- plugins:\n  - name: gang\n  - name: priority\n- plugins:\n- plugins: [{name: binpack}]\n", "enqueue allocate backfill",
			engine.Config{Tiers: [][]engine.PluginConfig{{{Name: "gang"}, {Name: "priority"}}, nil, {{Name: "binpack"}}}},
		},
		"switches, also quoted": {
			"tiers: [{plugins: [{name: gang, enableJobOrder: false, enableJobReady: \"False\", enablePreemptable: true, enableBestNode: false}]}]", "enqueue allocate backfill",
			engine.Config{Tiers: [][]engine.PluginConfig{{{Name: "gang", Off: framework.OrderGangs | framework.AdmitGangs}}}},
		},
		"arguments as they are, numbers also quoted": {
			"tiers: [{plugins: [{name: binpack, arguments: {binpack.weight: 10, binpack.cpu: \"2\"}}]}]", "enqueue allocate backfill",
			engine.Config{Tiers: [][]engine.PluginConfig{{{Name: "binpack", Args: framework.Args{"binpack.weight": 10, "binpack.cpu": "2"}}}}},
		},
		"a hierarchy is an argument": {
			"tiers: [{plugins: [{name: drf, enableHierarchy: true}]}]", "enqueue allocate backfill",
			engine.Config{Tiers: [][]engine.PluginConfig{{{Name: "drf", Args: framework.Args{"enableHierarchy": true}}}}},
		},
		"no hierarchy where there could be none": {
			"tiers: [{plugins: [{name: gang, enableHierarchy: false}]}]", "enqueue allocate backfill",
			engine.Config{Tiers: [][]engine.PluginConfig{{{Name: "gang"}}}},
		},
		"anchors and merged mappings": {
			"tiers:\n- plugins: [&b {name: binpack, arguments: &a {binpack.weight: 3}}]\n- plugins: [{<<: *b, name: gang, arguments: {}}]\n", "enqueue allocate backfill",
			engine.Config{Tiers: [][]engine.PluginConfig{{{Name: "binpack", Args: framework.Args{"binpack.weight": 3}}}, {{Name: "gang"}}}},
		},
		"a part of the nodes":                     {"percentageOfNodesToScore: 30", "enqueue allocate backfill", engine.Config{Tiers: standard, NodesToScorePercent: 30}},
		"a part of the nodes, quoted":             {"percentageOfNodesToScore: '30'", "enqueue allocate backfill", engine.Config{Tiers: standard, NodesToScorePercent: 30}},
		"a KubeSchedulerConfiguration":            {"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 5\n", "enqueue allocate backfill", engine.Config{Tiers: standard, NodesToScorePercent: 5}},
		"configurations and metrics are accepted": {"configurations: [{name: allocate, arguments: {predicateErrorCacheEnable: \"false\"}}]\nmetrics: {type: prometheus, address: 'http://p:9090', interval: 30s, tls: {insecureSkipVerify: true}, elasticsearch.index: x}\n", "enqueue allocate backfill", engine.Config{Tiers: standard, Metrics: framework.Metrics{Type: "prometheus", Address: "http://p:9090", Interval: 30 * time.Second, Insecure: true, Index: "x", HostField: "host.hostname"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range got.Actions {
				names = append(names, a.Name())
			}
			got.Actions, got.Idle = nil, nil
			if diff := cmp.Diff(tt.want, strings.Join(names, " ")); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.more, got, equateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// equateEmpty takes a list without items for one that is not there.
func equateEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) && strings.HasPrefix(fmt.Sprint(a), "[]") }, cmp.Ignore())
}

func TestSeedConfigurationsLoad(t *testing.T) {
	const dir = "../../../../shared/seed-manifests"
	tests := map[string]struct {
		actions, plugins string
		percent          int
	}{
		"05-scheduler-conf-binpack.yaml":          {"enqueue, allocate, backfill", "priority, gang, conformance, binpack", 0},
		"06-scheduler-conf-drf.yaml":              {"enqueue, allocate, backfill", "drf", 0},
		"15-scheduler-conf-backfill.yaml":         {"enqueue, allocate, backfill", "", 0},
		"16-scheduler-conf-nodeorder.yaml":        {"", "priority, gang, nodeorder", 0},
		"27-scheduler-conf-ha.yaml":               {"enqueue, allocate, backfill", "priority, gang, conformance, binpack", 0},
		"28-configmap-percentage-of-nodes.yaml":   {"", "", 30},
		"the default, as users would write it":    {"enqueue, allocate, backfill", "priority, gang, conformance, overcommit, drf, predicates, proportion, nodeorder, binpack, network-topology-aware", 0},
		"the default's text under another .conf ": {"enqueue, allocate, backfill", "priority, gang, conformance, overcommit, drf, predicates, proportion, nodeorder, binpack, network-topology-aware", 0},
	}
	fallback := conf.Summary(conf.Default())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data := map[string]string{"a.conf": conf.DefaultText()}
			if strings.HasSuffix(name, ".yaml") {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if os.IsNotExist(err) {
					t.Skipf("the seed manifests are not in %s", dir)
				}
				var configMap struct{ Data map[string]string }
				if err := yaml.Unmarshal(text, &configMap); err != nil {
					t.Fatal(err)
				}
				data = configMap.Data
			}
			got, err := conf.FromConfigMap(data, actions.Builtin(), registry())
			if err != nil {
				t.Fatal(err)
			}
			summary := conf.Summary(got)
			gotActions, gotPlugins, _ := strings.Cut(summary, "; plugins ")
			wantActions, wantPlugins, _ := strings.Cut(fallback, "; plugins ")
			if tt.actions != "" {
				wantActions = "actions " + tt.actions
			}
			if tt.plugins != "" {
				wantPlugins = tt.plugins
			}
			if gotActions != wantActions || gotPlugins != wantPlugins || got.NodesToScorePercent != tt.percent {
				t.Errorf("got %s, %d%%; want %s; plugins %s, %d%%", summary, got.NodesToScorePercent, wantActions, wantPlugins, tt.percent)
			}
			if _, err := engine.New(got, registry()); err != nil {
				t.Errorf("the engine refuses it: %v", err)
			}
		})
	}
}

func TestAConfigMapNamesItsText(t *testing.T) {
	const kube = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: "
	tests := map[string]struct {
		data    map[string]string
		percent int
		want    string // the error
	}{
		"the main key before others":   {map[string]string{"volcano-scheduler.conf": "percentageOfNodesToScore: 1", "a.conf": "x"}, 1, ""},
		"any one key that ends so":     {map[string]string{"volcano-scheduler-ci.conf": "percentageOfNodesToScore: 2", "README": "x"}, 2, ""},
		"a number for kube-scheduler":  {map[string]string{"volcano-scheduler-kubeconfig": kube + "30"}, 30, ""},
		"that number beside the rest":  {map[string]string{"volcano-scheduler.conf": "actions: allocate", "volcano-scheduler-kubeconfig": kube + "30"}, 30, ""},
		"none of the keys":             {map[string]string{"b": "", "a": ""}, 0, "the ConfigMap has the keys a, b: give it the key volcano-scheduler.conf"},
		"no keys":                      {nil, 0, "the ConfigMap has no keys: give it the key volcano-scheduler.conf"},
		"two that could be it":         {map[string]string{"b.conf": "", "a.conf": ""}, 0, "the ConfigMap has the keys a.conf, b.conf: name the one that counts volcano-scheduler.conf"},
		"faults of both name the keys": {map[string]string{"volcano-scheduler.conf": "\nactions: alocate", "volcano-scheduler-kubeconfig": kube + "101"}, 0, "volcano-scheduler.conf: line 2: action \"alocate\" is unknown; did you mean \"allocate\"?\nvolcano-scheduler-kubeconfig: line 3: percentageOfNodesToScore is \"101\": give a whole number from 0 to 100; 0 means all"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := conf.FromConfigMap(tt.data, actions.Builtin(), registry())
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tt.want || got.NodesToScorePercent != tt.percent {
				t.Errorf("got %d%%, error %q; want %d%%, %q", got.NodesToScorePercent, text, tt.percent, tt.want)
			}
		})
	}
}

func TestTheDefaultIsAsItIsWritten(t *testing.T) {
	written, err := parse(conf.DefaultText())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(show(t, conf.Default()), show(t, written)); diff != "" {
		t.Errorf("-default +its text:\n%s", diff)
	}
}
