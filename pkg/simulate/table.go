package simulate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// row is one figure of every result, side by side.
type row struct {
	label  string
	values []float64
	format func(float64) string
	// change says how a figure differs from the first one; nil: it is not said.
	change func(from, to float64) string
}

// sheet is rows under a heading.
type sheet struct {
	title string
	rows  []row
}

// figures are what all results have in common.
func figures(results []*Result) []sheet {
	pick := func(label string, of func(*Result) float64, format func(float64) string, change func(from, to float64) string) row {
		r := row{label: label, format: format, change: change}
		for _, res := range results {
			r.values = append(r.values, of(res))
		}
		return r
	}
	times := func(title string, of func(*Result) Spread) sheet {
		return sheet{title, []row{
			pick("mean", func(r *Result) float64 { return of(r).Mean }, duration, percent),
			pick("p50", func(r *Result) float64 { return of(r).P50 }, duration, percent),
			pick("p90", func(r *Result) float64 { return of(r).P90 }, duration, percent),
			pick("p99", func(r *Result) float64 { return of(r).P99 }, duration, percent),
		}}
	}
	unit := short(results[0].Resource)
	all := sheet{"Jobs", []row{
		pick("finished", func(r *Result) float64 { return float64(r.JobsFinished) }, whole, difference),
		pick("never placed", func(r *Result) float64 { return float64(r.JobsNever) }, whole, difference),
		pick("makespan", func(r *Result) float64 { return r.Makespan }, duration, percent),
		pick("gangs preempted", func(r *Result) float64 { return float64(r.Preemptions.Gangs) }, whole, difference),
		pick("pods evicted", func(r *Result) float64 { return float64(r.Preemptions.Pods) }, whole, difference),
	}}
	if results[0].Deadlines != nil {
		all.rows = append(all.rows,
			pick("deadlines met", func(r *Result) float64 { return float64(r.Deadlines.Met) }, whole, difference),
			pick("deadlines missed", func(r *Result) float64 { return float64(r.Deadlines.Missed) }, whole, difference))
	}
	return []sheet{
		all,
		times("Job completion time", func(r *Result) Spread { return r.Completion }),
		times("Queueing time", func(r *Result) Spread { return r.Queueing }),
		{unit + "s", []row{
			pick("utilisation", func(r *Result) float64 { return r.Utilisation }, parts, points),
			pick(unit+"-hours used", func(r *Result) float64 { return r.Used / 3600 }, tenth, percent),
			pick(unit+"-hours lost", func(r *Result) float64 { return r.Lost / 3600 }, tenth, nil),
			pick("fairness (Jain)", func(r *Result) float64 { return r.Fairness }, thousandth, nil),
		}},
	}
}

// short is a resource as people call it.
func short(name string) string {
	if name == GPU {
		return "GPU"
	}
	return name
}

func duration(s float64) string   { return clock(int64(math.Round(s * 1000))) }
func whole(n float64) string      { return thousands(int64(n)) }
func tenth(n float64) string      { return strconv.FormatFloat(n, 'f', 1, 64) }
func thousandth(n float64) string { return strconv.FormatFloat(n, 'f', 3, 64) }
func parts(n float64) string      { return strconv.FormatFloat(100*n, 'f', 1, 64) + "%" }

func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// percent says by how much one is more than the other.
func percent(from, to float64) string {
	switch from {
	case to:
		return "="
	case 0:
		return ""
	default:
		return fmt.Sprintf("%+.1f%%", 100*(to/from-1))
	}
}

func difference(from, to float64) string {
	if from == to {
		return "="
	}
	return fmt.Sprintf("%+d", int64(to-from))
}

func points(from, to float64) string { return fmt.Sprintf("%+.1f points", 100*(to-from)) }

// cells are the figures of a row, each but the first with how it differs from that.
func (r row) cells() []string {
	var cells []string
	for i, v := range r.values {
		cell := r.format(v)
		if change := ""; i > 0 && r.change != nil {
			if change = r.change(r.values[0], v); change != "" {
				cell += " (" + change + ")"
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// queueHeads and queueCells are the columns of the table of queues.
func queueHeads(unit string) []string {
	return []string{"jobs", "queueing mean", "queueing p90", "completion mean", "share of " + unit + "s used", "of its fair part", unit + "-hours lost"}
}

func queueCells(q QueueResult) []string {
	return []string{
		whole(float64(q.Jobs)), duration(q.Queueing.Mean), duration(q.Queueing.P90), duration(q.Completion.Mean),
		parts(q.Share), parts(q.FairPart), tenth(q.Lost / 3600),
	}
}

// subject says what was simulated.
func subject(r *Result) string {
	many := func(n float64, what string) string {
		if n != 1 {
			what += "s"
		}
		return tidy(n) + " " + what
	}
	return fmt.Sprintf("%s on %s with %s, in %s", many(float64(r.JobsSubmitted), "job"), many(float64(r.Nodes), "node"),
		many(r.Total, short(r.Resource)), many(float64(len(r.Queues)), "queue"))
}

// Print writes what came of simulations, side by side.
func Print(out io.Writer, results []*Result) {
	first := results[0]
	unit := short(first.Resource)
	fmt.Fprint(out, subject(first), "\n\n")
	var tables strings.Builder
	w := tabwriter.NewWriter(&tables, 0, 4, 3, ' ', 0)
	if len(results) > 1 {
		fmt.Fprint(w, "\t")
		for _, r := range results {
			fmt.Fprint(w, r.Name, "\t")
		}
		fmt.Fprintln(w)
	}
	for _, s := range figures(results) {
		fmt.Fprintln(w, s.title+strings.Repeat("\t", len(results)))
		for _, r := range s.rows {
			fmt.Fprintln(w, "  "+r.label+"\t"+strings.Join(r.cells(), "\t"))
		}
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "Queue\t"+strings.Join(queueHeads(unit), "\t"))
	for i := range first.Queues {
		for _, r := range results {
			name := r.Queues[i].Name
			if len(results) > 1 {
				name += ", " + r.Name
			}
			fmt.Fprintln(w, "  "+name+"\t"+strings.Join(queueCells(r.Queues[i]), "\t"))
		}
	}
	_ = w.Flush()
	for line := range strings.Lines(tables.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
	for _, rest := range leftOver(results) {
		fmt.Fprintf(out, "\n%s:\n", rest.title)
		const most = 20
		for i, line := range rest.lines {
			if i == most {
				fmt.Fprintf(out, "  and %d more; --out writes all of them\n", len(rest.lines)-most)
				break
			}
			fmt.Fprintln(out, "  "+line)
		}
	}
}

// remark is something that is said of results besides their figures.
type remark struct {
	title string
	lines []string
}

// leftOver names the jobs that were never placed, and says what the engine left out. What
// is the same for several results is said once.
func leftOver(results []*Result) []remark {
	never := alike(results, "Never placed", func(r *Result) (lines []string) {
		for _, n := range r.Never {
			lines = append(lines, fmt.Sprintf("%s (%s), queue %s: %s: %s", n.Job, n.where, n.Queue, n.Code, n.Why))
		}
		return lines
	})
	return append(never, alike(results, "Left out", func(r *Result) []string { return r.Notes })...)
}

// alike are the texts of results, each with the names of those that have it.
func alike(results []*Result, what string, of func(*Result) []string) (remarks []remark) {
	var owners [][]string
	for _, r := range results {
		lines := of(r)
		if len(lines) == 0 {
			continue
		}
		i := slices.IndexFunc(remarks, func(m remark) bool { return slices.Equal(m.lines, lines) })
		if i < 0 {
			i = len(remarks)
			remarks, owners = append(remarks, remark{what, lines}), append(owners, nil)
		}
		owners[i] = append(owners[i], r.Name)
	}
	for i := range remarks {
		if len(owners[i]) < len(results) {
			remarks[i].title += " with " + strings.Join(owners[i], ", ")
		}
	}
	return remarks
}

func tidy(n float64) string {
	if n == math.Trunc(n) {
		return thousands(int64(n))
	}
	return tenth(n)
}
