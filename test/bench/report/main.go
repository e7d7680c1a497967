// Command report turns saved benchmark output, docs/bench/*.txt, into the tables
// of docs/performance.md and its plot. It measures nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "root of the source tree")
	flag.Parse()
	if err := report(*root); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func report(root string) error {
	engine, errEngine := read(filepath.Join(root, "docs", "bench", "engine.txt"))
	cluster, errCluster := read(filepath.Join(root, "docs", "bench", "cluster.txt"))
	if err := errors.Join(errEngine, errCluster); err != nil {
		return err
	}
	growth := growths(engine)
	page := filepath.Join(root, "docs", "performance.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	next := string(text)
	for name, table := range map[string]string{
		"engine": engineTable(engine), "growth": growthTable(growth), "cluster": clusterTable(cluster),
	} {
		if next, err = fill(next, name, table); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
	}
	if err := os.WriteFile(page, []byte(next), 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "bench", "growth.svg"), []byte(plot(growth)), 0o644); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// fill puts a table between the two comments that mark its place.
func fill(page, name, table string) (string, error) {
	begin, end := "<!-- generated:"+name+" -->\n", "<!-- /generated -->"
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", fmt.Errorf("no place for table %q: it needs a line %q and, after it, %q", name, strings.TrimSpace(begin), end)
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}
