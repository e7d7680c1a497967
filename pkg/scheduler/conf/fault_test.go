package conf_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// tier writes a text with one tier; its plugins begin in line 3.
func tier(plugins ...string) string {
	return "tiers:\n- plugins:\n" + strings.Join(plugins, "")
}

// faulty is a configuration with what is to be said of it, line by line.
type faulty struct {
	text string
	want []string
}

func TestFaultsNameLineValueAndRemedy(t *testing.T) {
	const top = "actions, tiers, configurations, metrics, percentageOfNodesToScore"
	tests := map[string]faulty{
		"nothing":             {"", []string{"the text is empty: write at least one of " + top}},
		"only a remark":       {"# later\n", []string{"the text is empty: write at least one of " + top}},
		"no mapping":          {"- a\n", []string{"line 1: the text is a list: give a mapping with the keys " + top}},
		"a quote left open":   {"actions: allocate\ntiers: \"\n", []string{"line 2: this is no YAML: found unexpected end of stream; mind colons, quotes, tabs and how far lines stand in"}},
		"a line too far left": {tier("  - name: gang\n", "   enableJobOrder: true\n"), []string{"line 4: this is no YAML: did not find expected key; mind colons, quotes, tabs and how far lines stand in"}},
		"a tab":               {"actions: allocate\n\ttiers: x\n", []string{"line 2: this is no YAML: found a tab character that violates indentation; mind colons, quotes, tabs and how far lines stand in"}},
		"a key twice":         {"actions: allocate\n\nactions: enqueue\n", []string{`line 3: mapping key "actions" already defined at line 1: keep one of them`}},
		"two documents":       {"actions: allocate\n---\nactions: enqueue\n", []string{"line 2: a second document begins: keep one"}},

		"an unknown key at the top":   {"action: allocate\n", []string{`line 1: key "action" is unknown; did you mean "actions"?`}},
		"an unknown key of a tier":    {"tiers:\n- plugin: []\n", []string{`line 2: tiers: key "plugin" is unknown; did you mean "plugins"?`}},
		"an unknown action":           {`actions: "enqueue, alocate"`, []string{`line 1: action "alocate" is unknown; did you mean "allocate"?`}},
		"an unknown action in a list": {"actions:\n- enqueue\n- fly\n", []string{`line 3: action "fly" is unknown; there are allocate, backfill, enqueue, gangpreempt, gangreclaim, preempt, reclaim, shuffle`}},
		"no action":                   {"actions: ','\n", []string{`line 1: actions is ",": name at least allocate`}},
		"an action twice":             {`actions: "allocate, enqueue, allocate"`, []string{`line 1: action "allocate" is in line 1 already: keep one of them`}},
		"an action twice in a list":   {"actions:\n- allocate\n- allocate\n", []string{`line 3: action "allocate" is in line 2 already: keep one of them`}},
		"an action without a name":    {`actions: "allocate, ,"`, []string{`line 1: actions is "allocate, ,": one of its names is empty: take a comma away`}},
		"an empty action in a list":   {`actions: [allocate, ""]`, []string{`line 1: actions is a list: one of its names is empty: take a comma away`}},
		"actions that are a mapping":  {"actions: {allocate: true}\n", []string{`line 1: actions is a mapping: give a comma list such as "enqueue, allocate, backfill"`}},
		"an action that is a list":    {"actions: [[allocate]]\n", []string{"line 1: an action is a list: give a name: one of allocate, backfill, enqueue, gangpreempt, gangreclaim, preempt, reclaim, shuffle", "line 1: actions is a list: name at least allocate"}},

		"an unknown plugin":       {tier("  - name: priority\n", "  - name: binpak\n"), []string{`line 4: plugin "binpak" is unknown; did you mean "binpack"?`}},
		"a plugin without a name": {tier("  - arguments: {}\n"), []string{"line 3: a plugin has no name: give name, one of " + strings.Join(names(), ", ")}},
		"a plugin that is a word": {tier("  - gang\n"), []string{`line 3: an item of plugins is "gang": give a mapping with name: a plugin, arguments and switches`}},
		"tiers that are a word":   {"tiers: gang\n", []string{`line 1: tiers is "gang": give a list, each item with plugins`}},
		"an empty tier item":      {"tiers:\n-\n", []string{"line 2: an item of tiers is empty: give a mapping with plugins"}},
		"a plugin twice":          {tier("  - name: gang\n") + "- plugins:\n  - name: gang\n", []string{`line 5: plugin "gang" is in line 3 already: keep one of them`}},

		"an unknown switch":                      {tier("  - name: gang\n", "    enableJobOrdr: true\n"), []string{`line 4: plugin "gang": key "enableJobOrdr" is unknown; did you mean "enableJobOrder"?`}},
		"a switch that is no boolean":            {tier("  - name: gang\n", "    enableJobOrder: maybe\n"), []string{`line 4: plugin "gang": enableJobOrder is "maybe": give true or false`}},
		"a switch that is a list":                {tier("  - name: gang\n", "    enableJobOrder: [true]\n"), []string{`line 4: plugin "gang": enableJobOrder is a list: give true or false`}},
		"an empty switch":                        {tier("  - name: gang\n", "    enableJobOrder:\n"), []string{`line 4: plugin "gang": enableJobOrder is empty: give true or false`}},
		"a hierarchy where there could be none":  {tier("  - name: gang\n", "    enableHierarchy: true\n"), []string{`line 4: plugin "gang": argument "enableHierarchy" is unknown; there are gang-repair-timeout`}},
		"an unknown argument":                    {tier("  - name: gang\n", "  - name: drf\n    arguments:\n      drf.wieght: 5\n"), []string{`line 6: plugin "drf": argument "drf.wieght" is unknown; did you mean "drf.weight"?`}},
		"arguments that are a list":              {tier("  - name: drf\n    arguments:\n    - drf.weight\n"), []string{`line 4: plugin "drf": arguments is a list: give a mapping`}},
		"a negative argument":                    {tier("  - name: binpack\n    arguments:\n      binpack.weight: -1\n"), []string{`line 5: plugin "binpack": argument binpack.weight is "-1": give a whole number of 0 or more`}},
		"an argument of another type":            {tier("  - name: binpack\n    arguments:\n      binpack.weight: [1]\n"), []string{`line 5: plugin "binpack": argument binpack.weight is "[1]": give a whole number of 0 or more`}},
		"an argument within a block":             {tier("  - name: nested\n    arguments:\n      block:\n\n        weight: x\n"), []string{`line 7: plugin "nested": block: argument weight is "x": give a whole number of 0 or more`}},
		"an unknown argument within a block":     {tier("  - name: nested\n    arguments:\n      block: {wait: 1}\n"), []string{`line 5: plugin "nested": block: argument "wait" is unknown; there are weight`}},
		"a block that is none":                   {tier("  - name: nested\n    arguments:\n      block: 7\n"), []string{`line 5: plugin "nested": argument block is "7": give a block of arguments`}},
		"proportion together with capacity":      {tier("  - name: proportion\n", "  - name: capacity\n"), []string{"line 4: plugins proportion (line 3) and capacity (line 4) both divide the cluster among queues: keep one of them"}},
		"proportion with a hierarchy of drf":     {tier("  - name: proportion\n", "  - name: drf\n    enableHierarchy: \"true\"\n"), []string{`line 5: plugin "drf": enableHierarchy is true, and plugin proportion (line 3) divides the cluster among queues as well: set it to false, or remove proportion`}},
		"the same, as drf's argument":            {tier("  - name: drf\n    arguments:\n      drf.enableHierarchy: true\n", "  - name: proportion\n"), []string{`line 5: plugin "drf": enableHierarchy is true, and plugin proportion (line 6) divides the cluster among queues as well: set it to false, or remove proportion`}},
		"too many nodes":                         {"percentageOfNodesToScore: 300\n", []string{`line 1: percentageOfNodesToScore is "300": give a whole number from 0 to 100; 0 means all`}},
		"fewer than no nodes":                    {"percentageOfNodesToScore: -1\n", []string{`line 1: percentageOfNodesToScore is "-1": give a whole number from 0 to 100; 0 means all`}},
		"nodes that are a list":                  {"percentageOfNodesToScore: [1]\n", []string{`line 1: percentageOfNodesToScore is a list: give a whole number from 0 to 100; 0 means all`}},
		"another kind":                           {"apiVersion: kubescheduler.config.k8s.io/v1\nkind: Policy\n", []string{`line 2: kind is "Policy": give KubeSchedulerConfiguration`}},
		"no kind":                                {"apiVersion: kubescheduler.config.k8s.io/v1\n", []string{"line 1: kind is missing: give KubeSchedulerConfiguration"}},
		"another version":                        {"apiVersion: v1\nkind: KubeSchedulerConfiguration\n", []string{`line 1: apiVersion is "v1": give kubescheduler.config.k8s.io/v1`}},
		"more of kube-scheduler's configuration": {"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: []\n", []string{`line 3: key "profiles" is unknown; there are apiVersion, kind, percentageOfNodesToScore; nothing else of a KubeSchedulerConfiguration counts here`}},
		"a whole ConfigMap": {"apiVersion: v1\nkind: ConfigMap\ndata: {}\n", []string{
			`line 2: kind is "ConfigMap": give the text of its key volcano-scheduler.conf alone, or name the ConfigMap with --scheduler-conf-configmap`,
		}},
		"configurations of an unknown action": {"configurations:\n- name: alocate\n", []string{`line 2: configurations: action "alocate" is unknown; did you mean "allocate"?`}},
		"configurations of nobody":            {"configurations:\n- arguments: {}\n", []string{"line 2: configurations: name is missing: give the action that the arguments are for"}},
		"configurations of an action twice":   {"configurations:\n- name: allocate\n- name: allocate\n", []string{`line 3: configurations: action "allocate" is in line 2 already: keep one of them`}},
		"an unknown key of configurations":    {"configurations:\n- name: allocate\n  args: {}\n", []string{`line 3: configurations: key "args" is unknown; there are name, arguments`}},
		"an unknown argument of an action":    {"configurations:\n- name: allocate\n  arguments:\n    cache: 1\n", []string{`line 4: configurations: action "allocate": argument "cache" is unknown; there are predicateErrorCacheEnable`}},
		"an unknown key of metrics":           {"metrics:\n  type: prometheus\n  addrss: x\n", []string{`line 3: metrics: argument "addrss" is unknown; did you mean "address"?`}},
		"metrics of no known type":            {"metrics:\n  type: influx\n", []string{`line 2: metrics: argument type is "influx": give prometheus, prometheus_adaptor or elasticsearch`}},
		"metrics from nowhere":                {"metrics:\n  type: prometheus\n  address: prometheus\n", []string{`line 3: metrics: argument address is "prometheus": give the server's address, such as http://prometheus.monitoring:9090`}},
		"a wrong value within metrics":        {"metrics:\n  tls:\n    insecureSkipVerify: 7\n", []string{`line 3: metrics: argument tls.insecureSkipVerify is "7": give true or false`}},
		"all at once, by line": {"percentageOfNodesToScore: x\n" + tier("  - name: binpack\n    arguments: {binpack.weight: -1, weight: 2}\n", "  - name: gang\n    enableJobOrdr: 1\n") + "actions: fly\n", []string{
			`line 1: percentageOfNodesToScore is "x": give a whole number from 0 to 100; 0 means all`,
			`line 5: plugin "binpack": argument binpack.weight is "-1": give a whole number of 0 or more`,
			`line 5: plugin "binpack": argument "weight" is unknown; there are binpack.resources, binpack.weight`,
			`line 7: plugin "gang": key "enableJobOrdr" is unknown; did you mean "enableJobOrder"?`,
			`line 8: action "fly" is unknown; there are allocate, backfill, enqueue, gangpreempt, gangreclaim, preempt, reclaim, shuffle`,
		}},
	}
	check(t, tests)
}

func TestAListOfResourcesNamesEachOnce(t *testing.T) {
	binpack := func(list string) string {
		return tier("  - name: binpack\n    arguments:\n      binpack.resources: " + list + "\n")
	}
	check(t, map[string]faulty{
		"a name that is empty":   {binpack(`"a/b, ,,"`), []string{`line 5: plugin "binpack": argument binpack.resources is "a/b, ,,": one of its names is empty: take a comma away`}},
		"an empty name in YAML":  {binpack(`[a/b, ""]`), []string{`line 5: plugin "binpack": argument binpack.resources is "[a/b ]": one of its names is empty: take a comma away`}},
		"a name twice":           {binpack("a/b, c/d, a/b"), []string{`line 5: plugin "binpack": argument binpack.resources is "a/b, c/d, a/b": it names a/b twice: name it once`}},
		"a word that is none":    {binpack("gpu"), []string{`line 5: plugin "binpack": argument binpack.resources is "gpu": "gpu" is no resource: give names such as nvidia.com/gpu`}},
		"no value":               {binpack(""), []string{`line 5: plugin "binpack": argument binpack.resources is empty: give a list of resources, such as nvidia.com/gpu, vendor.com/nic`}},
		"a number":               {binpack("7"), []string{`line 5: plugin "binpack": argument binpack.resources is "7": give a list of resources, such as nvidia.com/gpu, vendor.com/nic`}},
		"a list within the list": {binpack("[[a/b]]"), []string{`line 5: plugin "binpack": argument binpack.resources is "[[a/b]]": give a list of resources, such as nvidia.com/gpu, vendor.com/nic`}},
		"another plugin's list": {tier("  - name: resource-strategy-fit\n    arguments:\n      sra:\n        resources: \"a/b,\"\n"), []string{
			`line 6: plugin "resource-strategy-fit": sra: argument resources is "a/b,": one of its names is empty: take a comma away`,
		}},
		"a text without a value": {"metrics:\n  type:\n", []string{`line 2: metrics: argument type is empty: give a text`}},
	})
}

func check(t *testing.T, tests map[string]faulty) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tt.text)
			faults, ok := errors.AsType[conf.Faults](err)
			if !ok {
				t.Fatalf("got %v, want faults", err)
			}
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), faults.Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestFaultsCanBeAskedForTheirKind(t *testing.T) {
	_, err := parse(tier("  - name: binpak\n"))
	if unknown, ok := errors.AsType[*framework.UnknownError](err); !ok || unknown.Near != "binpack" {
		t.Errorf("%v holds %+v", err, unknown)
	}
	_, err = parse(tier(strings.Repeat("  - gang\n", 60)))
	faults, ok := errors.AsType[conf.Faults](err)
	if last := faults[len(faults)-1]; !ok || len(faults) != 51 || last.Error() != "there are 10 more faults" {
		t.Errorf("%d faults, the last is %v", len(faults), last)
	}
}

// names lists the plugins that parse knows.
func names() []string { return slices.Sorted(maps.Keys(registry())) }

func TestFaultsOfLongTextsStayShort(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := map[string]struct{ text, remedy string }{
		"a key":               {long[:1000] + ": 1\n", "percentageOfNodesToScore"},
		"an action":           {"actions: " + long + "\n", "shuffle"},
		"a plugin":            {tier("  - name: " + long + "\n"), "usage"},
		"a value":             {tier("  - name: sla\n", "    arguments: {sla-waiting-time: "+long+"}\n"), "such as 90s or 1h30m"},
		"an argument":         {tier("  - name: sla\n", "    arguments: {"+long[:1000]+": 1}\n"), "there are sla-waiting-time"},
		"a switch":            {tier("  - name: gang\n", "    enableJobOrder: "+long+"\n"), "give true or false"},
		"more than it may be": {"# " + long + long + "\nactions: allocate\n", "give at most 131072"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tt.text)
			if err == nil || len(err.Error()) > 1000 || !strings.HasSuffix(err.Error(), tt.remedy) {
				t.Errorf("%v; want it short, and to end in %q", err, tt.remedy)
			}
		})
	}
}
