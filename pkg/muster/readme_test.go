package muster

import (
	"os"
	"strings"
	"testing"

	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
)

// readme is the block of README.md that has a text in it.
func readme(t *testing.T, has string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(text), "```") {
		if i%2 == 1 && strings.Contains(block, has) {
			_, block, _ = strings.Cut(block, "\n") // what language it is in
			return block
		}
	}
	t.Fatalf("no block of README.md has %q", has)
	return ""
}

func TestTheReadmesConfigurationCanBeUsed(t *testing.T) {
	if _, err := conf.Parse([]byte(readme(t, "actions:")), actions.Builtin(), (&guests{}).registry(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestTheReadmesSimulationSaysWhatItSays(t *testing.T) {
	figures := readme(t, "deadlines met")
	command := strings.Fields(strings.ReplaceAll(readme(t, "muster simulate"), "\\\n", " "))
	var args []string
	for i, word := range command {
		if word == "simulate" {
			args = command[i+1:]
		}
	}
	t.Chdir(simulated)
	for i, arg := range args {
		if arg == "report" {
			args[i] = t.TempDir()
		}
	}
	out, _, err := simulateWith(t, &guests{}, args...)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(figures) {
		if !strings.Contains(out, "\n"+line) {
			t.Errorf("it does not say %q:\n%s", line, out)
		}
	}
}
