package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func saved(t *testing.T, text string) output {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const engineOutput = `goos: linux
cpu: Some Processor
BenchmarkGrowthNodes/100-2   	 10	 500 ns/op	 1000 ns/cycle
BenchmarkGrowthNodes/1000-2  	 10	 500 ns/op	 3162.3 ns/cycle
BenchmarkGrowthNodes/10000-2 	 10	 500 ns/op	 10000 ns/cycle
BenchmarkGrowthPods/1k-2     	 10	 500 ns/op	 1000 ns/cycle
BenchmarkGrowthPods/5k-2     	 10	 500 ns/op	 5000 ns/cycle
BenchmarkThousandGangs/classes=1-2 	 1	 500 ns/op	 99999 placements/s
BenchmarkThousandGangs/classes=1-2 	 1	 500 ns/op	 200000 placements/s
BenchmarkThousandGangs/classes=1-2 	 1	 500 ns/op	 150000 placements/s
BenchmarkParked/gangs=0/unrelated-2 	 1	 500 ns/op	 1000 ns/cycle
BenchmarkParked/gangs=10000/unrelated-2 	 1	 500 ns/op	 3001000 ns/cycle
PASS
`

func TestTheSlopeIsTheExponentOfGrowth(t *testing.T) {
	g := growths(saved(t, engineOutput))
	for i, want := range []float64{0.5, 1} {
		if got := g[i].slope(); math.Abs(got-want) > 0.001 {
			t.Errorf("growth with %s has slope %v, want %v", g[i].what, got, want)
		}
	}
	if got := (growth{}).slope(); !math.IsNaN(got) {
		t.Errorf("slope of nothing is %v", got)
	}
}

func TestTablesShowMediansAndWhetherTargetsAreMet(t *testing.T) {
	o := saved(t, engineOutput)
	for _, want := range []string{
		"| 1,000 gangs × 100 equal tasks on 10,000 nodes | 150,000 placements/s | ≥ 100,000 placements/s | met |",
		"| 10,000 parked gangs add to a cycle in which a pod starts | 3 ms | ≤ 1 ms | **missed** |",
		"| memory of a pod in the model | not measured | ≤ 4,096 B/pod | |",
		"On Some Processor.",
	} {
		if got := engineTable(o); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got, want := growthTable(growths(o)), "| nodes | 100 | 1,000 | 10,000 | slope |\n|---|---:|---:|---:|---:|\n| cycle | 1 µs | 3.16 µs | 10 µs | 0.50 |\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	cluster := saved(t, "cpu: X\nBenchmarkBurst/gangs=5x1 1 2 s 1000 bind/s 1100 alone-bind/s\n"+
		"BenchmarkBurst/gangs=5x1 1 2 s 1234 bind/s 1300 alone-bind/s\nBenchmarkBurst/gangs=5x1/ratio 1 0.7 of-raw\nBenchmarkBurst/gangs=5x1/ratio 1 0.9 of-raw\n")
	if got, want := clusterTable(cluster), "| Burst/gangs=5x1 | 1,234 | 1,300 | 0.8 | | | | | | | | 2 |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", got, want)
	}
}

func TestThePlotIsXMLAndKeepsToItsPanels(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(plot(growths(saved(t, engineOutput)))))
	circles := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 5 {
		t.Errorf("%d points are drawn, want 5", circles)
	}
}

func TestATableGoesBetweenItsComments(t *testing.T) {
	got, err := fill("a\n<!-- generated:x -->\nold\n<!-- /generated -->\nz\n", "x", "| new |\n")
	if want := "a\n<!-- generated:x -->\n\n| new |\n\n<!-- /generated -->\nz\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := fill("a", "x", ""); err == nil {
		t.Error("a page without a place for the table was taken")
	}
}
