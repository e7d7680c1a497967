package sim_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/sim"
)

// TestScripts runs every script of testdata. With -update it rewrites what they print.
func TestScripts(t *testing.T) {
	update := flag.Lookup("update").Value.(flag.Getter).Get().(bool)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := sim.New(conf.Default(), plugins.Builtin())
			if err != nil {
				t.Fatal(err)
			}
			blocks, err := sim.Run(s, sim.Parse(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			got := sim.Format(blocks)
			if update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("run with -update to accept:\n%s", diff)
			}
		})
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite what the scripts print")
	flag.Parse()
	os.Exit(m.Run())
}

func TestUnknownCommandsAreNamed(t *testing.T) {
	s, err := sim.New(conf.Default(), plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"nod n1", "node n1 cpu=x", "gone cat n1", "run nobody", "after soon", "node n1 taint=a"} {
		if _, err := s.Do(line); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
}
