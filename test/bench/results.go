package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// value is a number with its unit.
type value struct {
	n    float64
	unit string
}

// results prints what was measured, in the lines of Go's benchmarks, and keeps
// the ratios to compare them with their ranges.
type results struct {
	out    io.Writer
	ratios map[string][]float64 // by name, one for each trial
}

func newResults(out io.Writer) *results { return &results{out: out, ratios: map[string][]float64{}} }

// header says where it was measured.
func (r *results) header() {
	fmt.Fprintf(r.out, "goos: %s\ngoarch: %s\npkg: github.com/muster-sh/muster/test/bench\ncpu: %s, %d cores\n",
		runtime.GOOS, runtime.GOARCH, processor(), runtime.NumCPU())
}

// processor is the model of the machine's processors.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown"
}

// line prints one trial of one benchmark.
func (r *results) line(name string, values ...value) {
	var text strings.Builder
	fmt.Fprintf(&text, "Benchmark%s%s 1", strings.ToUpper(name[:1]), name[1:])
	for _, v := range values {
		fmt.Fprintf(&text, " %.4g %s", v.n, v.unit)
	}
	fmt.Fprintln(r.out, text.String())
}

// ratio prints how much of the raw limit was reached, and keeps the one that
// other programs did not disturb.
func (r *results) ratio(name string, alone, clock float64) {
	r.line(name+"/ratio", value{alone, "of-raw"}, value{clock, "of-raw-by-clock"})
	r.ratios[name] = append(r.ratios[name], alone)
}

// bounds is the range of a ratio and the trials it was taken from.
type bounds struct {
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Trials []float64 `json:"trials"`
}

func readRanges(path string) (map[string]bounds, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--ranges: %w", err)
	}
	ranges := map[string]bounds{}
	if err := yaml.UnmarshalStrict(text, &ranges); err != nil {
		return nil, fmt.Errorf("--ranges=%s: %w", path, err)
	}
	return ranges, nil
}

// compare fails when the median of a ratio's trials is outside its range.
func (r *results) compare(path string) error {
	ranges, err := readRanges(path)
	if err != nil {
		return err
	}
	var errs []error
	for name, trials := range r.ratios {
		b, ok := ranges[name]
		if !ok {
			say("%s has no range in %s; its trials are %.3f", name, path, trials)
			continue
		}
		if m := median(trials); m < b.Min || m > b.Max {
			errs = append(errs, fmt.Errorf("%s: %.3f of the raw limit, outside of %v to %v in %s; trials %.3f, the range is from %.3f",
				name, m, b.Min, b.Max, path, trials, b.Trials))
		}
	}
	return errors.Join(errs...)
}

// median is the middle one; of two that are in the middle, the lower.
func median(trials []float64) float64 {
	return percentile(slices.Sorted(slices.Values(trials)), 50)
}
