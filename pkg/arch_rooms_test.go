package pkg_test

import (
	"path"
	"slices"
	"strings"
)

// module is what all import paths of ours begin with.
const module = "github.com/muster-sh/muster"

// room is a row of the import table: what lives in some folders, and what they may import.
type room struct {
	dirs    []string // patterns of folders
	pure    bool     // decides from what it is handed: no clock, chance, goroutine, global, log or API
	ours    []string // patterns of our folders that it may import
	outside []string // prefixes of import paths that it may import beyond the standard library
	why     string   // why no more
}

// rooms is the import table. The first row that fits a folder counts.
func rooms() []room {
	apis := []string{"apis", "apis/*/*"}
	ground := slices.Concat(apis, []string{"pkg/quota", "pkg/reason", "pkg/resource"})
	arithmetic := []string{"pkg/quota", "pkg/reason", "pkg/resource"}
	framework := slices.Concat(arithmetic, []string{"pkg/model", "pkg/scheduler/framework"})
	engine := slices.Concat(framework, []string{"pkg/scheduler/engine"})
	decides := slices.Concat(framework, []string{"pkg/fault", "pkg/scheduler/pack", "pkg/scheduler/victims"})
	wholeEngine := slices.Concat(engine, []string{"pkg/scheduler/actions", "pkg/scheduler/actions/*", "pkg/scheduler/plugins", "pkg/scheduler/plugins/*"})
	data := []string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/component-helpers/"}
	edge := []string{
		"k8s.io/", "sigs.k8s.io/", "github.com/go-logr/logr", "golang.org/x/sync/", "github.com/kubeflow/",
	}
	return []room{
		{dirs: []string{"pkg/resource", "pkg/reason", "pkg/dag", "pkg/fault"}, pure: true, why: "arithmetic and words that anything may use"},
		{dirs: []string{"pkg/quota"}, pure: true, ours: []string{"pkg/resource"}, why: "the sums of a queue, which plugins, status, webhook and command line share"},
		{dirs: []string{"pkg/timetable"}, pure: true, outside: []string{"github.com/robfig/cron/v3"}, why: "when something is due, for whoever asks: controllers, and who checks a schedule"},
		{dirs: apis, pure: true, ours: apis, outside: []string{"k8s.io/api/", "k8s.io/apimachinery/"}, why: "the wire; who imports it must not get a client with it"},
		{dirs: []string{"pkg/model"}, pure: true, ours: arithmetic, outside: data, why: "the ledger knows nothing of who decides over it"},
		{dirs: []string{"pkg/scheduler/framework"}, pure: true, ours: slices.Concat(apis, arithmetic, []string{"pkg/fault", "pkg/model"}), outside: data, why: "the contract of plugins, which must fit on a page"},
		{dirs: []string{"pkg/scheduler/engine"}, pure: true, ours: decides, outside: data, why: "the engine knows no plugin and no action by name"},
		{dirs: []string{"pkg/scheduler/pack"}, pure: true, ours: []string{"pkg/resource"}, why: "a search over numbers, which a test can compare with brute force"},
		{dirs: []string{"pkg/scheduler/victims"}, pure: true, ours: framework, outside: data, why: "who gives way, said over the ledger and the votes of plugins; the engine says what is room enough"},
		{dirs: []string{"pkg/scheduler/actions"}, pure: true, ours: []string{"pkg/scheduler/engine", "pkg/scheduler/actions/*"}, why: "a list, nothing else"},
		{dirs: []string{"pkg/scheduler/actions/*"}, pure: true, ours: engine, outside: data, why: "an action works through the cycle it is given, never through another action"},
		{dirs: []string{"pkg/scheduler/plugins"}, pure: true, ours: []string{"pkg/scheduler/framework", "pkg/scheduler/plugins/*"}, why: "a list, nothing else"},
		{dirs: []string{"pkg/scheduler/plugins/extender"}, ours: slices.Concat(apis, framework), outside: data, why: "a plugin that asks an HTTP server; it reads the framework's page like any other"},
		{dirs: []string{"pkg/scheduler/plugins/relations"}, ours: slices.Concat(framework, []string{"pkg/scheduler/plugins/predicates"}), outside: []string{"k8s.io/", "github.com/go-logr/logr"}, why: "quarantine: kube-scheduler's own plugins, which need k8s.io/kubernetes and client-go's listers; cmd puts it in place of the light predicates"},
		{dirs: []string{"pkg/scheduler/plugins/*"}, pure: true, ours: slices.Concat(apis, framework), outside: slices.Concat(data, []string{"github.com/go-logr/logr"}), why: "a plugin reads the framework's page, not the engine and not another plugin; logr only to hand discard to kube-scheduler's helpers"},
		{dirs: []string{"pkg/scheduler/meter"}, ours: framework, outside: slices.Concat(data, []string{"github.com/prometheus/"}), why: "it asks a source of metrics how busy nodes are and tells it as facts; it decides nothing"},
		{dirs: []string{"pkg/scheduler/conf"}, pure: true, ours: slices.Concat(apis, wholeEngine), outside: slices.Concat(data, []string{"go.yaml.in/yaml/v3"}), why: "text to settings; it names plugins and actions"},
		{dirs: []string{"pkg/scheduler/record"}, pure: true, ours: engine, outside: data, why: "what an engine was told and decided, as text; live writes it, a user plays it back"},
		{dirs: []string{"pkg/scheduler/intake"}, pure: true, ours: slices.Concat(apis, engine), outside: data, why: "objects to events, also for a dump of YAML, so without a client"},
		{dirs: []string{"pkg/sim"}, pure: true, ours: slices.Concat(apis, wholeEngine, []string{"pkg/scheduler/conf", "pkg/scheduler/intake"}), outside: data, why: "the engine on virtual time, so without an API server"},
		{dirs: []string{"pkg/simulate"}, pure: true, ours: slices.Concat(apis, engine, []string{"pkg/scheduler/intake"}), outside: slices.Concat(data, []string{"go.yaml.in/yaml/v3"}), why: "a workload on virtual time; configuration, plugins, files and the terminal are handed in"},
		{dirs: []string{"pkg/workload"}, pure: true, ours: apis, outside: data, why: "adapters are tables; a table test needs no API server"},
		{dirs: []string{"integrations"}, pure: true, ours: slices.Concat(apis, []string{"pkg/workload", "integrations/*"}), why: "a list, nothing else"},
		{dirs: []string{"integrations/*"}, pure: true, ours: slices.Concat(apis, []string{"pkg/workload"}), outside: slices.Concat(data, []string{"github.com/kubeflow/"}), why: "a family knows its operator's types and no other family"},
		{dirs: []string{"pkg/jobplugin", "pkg/jobplugin/*"}, pure: true, ours: slices.Concat(apis, []string{"pkg/jobplugin/*"}), outside: slices.Concat(data, []string{"golang.org/x/crypto/"}), why: "a job plugin says what objects it wants; the job controller writes them"},
		{dirs: []string{"examples/jobplugin"}, pure: true, ours: slices.Concat(apis, []string{"pkg/jobplugin", "pkg/jobplugin/*"}), outside: data, why: "what docs/plugins.md shows, as a guest would write it"},
		{dirs: []string{"pkg/outcome"}, ours: ground, outside: edge, why: "the one room that carries out what steps decide"},
		{dirs: []string{"pkg/controllers"}, ours: slices.Concat(ground, []string{"integrations", "pkg/workload", "pkg/controllers/*"}), outside: edge, why: "a list with what each entry may do"},
		{dirs: []string{"pkg/controllers/*"}, ours: slices.Concat(ground, []string{"pkg/workload", "pkg/outcome", "pkg/dag", "pkg/jobplugin", "pkg/timetable"}), outside: edge, why: "the towers meet in the API server; controllers do not know each other"},
		{dirs: []string{"pkg/scheduler/live"}, ours: slices.Concat(apis, engine, []string{"pkg/scheduler/conf", "pkg/scheduler/intake", "pkg/scheduler/record"}), outside: slices.Concat(edge, []string{"github.com/fsnotify/"}), why: "watches, writes and the loop; it decides nothing"},
		{dirs: []string{"pkg/metrics"}, ours: slices.Concat(ground, engine, []string{"pkg/scheduler/live"}), outside: []string{"github.com/prometheus/"}, why: "it shows what live counted"},
		{dirs: []string{"pkg/admission"}, ours: slices.Concat(ground, []string{"pkg/workload", "integrations"}), outside: edge, why: "HTTP around what apis check"},
		{dirs: []string{"pkg/manifests"}, outside: []string{"k8s.io/api/", "sigs.k8s.io/yaml"}, why: "it writes what it is given; cmd walks the lists"},
		{dirs: []string{"pkg/cli"}, ours: slices.Concat(ground, []string{"pkg/sim"}), outside: slices.Concat(edge, []string{"github.com/spf13/"}), why: "it talks to the API server like any user"},
		{dirs: []string{"pkg/testkit"}, ours: slices.Concat(ground, wholeEngine, []string{"pkg/sim", "pkg/workload"}), outside: edge, why: "builders for tests, imported by tests only"},
		{dirs: []string{"pkg/muster"}, ours: []string{"apis", "apis/*/*", "integrations", "pkg/*", "pkg/*/*", "pkg/scheduler/plugins/capacity", "pkg/scheduler/plugins/extender", "pkg/scheduler/plugins/relations"}, outside: slices.Concat(edge, []string{"github.com/spf13/", "github.com/prometheus/"}), why: "flags, wiring and signals; the only room that knows both towers, and a guest's own main function may call it"},
		{dirs: []string{"cmd/*"}, ours: []string{"pkg/muster"}, why: "a main function"},
		{dirs: []string{"test", "test/*", "test/*/*"}, ours: []string{"apis", "apis/*/*", "pkg/*", "pkg/*/*", "pkg/*/*/*", "test/*"}, outside: []string{""}, why: "it looks at the product from outside, and is imported by nothing of it"},
	}
}

// roomOf returns the row for a folder; false when the table has none.
func roomOf(dir string) (room, bool) {
	for _, r := range rooms() {
		if matches(r.dirs, dir) {
			return r, true
		}
	}
	return room{}, false
}

func matches(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, dir)
		return err == nil && ok
	})
}

func hasPrefix(prefixes []string, name string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name+"/", p) })
}

// deepBans returns what a room must not reach over any number of imports, and why.
func deepBans(dir string, pure bool) map[string]string {
	if slices.Contains([]string{"pkg/resource", "pkg/reason", "pkg/dag", "pkg/fault", "pkg/quota"}, dir) {
		return map[string]string{"": "it is to build with the standard library alone"}
	}
	if !pure {
		return nil
	}
	const client = "who decides must not be able to call an API"
	return map[string]string{
		"k8s.io/client-go/":                          client,
		"sigs.k8s.io/controller-runtime/pkg/client/": client,
		"k8s.io/kubernetes/":                         "it is big, and the simulator and every unit test would build it",
		"github.com/prometheus/":                     "metrics are collected outside, from the report",
	}
}

// directBans returns what pure rooms must not import themselves. Deep bans can't
// say this, since k8s.io/api reaches all of it.
func directBans() map[string]string {
	return map[string]string{
		"net":             "who decides talks to nobody",
		"net/http":        "who decides talks to nobody",
		"os":              "who decides reads no files and no environment",
		"os/exec":         "who decides starts nothing",
		"log":             "decisions and reasons are data; the edge logs them",
		"log/slog":        "decisions and reasons are data; the edge logs them",
		"k8s.io/klog/v2":  "decisions and reasons are data; the edge logs them",
		"math/rand":       "the same facts give the same decisions",
		"math/rand/v2":    "the same facts give the same decisions",
		"crypto/rand":     "the same facts give the same decisions",
		"sync":            "one goroutine owns what a pure room works on",
		"sync/atomic":     "one goroutine owns what a pure room works on",
		"context":         "what takes no time can't be cancelled",
		"testing":         "tests live in test files",
		"unsafe":          "it is never needed to decide",
		"runtime/debug":   "who decides does not look at the process",
		"runtime/metrics": "who decides does not look at the process",
	}
}
