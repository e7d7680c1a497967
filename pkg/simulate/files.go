package simulate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"path"
	"strconv"
	"strings"
)

// Files are what came of simulations as files, by path below a folder: a page and figures for
// all, and for each its jobs, queues, use over time and picture.
func Files(results []*Result) ([]File, error) {
	type full struct {
		Summary
		Queues []QueueResult `json:"queues"`
	}
	var all []full
	for _, r := range results {
		all = append(all, full{r.Summary, r.Queues})
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the figures: %w", err)
	}
	files := []File{
		{"report.html", []byte(page(results))},
		{"summary.json", append(text, '\n')},
	}
	scale := scaleOf(results)
	for _, r := range results {
		files = append(files,
			File{path.Join(r.Name, "jobs.csv"), r.jobsCSV()},
			File{path.Join(r.Name, "queues.csv"), r.queuesCSV()},
			File{path.Join(r.Name, "usage.csv"), r.usageCSV()},
			File{path.Join(r.Name, "gpus.svg"), []byte(picture(r, scale))},
		)
	}
	return files, nil
}

// sheetCSV writes lines of values.
func sheetCSV(head []string, lines int, line func(i int) []string) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write(head) // a buffer takes everything
	for i := range lines {
		_ = w.Write(line(i))
	}
	w.Flush()
	return out.Bytes()
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// since is a time, nothing when it never came.
func since(n float64) string {
	if n < 0 {
		return ""
	}
	return plain(n)
}

func (r *Result) jobsCSV() []byte {
	head := []string{
		"name", "queue", "pods", "submit_s", "start_s", "end_s", "queued_s", "completion_s", "requeued_s",
		"used_resource_s", "lost_resource_s", "gang_preempted", "pods_evicted", "deadline_s", "deadline_met", "never_placed_because",
	}
	return sheetCSV(head, len(r.Jobs), func(i int) []string {
		j := &r.Jobs[i]
		queued, completion, met := -1.0, -1.0, ""
		if j.Start >= 0 {
			queued = j.Start - j.Submit
		}
		if j.End >= 0 {
			completion = j.End - j.Submit
		}
		if j.Deadline >= 0 {
			met = strconv.FormatBool(j.End >= 0 && j.End <= j.Deadline)
		}
		return []string{
			j.Name, j.Queue, strconv.Itoa(int(j.Pods)), plain(j.Submit), since(j.Start), since(j.End), since(milli(queued)), since(milli(completion)), plain(j.Requeued),
			plain(j.Used), plain(j.Lost), strconv.Itoa(j.Preempted), strconv.Itoa(j.PodsTaken), since(j.Deadline), met, j.Why,
		}
	})
}

// milli rounds to a thousandth: differences of times in seconds have no more.
func milli(n float64) float64 {
	n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'f', 3, 64), 64)
	return n
}

func (r *Result) queuesCSV() []byte {
	head := []string{
		"queue", "jobs", "finished", "queueing_mean_s", "queueing_p50_s", "queueing_p90_s", "queueing_p99_s",
		"completion_mean_s", "completion_p50_s", "completion_p90_s", "completion_p99_s", "used_resource_s", "lost_resource_s", "share_of_use", "got_of_fair_part", "gangs_preempted",
	}
	return sheetCSV(head, len(r.Queues), func(i int) []string {
		q := &r.Queues[i]
		return []string{
			q.Name, strconv.Itoa(q.Jobs), strconv.Itoa(q.Finished), plain(milli(q.Queueing.Mean)), plain(q.Queueing.P50), plain(q.Queueing.P90), plain(q.Queueing.P99),
			plain(milli(q.Completion.Mean)), plain(q.Completion.P50), plain(q.Completion.P90), plain(q.Completion.P99), plain(q.Used), plain(q.Lost), thousandth(q.Share), thousandth(q.FairPart), strconv.Itoa(q.Preemptions),
		}
	})
}

// usageCSV has a line for each slice of time and queue.
func (r *Result) usageCSV() []byte {
	u, queues := &r.Usage, len(r.Usage.Queues)
	scale := r.scale()
	head := []string{"from_s", "to_s", "queue", "used", "share_of_cluster", "waiting", "fair_part"}
	return sheetCSV(head, (len(u.Edges)-1)*queues, func(i int) []string {
		slice, q := i/queues, i%queues
		length := float64(u.Edges[slice+1] - u.Edges[slice])
		mean := func(n int64) float64 { return float64(n) / length / scale }
		share := 0.0
		if u.Total > 0 {
			share = float64(u.Used[q][slice]) / length / float64(u.Total)
		}
		return []string{
			plain(seconds(u.Edges[slice])), plain(seconds(u.Edges[slice+1])), u.Queues[q], plain(milli(mean(u.Used[q][slice]))),
			thousandth(share), plain(milli(mean(u.Wanted[q][slice]))), plain(milli(mean(u.Fair[q][slice]))),
		}
	})
}

const pageStyle = `body{font-family:system-ui,sans-serif;margin:2em auto;max-width:1060px;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .9em;text-align:right;border-bottom:1px solid #e4e4e4}
td:first-child,th:first-child{text-align:left}tr.head th{text-align:left;padding-top:1em;border-bottom:1px solid #999}
svg{max-width:100%;height:auto}li{margin:.3em 0}.small{color:#666;font-size:90%}`

// page is a page that needs nothing else: figures, pictures, and what was never placed.
func page(results []*Result) string {
	var b strings.Builder
	first := results[0]
	unit := short(first.Resource)
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>muster simulate</title><style>%s</style></head><body>\n", pageStyle)
	fmt.Fprintf(&b, "<h1>muster simulate</h1>\n<p>%s.</p>\n", html.EscapeString(subject(first)))
	b.WriteString("<table>\n<tr>" + cells("th", append([]string{""}, names(results)...)) + "</tr>\n")
	for _, s := range figures(results) {
		fmt.Fprintf(&b, "<tr class=\"head\"><th colspan=\"%d\">%s</th></tr>\n", len(results)+1, html.EscapeString(s.title))
		for _, r := range s.rows {
			b.WriteString("<tr>" + cells("td", append([]string{r.label}, r.cells()...)) + "</tr>\n")
		}
	}
	b.WriteString("</table>\n")
	scale := scaleOf(results)
	for _, r := range results {
		b.WriteString(picture(r, scale))
	}
	b.WriteString("<h2>Queues</h2>\n<table>\n<tr>" + cells("th", append([]string{"queue", "configuration"}, queueHeads(unit)...)) + "</tr>\n")
	for i := range first.Queues {
		for _, r := range results {
			b.WriteString("<tr>" + cells("td", append([]string{r.Queues[i].Name, r.Name}, queueCells(r.Queues[i])...)) + "</tr>\n")
		}
	}
	b.WriteString("</table>\n")
	b.WriteString(`<p class="small">Queueing time ends when a job first has its minimum. A queue's fair part is what there is, divided down the tree by what queues deserve or else by weight, at least their guarantee, at most their capability and no more than they ask for; fairness is Jain's index of how much of that each queue got while it wanted it. Lost is work that had to be done again.</p>` + "\n")
	for _, rest := range leftOver(results) {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<ul>\n", html.EscapeString(rest.title))
		for _, line := range rest.lines {
			fmt.Fprintf(&b, "<li>%s</li>\n", html.EscapeString(line))
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("</body></html>\n")
	return b.String()
}

func names(results []*Result) []string {
	var out []string
	for _, r := range results {
		out = append(out, r.Name)
	}
	return out
}

func cells(tag string, texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "<%s>%s</%s>", tag, html.EscapeString(text), tag)
	}
	return b.String()
}
