package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// output is saved benchmark output: what was measured, by benchmark and unit, and on what processor.
type output struct {
	cpu    string
	order  []string // benchmarks in order of their first line
	values map[string]map[string][]float64
}

// procs is what `go test` appends to a benchmark's name.
var procs = regexp.MustCompile(`-\d+$`)

func read(path string) (output, error) {
	f, err := os.Open(path)
	if err != nil {
		return output{}, fmt.Errorf("read what was measured: %w", err)
	}
	defer f.Close()
	o := output{values: map[string]map[string][]float64{}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if cpu, ok := strings.CutPrefix(lines.Text(), "cpu: "); ok {
			o.cpu = cpu
		}
		o.add(lines.Text())
	}
	return o, lines.Err()
}

// add takes one line; those that are not of a benchmark are passed over.
func (o *output) add(line string) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return
	}
	name := procs.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return
		}
		if o.values[name] == nil {
			o.values[name] = map[string][]float64{}
			o.order = append(o.order, name)
		}
		o.values[name][fields[i+1]] = append(o.values[name][fields[i+1]], v)
	}
}

// median is the middle of what was measured; false when nothing was.
func (o *output) median(name, unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(o.values[name][unit]))
	n := len(values)
	if n == 0 {
		return 0, false
	}
	return (values[(n-1)/2] + values[n/2]) / 2, true
}

// fastest is what the fastest trial measured, or the first where no trial has a
// speed; false when nothing was measured.
func (o *output) fastest(name, unit string) (float64, bool) {
	values := o.values[name][unit]
	best := 0
	speeds := o.values[name]["alone-bind/s"]
	for i, v := range speeds {
		if v > speeds[best] {
			best = i
		}
	}
	if best >= len(values) {
		return 0, false
	}
	return values[best], true
}

// point is a size and how long a cycle takes at that size, in nanoseconds.
type point struct{ size, nanos float64 }

// growth is how the time of a cycle grows with one size.
type growth struct {
	what   string
	points []point
}

// growths reads the growth benchmarks, whose last word is the size: 300, or 5k for 5,000.
func growths(o output) []growth {
	all := []growth{{what: "nodes"}, {what: "pods"}}
	for i, prefix := range []string{"GrowthNodes/", "GrowthPods/"} {
		for _, name := range o.order {
			text, ok := strings.CutPrefix(name, prefix)
			if !ok {
				continue
			}
			thousands := strings.HasSuffix(text, "k")
			size, err := strconv.ParseFloat(strings.TrimSuffix(text, "k"), 64)
			nanos, measured := o.median(name, "ns/cycle")
			if err != nil || !measured {
				continue
			}
			if thousands {
				size *= 1000
			}
			all[i].points = append(all[i].points, point{size, nanos})
		}
	}
	return all
}

// slope is the exponent of growth: that of the straight line which fits best
// through the points on logarithmic axes. 1 is linear, 0 no growth at all. It is
// NaN for fewer than two points.
func (g growth) slope() float64 {
	var n, sx, sy, sxx, sxy float64
	for _, p := range g.points {
		x, y := math.Log10(p.size), math.Log10(p.nanos)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if n < 2 {
		return math.NaN()
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
