package simulate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// draft is a job as far as it was read.
type draft struct {
	Job
	gpus        int64
	amounts     map[string]int64 // what a pod asks for besides
	selector    map[string]string
	tolerations []corev1.Toleration
	bad         bool // something of it could not be read
}

// column is one thing that is said of a job, in YAML and CSV alike.
type column struct {
	name   string
	must   bool
	remedy string // when it must be given and is not
	read   func(d *draft, text string) (remedy string)
}

// columns are all of them, in the order of documentation.
func columns() []column {
	return []column{
		{"submit", true, "give when it arrives, in seconds since the start", func(d *draft, s string) (no string) { d.Submit, no = span(s, 0); return no }},
		{"gang", true, "give how many pods it has", func(d *draft, s string) (no string) { d.Size, no = count(s, 1); return no }},
		{"gpus", true, "give how many GPUs each pod asks for, 0 for none", func(d *draft, s string) (no string) { d.gpus, no = number(s, 0, 1<<20); return no }},
		{"duration", true, "give how long each pod runs, in seconds", func(d *draft, s string) (no string) { d.Duration, no = span(s, time.Millisecond); return no }},
		{"queue", false, "", func(d *draft, s string) string { d.Queue = s; return jobName(s) }},
		{"priority", false, "", func(d *draft, s string) string {
			n, no := number(s, -1<<31, 1<<31-1)
			d.Priority = int32(n)
			return no
		}},
		{"name", false, "", func(d *draft, s string) string { d.Name = s; return jobName(s) }},
		{"cpu", false, "", amountOf(resource.CPU)},
		{"memory", false, "", amountOf(resource.Memory)},
		{"min", false, "", func(d *draft, s string) (no string) { d.Min, no = count(s, 1); return no }},
		{"deadline", false, "", func(d *draft, s string) (no string) { d.Deadline, no = span(s, time.Millisecond); return no }},
	}
}

func count(text string, least int64) (int32, string) {
	n, remedy := number(text, least, 1_000_000)
	return int32(n), remedy
}

func amountOf(name string) func(*draft, string) string {
	return func(d *draft, text string) (remedy string) {
		d.amounts[name], remedy = quantity(name, text)
		return remedy
	}
}

func newDraft(at place) *draft {
	return &draft{Job: Job{Queue: schedulingv1beta1.DefaultQueue, place: at}, amounts: map[string]int64{resource.Pods: 1}}
}

// ParseWorkload reads jobs: as CSV when the file is called so, else as YAML.
func ParseWorkload(file string, text []byte) ([]Job, Faults) {
	read := readYAML
	if strings.HasSuffix(strings.ToLower(file), ".csv") {
		read = readCSV
	}
	drafts, faults := read(file, bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(drafts) == 0 && len(faults) == 0 {
		faults = append(faults, Fault{File: file, Field: "jobs", What: "are not given", Remedy: "name at least one"})
	}
	jobs := make([]Job, 0, len(drafts))
	shapes := map[string]model.Shape{}
	met := map[string]place{}
	digits := len(strconv.Itoa(len(drafts)))
	var pods int64
	for i, d := range drafts {
		if d.Name == "" {
			d.Name = fmt.Sprintf("job-%0*d", digits, i+1)
		}
		if before, twice := met[d.Name]; twice && !d.bad {
			faults = append(faults, Fault{File: file, Line: d.place.line, Field: "name", Value: d.Name, Remedy: fmt.Sprintf("line %d has it already; give it another", before.line)})
		}
		met[d.Name] = d.place
		if !d.bad {
			faults = append(faults, d.check(file)...)
		}
		d.finish(shapes)
		pods += int64(d.Size)
		jobs = append(jobs, d.Job)
	}
	if pods > mostPods {
		faults = append(faults, Fault{File: file, Field: "gang", What: fmt.Sprintf("comes to %d pods in all", pods), Remedy: fmt.Sprintf("give at most %d", mostPods)})
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return jobs, faults
}

// check says what of a job does not agree with the rest of it.
func (d *draft) check(file string) (faults Faults) {
	if d.Min > d.Size {
		faults = append(faults, Fault{File: file, Line: d.place.line, Field: "min", Value: fmt.Sprint(d.Min), Remedy: fmt.Sprintf("give at most the %d pods of the gang", d.Size)})
	}
	if d.Deadline > 0 && d.Deadline <= d.Submit {
		faults = append(faults, Fault{
			File: file, Line: d.place.line, Field: "deadline", Value: d.Deadline.String(),
			Remedy: fmt.Sprintf("give a time since the start of the trace that is after its arrival, %v", d.Submit),
		})
	}
	return faults
}

// finish makes the shape of a job's pods. Jobs alike share it.
func (d *draft) finish(shapes map[string]model.Shape) {
	if d.Min == 0 {
		d.Min = d.Size
	}
	if d.gpus > 0 {
		d.amounts[GPU] = d.gpus
	}
	s := model.Shape{Requests: resource.ListOf(d.amounts), NodeSelector: d.selector, Tolerations: d.tolerations}
	s.Key = s.Requests.String()
	for _, key := range slices.Sorted(maps.Keys(d.selector)) {
		s.Key += fmt.Sprintf(" %s=%s", key, d.selector[key])
	}
	for _, t := range d.tolerations {
		s.Key += " " + t.String()
	}
	known, ok := shapes[s.Key]
	if !ok {
		known = s
		shapes[s.Key] = s
	}
	d.Shape = known
}

// readYAML reads the jobs of a document with the key jobs.
func readYAML(file string, text []byte) ([]*draft, Faults) {
	r := reader{file: file}
	var drafts []*draft
	for _, doc := range r.documents(text) {
		if doc.Kind == yaml.ScalarNode {
			r.wrong(field{node: doc, line: doc.Line}, "write jobs as a list below the key jobs, or as CSV in a file called .csv")
			continue
		}
		jobs, ok := r.fields(field{node: doc, line: doc.Line}, "jobs")["jobs"]
		if !ok {
			continue
		}
		for _, item := range r.items(jobs) {
			drafts = append(drafts, r.jobs(item)...)
		}
	}
	return drafts, r.faults
}

// jobs reads one job, as often as it repeats.
func (r *reader) jobs(item field) []*draft {
	var known []string
	for _, c := range columns() {
		known = append(known, c.name)
	}
	before := len(r.faults)
	fields := r.fields(item, append(known, "resources", "nodeSelector", "tolerations", "annotations", "repeat")...)
	d := newDraft(place{r.file, item.line})
	if fields == nil {
		return nil
	}
	for _, c := range columns() {
		f, ok := fields[c.name]
		switch {
		case !ok && c.name == "gpus" && has(fields, "resources"):
		case !ok && c.must:
			r.lacks(item, c.name, c.remedy)
		case ok:
			text(r, f, func(s string) (struct{}, string) { return struct{}{}, c.read(d, s) })
		}
	}
	r.more(d, fields)
	times, every := int64(1), time.Duration(0)
	if f, ok := fields["repeat"]; ok {
		times, every = r.repeat(f)
	}
	d.bad = len(r.faults) > before
	if d.bad {
		return []*draft{d}
	}
	return d.repeated(times, every)
}

// more reads what only YAML has columns for.
func (r *reader) more(d *draft, fields map[string]field) {
	if f, ok := fields["resources"]; ok {
		for _, a := range r.resources(f, map[string]int64{}) {
			d.amounts[a.Name] = a.Value
		}
	}
	if f, ok := fields["nodeSelector"]; ok {
		d.selector = r.strings(f)
	}
	if f, ok := fields["tolerations"]; ok {
		r.into(f, &d.tolerations)
	}
	if f, ok := fields["annotations"]; ok {
		d.Annotations = r.strings(f)
	}
}

func has(fields map[string]field, key string) bool {
	_, ok := fields[key]
	return ok
}

// repeat reads how often a job comes, and how long after the one before.
func (r *reader) repeat(f field) (times int64, every time.Duration) {
	fields := r.fields(f, "count", "every")
	times = 1
	for _, key := range []string{"count", "every"} {
		each, ok := fields[key]
		switch {
		case !ok && fields != nil:
			r.lacks(f, key, "give how often it comes, as in repeat: {count: 10, every: 1h}")
		case ok && key == "count":
			times = text(r, each, func(s string) (int64, string) { return number(s, 1, 1_000_000) })
		case ok:
			every = text(r, each, func(s string) (time.Duration, string) { return span(s, 0) })
		}
	}
	return times, every
}

// repeated is a job so often, each time as much later, its deadline too.
func (d *draft) repeated(times int64, every time.Duration) []*draft {
	out := make([]*draft, times)
	for i := range out {
		each := *d
		each.amounts = maps.Clone(d.amounts)
		each.Submit += time.Duration(i) * every
		if d.Deadline > 0 {
			each.Deadline += time.Duration(i) * every
		}
		if d.Name != "" && times > 1 {
			each.Name = fmt.Sprintf("%s-%0*d", d.Name, len(fmt.Sprint(times)), i+1)
		}
		out[i] = &each
	}
	return out
}
