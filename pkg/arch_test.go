// Package pkg_test holds the house's rules as tests: which room may import which,
// how big things may get, and what pure rooms must not do.
package pkg_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// theHouse is the tree that this test stands in, read once.
var theHouse = sync.OnceValues(func() (*house, error) { return read("..") })

func here(t *testing.T) *house {
	t.Helper()
	h, err := theHouse()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func report(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) { report(t, here(t).imports()) }

func TestEveryPackageSaysWhatItIsFor(t *testing.T) { report(t, here(t).undocumented()) }

func TestNoStateHidesInPackages(t *testing.T) { report(t, here(t).state()) }

func TestPureRoomsArePure(t *testing.T) { report(t, here(t).impure()) }

func TestNothingOutgrowsItsBudget(t *testing.T) {
	for _, b := range here(t).budgets() {
		for i, s := range b.sizes {
			if s.n > b.max {
				t.Errorf("%s: %d %s, at most %d", s.what, s.n, b.name, b.max)
			} else if i < 5 {
				t.Logf("%s: %d %s, at most %d", s.what, s.n, b.name, b.max)
			}
		}
	}
}

// TestTheRulesBite breaks each rule once, beside a neighbour that keeps it.
func TestTheRulesBite(t *testing.T) {
	const doc = "// Package p is here to be looked at.\n"
	tests := map[string]struct {
		name, text string
		rule       func(*house) []string
		want       string // part of the only finding; empty: none
	}{
		"a room imports a higher one":             {"pkg/model/x.go", doc + `package p; import _ "` + module + `/pkg/scheduler/engine"`, (*house).imports, "pkg/model must not import"},
		"a room imports a lower one":              {"pkg/model/x.go", doc + `package p; import _ "` + module + `/pkg/quota"`, (*house).imports, ""},
		"a plugin imports the engine":             {"pkg/scheduler/plugins/x/x.go", doc + `package p; import _ "` + module + `/pkg/scheduler/engine"`, (*house).imports, "must not import"},
		"a plugin imports another":                {"pkg/scheduler/plugins/x/x.go", doc + `package p; import _ "` + module + `/pkg/scheduler/plugins/gang"`, (*house).imports, "must not import"},
		"somebody imports cmd":                    {"pkg/scheduler/live/x.go", doc + `package p; import _ "` + module + `/cmd/muster"`, (*house).imports, "must not import"},
		"a pure room imports a log":               {"pkg/workload/x.go", doc + `package p; import _ "log/slog"`, (*house).imports, "the edge logs"},
		"a pure room imports a client":            {"pkg/workload/x.go", doc + `package p; import _ "k8s.io/client-go/rest"`, (*house).imports, "must not import"},
		"a step imports a client":                 {"pkg/controllers/x/step.go", doc + `package p; import _ "sigs.k8s.io/controller-runtime/pkg/client"`, (*house).imports, "a step is pure"},
		"a reconciler imports a client":           {"pkg/controllers/x/reconciler.go", doc + `package p; import _ "sigs.k8s.io/controller-runtime/pkg/client"`, (*house).imports, ""},
		"a folder has no room":                    {"pkg/util/x.go", doc + `package p`, (*house).imports, "no room"},
		"a package has no comment":                {"pkg/model/x.go", `package p`, (*house).undocumented, "no package comment"},
		"a package has one":                       {"pkg/model/x.go", doc + `package p`, (*house).undocumented, ""},
		"there is an init":                        {"cmd/muster/x.go", `package p; func init() {}`, (*house).state, "init()"},
		"a pure room has a variable":              {"pkg/quota/x.go", `package p; var cache = map[string]int{}`, (*house).state, "variable cache"},
		"a pure room has an error value":          {"pkg/quota/x.go", `package p; import "errors"; var errFull = errors.New("full")`, (*house).state, ""},
		"a pure room asserts an interface":        {"pkg/quota/x.go", `package p; var _ error = (*e)(nil)`, (*house).state, ""},
		"a pure room reads the clock":             {"pkg/quota/x.go", `package p; import "time"; func f() time.Time { return time.Now() }`, (*house).impure, "time.Now"},
		"a pure room renames the clock":           {"pkg/quota/x.go", `package p; import t "time"; func f() t.Time { return t.Now() }`, (*house).impure, "time.Now"},
		"a pure room is given the time":           {"pkg/quota/x.go", `package p; import "time"; func f(t time.Time) time.Time { return t.Add(time.Hour) }`, (*house).impure, ""},
		"a pure room starts a goroutine":          {"pkg/quota/x.go", `package p; func f() { go f() }`, (*house).impure, "go statement"},
		"a pure room walks over a map":            {"pkg/quota/x.go", `package p; func f(m map[string]int) { for range m {} }`, (*house).impure, "range over a map"},
		"a pure room walks over a named map":      {"pkg/quota/x.go", `package p; type t map[string]int; func f(m t) { for range m {} }`, (*house).impure, "range over a map"},
		"a pure room walks over maps.Keys":        {"pkg/quota/x.go", `package p; import "maps"; func f(m map[string]int) { for range maps.Keys(m) {} }`, (*house).impure, "range over a map"},
		"a pure room sorts what a map has":        {"pkg/quota/x.go", `package p; import "slices"; func f(m map[string]int) (ks []string) { for k := range m { ks = append(ks, k) }; slices.Sort(ks); return ks }`, (*house).impure, ""},
		"a pure room says why order is no matter": {"pkg/quota/x.go", "package p; func f(m map[string]int) (n int) {\n//muster:anyorder a sum\nfor _, v := range m { n += v }; return n }", (*house).impure, ""},
	}
	built := here(t).built
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, err := parse(map[string]string{tt.name: tt.text})
			if err != nil {
				t.Fatal(err)
			}
			h.built = maps.Clone(built)
			delete(h.built, module+"/"+filepath.ToSlash(filepath.Dir(tt.name))) // the real room of that name
			found := tt.rule(h)
			if tt.want == "" && len(found) > 0 {
				t.Errorf("got %q, want nothing", found)
			}
			if tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)) {
				t.Errorf("got %q, want one finding with %q", found, tt.want)
			}
		})
	}
}

// TestDeepImportsAreFound follows a way of imports that no single file shows.
func TestDeepImportsAreFound(t *testing.T) {
	h, err := parse(map[string]string{"pkg/workload/x.go": "// Package p is here to be looked at.\npackage p"})
	if err != nil {
		t.Fatal(err)
	}
	h.built = map[string]pkg{
		module + "/pkg/workload": {Imports: []string{"example.test/nice"}},
		"example.test/nice":      {Imports: []string{"k8s.io/client-go/rest"}},
	}
	want := "pkg/workload reaches example.test/nice → k8s.io/client-go/rest: who decides must not be able to call an API"
	if got := h.imports(); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBudgetsAreMeasured measures a file that has too much of everything.
func TestBudgetsAreMeasured(t *testing.T) {
	body := "package p\nfunc f(a, b, c, d, e, g int) {\n" + strings.Repeat("if a > b && b > c { a++ }\n", 400) + "}\n"
	h, err := parse(map[string]string{"pkg/model/x.go": body})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"lines of a file": 403, "lines of a function": 402, "cyclomatic complexity of a function": 801,
		"parameters of a function": 6, "files of a package": 1, "lines of a test file": 0,
	}
	for _, b := range h.budgets() {
		got := 0
		if len(b.sizes) > 0 {
			got = b.sizes[0].n
		}
		if got != want[b.name] {
			t.Errorf("%s: got %d, want %d", b.name, got, want[b.name])
		}
	}
}

// TestTheImportTableIsInTheDocs keeps docs/architecture.md true. MUSTER_UPDATE=1 writes it.
func TestTheImportTableIsInTheDocs(t *testing.T) {
	name := filepath.Join("..", "docs", "architecture.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- generated:rooms -->\n", "<!-- /generated -->"
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no block %s", name, begin)
	}
	want := importTable()
	if got == want {
		return
	}
	if os.Getenv("MUSTER_UPDATE") == "" {
		t.Fatalf("the import table in %s is stale: run make generate", name)
	}
	if err := os.WriteFile(name, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// importTable writes the table for people.
func importTable() string {
	var b strings.Builder
	b.WriteString("\n| room | | may import of ours | and from outside | because |\n|---|---|---|---|---|\n")
	code := func(patterns []string, none string) string {
		if len(patterns) == 0 {
			return none
		}
		text := "`" + strings.Join(patterns, "` `") + "`"
		return strings.ReplaceAll(text, "``", "anything")
	}
	for _, r := range rooms() {
		mark := "○"
		if r.pure {
			mark = "●"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(r.dirs, ""), mark, code(r.ours, "nothing"), code(r.outside, "standard library"), r.why)
	}
	b.WriteString("\n")
	return b.String()
}
