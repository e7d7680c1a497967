package main

import (
	"fmt"
	"math"
	"strings"
)

// row is a line of the engine's table.
type row struct {
	what, name, unit string
	less             string  // name of the benchmark whose value is taken off; empty: none
	target           float64 // 0: none
	atLeast          bool    // the target is a least, not a most
}

func rows() []row {
	return []row{
		{what: "1,000 gangs × 100 equal tasks on 10,000 nodes", name: "ThousandGangs/classes=1", unit: "placements/s", target: 100_000, atLeast: true},
		{what: "the same with 20 classes in every gang", name: "ThousandGangs/classes=20", unit: "placements/s", target: 20_000, atLeast: true},
		{what: "a gang that can't fit, 10,000 nodes: its class is known", name: "Infeasible/known-class", unit: "ns/cycle", target: 300_000},
		{what: "the same, of a class never seen before", name: "Infeasible/new-class", unit: "ns/cycle", target: 300_000},
		{what: "the same, parked: an empty cycle", name: "Infeasible/parked", unit: "ns/cycle"},
		{what: "10,000 parked gangs add to a cycle in which a pod starts", name: "Parked/gangs=10000/unrelated", less: "Parked/gangs=0/unrelated", unit: "ns/cycle", target: 1_000_000},
		{what: "10,000 parked gangs add to a cycle in which a pod ends", name: "Parked/gangs=10000/pod-ends", less: "Parked/gangs=0/pod-ends", unit: "ns/cycle", target: 1_000_000},
		{what: "event: a pod starts or stops to run", name: "Event/pod-starts-or-stops", unit: "ns/event", target: 5000},
		{what: "event: a pod ends, or is made", name: "Event/pod-ends-and-is-made-again", unit: "ns/event", target: 5000},
		{what: "event: a node reports, unchanged", name: "Event/node-unchanged", unit: "ns/event", target: 5000},
		{what: "event: a node has other room", name: "Event/node-room", unit: "ns/event", target: 5000},
		{what: "event: a node has another label", name: "Event/node-label", unit: "ns/event", target: 5000},
		{what: "memory of a pod in the model", name: "Memory", unit: "B/pod", target: 4096},
		{what: "memory of a node in the model", name: "Memory", unit: "B/node", target: 16_384},
	}
}

// engineTable shows what was measured beside what is aimed at.
func engineTable(o output) string {
	var b strings.Builder
	fmt.Fprintf(&b, "On %s.\n\n| what | measured | target | |\n|---|---:|---:|---|\n", o.cpu)
	for _, r := range rows() {
		got, ok := o.median(r.name, r.unit)
		if less, measured := o.median(r.less, r.unit); ok && measured {
			got = max(0, got-less)
		}
		if !ok {
			fmt.Fprintf(&b, "| %s | not measured | %s | |\n", r.what, r.bound())
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, human(got, r.unit), r.bound(), r.verdict(got))
	}
	return b.String()
}

func (r row) bound() string {
	switch {
	case r.target == 0:
		return ""
	case r.atLeast:
		return "≥ " + human(r.target, r.unit)
	default:
		return "≤ " + human(r.target, r.unit)
	}
}

func (r row) verdict(got float64) string {
	switch {
	case r.target == 0:
		return ""
	case r.atLeast == (got >= r.target):
		return "met"
	default:
		return "**missed**"
	}
}

// human writes a value so that it can be read: times in the unit that fits.
func human(v float64, unit string) string {
	if strings.HasPrefix(unit, "ns/") {
		switch {
		case v >= 1e6:
			return fmt.Sprintf("%.3g ms", v/1e6)
		case v >= 1e3:
			return fmt.Sprintf("%.3g µs", v/1e3)
		default:
			return fmt.Sprintf("%.3g ns", v)
		}
	}
	return thousands(v) + " " + unit
}

// thousands writes a whole number with commas.
func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", math.Abs(v))
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if v < 0 {
		return "-" + text
	}
	return text
}

func growthTable(all []growth) string {
	var b strings.Builder
	for _, g := range all {
		if len(g.points) == 0 {
			fmt.Fprintf(&b, "Growth with %s was not measured.\n\n", g.what)
			continue
		}
		head, line, values := "| "+g.what+" |", "|---|", "| cycle |"
		for _, p := range g.points {
			head += " " + thousands(p.size) + " |"
			line += "---:|"
			values += " " + human(p.nanos, "ns/cycle") + " |"
		}
		fmt.Fprintf(&b, "%s slope |\n%s---:|\n%s %.2f |\n\n", head, line, values, g.slope())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// columns are what the table of the cluster shows, with the words over it.
func columns() []struct{ unit, head string } {
	return []struct{ unit, head string }{
		{"bind/s", "binds/s"},
		{"alone-bind/s", "binds/s, others taken out"},
		{"of-raw", "of the raw limit, median"},
		{"of-raw-by-clock", "the same by the clock"},
		{"p50-ms", "p50, ms"},
		{"p99-ms", "p99, ms"},
		{"first-s", "first bind after, s"},
		{"muster-cpu-s", "Muster's CPU, s"},
		{"muster-MiB", "Muster's memory, MiB"},
		{"server-cpu-s", "etcd's and API server's CPU, s"},
	}
}

// clusterTable has a line for each benchmark, with what its fastest trial
// measured: what disturbs a trial only ever slows it. Of ratios, which are disturbed on
// both sides, it has the median.
func clusterTable(o output) string {
	var b strings.Builder
	fmt.Fprintf(&b, "On %s.\n\n| |", o.cpu)
	for _, c := range columns() {
		b.WriteString(" " + c.head + " |")
	}
	b.WriteString(" trials |\n|---|" + strings.Repeat("---:|", len(columns())+1) + "\n")
	for _, name := range o.order {
		if strings.HasSuffix(name, "/ratio") {
			continue // shown in the line of its burst
		}
		trials := 0
		b.WriteString("| " + name + " |")
		for _, c := range columns() {
			v, ok := o.fastest(name, c.unit)
			if !ok {
				v, ok = o.median(name+"/ratio", c.unit)
			}
			if !ok {
				b.WriteString(" |")
				continue
			}
			trials = max(trials, len(o.values[name][c.unit]))
			b.WriteString(" " + short(v) + " |")
		}
		fmt.Fprintf(&b, " %d |\n", trials)
	}
	return b.String()
}

func short(v float64) string {
	if v >= 100 {
		return thousands(v)
	}
	return fmt.Sprintf("%.3g", v)
}
