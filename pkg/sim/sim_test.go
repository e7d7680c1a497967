package sim_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
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

// TestUnknownWordsAreNamed has scripts say what means nothing where it stands.
func TestUnknownWordsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"gang g mim=2":                          `key "mim" is unknown; did you mean "min"?`,
		"node n1 gpus=8":                        `key "gpus" is unknown; did you mean "gpu"?`,
		"node n1 cordened":                      `word "cordened" is unknown; did you mean "cordoned"?`,
		"queue q guarantee.gpus=8":              `guarantee.gpus=: resource "gpus" is unknown; did you mean "gpu"?`,
		"queue q garantee.gpu=8":                `key "garantee.gpu" is unknown`,
		"tasks g worker 2 slect=a:b":            `key "slect" is unknown; did you mean "select"?`,
		"pod p priority=3":                      `key "priority" is unknown; there are node, select, tolerate, cpu, memory, pods, gpu`,
		"claim c class=gpu capacty.memory=40Gi": `key "capacty.memory" is unknown`,
		"node n1 cpu=9300000000000000":          "cpu=9300000000000000: too much to count",
		"node n1 memory=9000000Ti":              "memory=9000000Ti: too much to count",
	} {
		s, err := sim.New(conf.Default(), plugins.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		_, err = sim.Run(s, sim.Parse(line))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}
