package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAPercentileIsAValueThatWasMeasured(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	tests := map[string]struct {
		of   []float64
		p    int
		want float64
	}{
		"half of a hundred":       {hundred, 50, 50},
		"nearly all of a hundred": {hundred, 99, 99},
		"of one":                  {[]float64{7}, 50, 7},
		"of two, nearly all":      {[]float64{7, 9}, 99, 9},
		"of none":                 {nil, 50, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := percentile(tt.of, tt.p); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOnlyARatioOutsideItsRangeFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ranges.yaml")
	if err := os.WriteFile(path, []byte("burst/a: {min: 0.8, max: 1.1, trials: [0.9, 1.0]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		ratios map[string][]float64
		want   string // in the error; empty: none
	}{
		"in the middle":               {map[string][]float64{"burst/a": {0.1, 0.85, 1.9}}, ""},
		"below":                       {map[string][]float64{"burst/a": {0.9, 0.7, 0.72}}, "burst/a: 0.720 of the raw limit, outside of 0.8 to 1.1"},
		"above: the range is too old": {map[string][]float64{"burst/a": {1.3}}, "outside of 0.8 to 1.1"},
		"one that has no range":       {map[string][]float64{"burst/b": {0.1}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := results{ratios: tt.ratios}
			err := r.compare(path)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTheRangesThatAreKeptCanBeRead(t *testing.T) {
	ranges, err := readRanges("ranges.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range ranges {
		if m := median(b.Trials); m < b.Min || m > b.Max {
			t.Errorf("%s: the median of its own trials is %v, outside of %v to %v", name, m, b.Min, b.Max)
		}
	}
}

func TestLinesAreThoseOfGoBenchmarks(t *testing.T) {
	var out strings.Builder
	newResults(&out).line("burst/gangs=2x8", value{1.23456, "s"}, value{1000, "bind/s"})
	if got, want := out.String(), "BenchmarkBurst/gangs=2x8 1 1.235 s 1000 bind/s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOtherProgramsAreTakenOut(t *testing.T) {
	quiet := speedOf(1000, 2*time.Second, usage{})
	if quiet.clock != 500 || quiet.alone != 500 {
		t.Errorf("on a quiet machine %+v, want 500 both", quiet)
	}
	if busy := speedOf(1000, 2*time.Second, usage{others: 1}); busy.clock != 500 || busy.alone <= 500 {
		t.Errorf("beside others %+v, want 500 by the clock and more alone", busy)
	}
}

func TestFlagsThatCantBeRightAreAllNamed(t *testing.T) {
	o := options{nodes: 1, shapes: []string{"2x8", "x"}, workers: []int{0}, trials: 1, gang: 8, rate: 1, duration: time.Hour}
	_, err := o.check()
	for _, want := range []string{"--gangs=2x8: 1 nodes have room for 8 pods", "--gangs=x: give", "--raw-workers=0", "--arrive-for=1h0m0s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
