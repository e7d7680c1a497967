package simulate_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/simulate"
)

const examples = "../../examples/simulate/"

func file(t testing.TB, name string) simulate.File {
	t.Helper()
	text, err := os.ReadFile(examples + name)
	if err != nil {
		t.Fatal(err)
	}
	return simulate.File{Name: name, Text: text}
}

// options are those of a configuration of the examples.
func options(t testing.TB, name string) simulate.Options {
	t.Helper()
	config, err := conf.Parse(file(t, name).Text, actions.Builtin(), plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return simulate.Options{Name: strings.TrimSuffix(name, filepath.Ext(name)), Config: config, Registry: plugins.Builtin()}
}

func read(t testing.TB, cluster, workload string) *simulate.Trace {
	t.Helper()
	trace, err := simulate.Read(simulate.File{Name: "cluster.yaml", Text: []byte(cluster)}, simulate.File{Name: "jobs.yaml", Text: []byte(workload)})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func run(t interface{ Fatal(...any) }, trace *simulate.Trace, o simulate.Options) *simulate.Result {
	res, err := simulate.Run(trace, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ways are when jobs began and ended, and what they lost.
func ways(res *simulate.Result) (lines []string) {
	for _, j := range res.Jobs {
		line := fmt.Sprintf("%s %v-%v", j.Name, j.Start, j.End)
		if j.PodsTaken > 0 {
			line += fmt.Sprintf(" lost %v, %d gangs, %d pods, again after %v", j.Lost, j.Preempted, j.PodsTaken, j.Requeued)
		}
		for _, n := range res.Never {
			if n.Job == j.Name {
				line = j.Name + " never: " + n.Code
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// TestJobsGoTheirWay says when jobs of small worlds begin and end.
func TestJobsGoTheirWay(t *testing.T) {
	const oneNode = "nodes: [{name: n, resources: {gpu: 8, cpu: 8}}]\n"
	const shared = oneNode + `queues:
- {name: owner, deserved: {gpu: 8}}
- {name: guest, deserved: {gpu: 0}}
`
	tests := map[string]struct {
		conf, cluster, jobs string
		want                []string // name, start to end, and what it lost
	}{
		"one after the other, when there is no room for both": {
			"borrow.conf", oneNode,
			`jobs:
- {name: a, submit: 0, gang: 2, gpus: 4, duration: 10}
- {name: b, submit: 1, gang: 1, gpus: 8, duration: 10}`,
			[]string{"a 0-10", "b 10-20"},
		},
		"what is beyond the minimum as it fits": {
			"borrow.conf", oneNode,
			`jobs: [{name: a, submit: 2, gang: 3, min: 1, gpus: 4, duration: 10}]`,
			[]string{"a 2-22"},
		},
		"what was borrowed is kept": {
			"borrow.conf", shared,
			`jobs:
- {name: a, queue: guest, submit: 0, gang: 1, gpus: 8, duration: 100}
- {name: b, queue: owner, submit: 40, gang: 1, gpus: 8, duration: 10}`,
			[]string{"a 0-100", "b 100-110"},
		},
		"what was borrowed is given back, and its work done again": {
			"reclaim.conf", shared,
			`jobs:
- {name: a, queue: guest, submit: 0, gang: 2, gpus: 4, duration: 100}
- {name: b, queue: owner, submit: 40, gang: 1, gpus: 8, duration: 10}`,
			[]string{"a 0-150 lost 320, 1 gangs, 2 pods, again after 10", "b 40-50"},
		},
		"one pod beyond the minimum gives way alone": {
			"reclaim.conf", shared,
			`jobs:
- {name: a, queue: guest, submit: 0, gang: 2, min: 1, gpus: 4, duration: 100}
- {name: b, queue: owner, submit: 40, gang: 1, gpus: 4, duration: 10}`,
			[]string{"a 0-150 lost 160, 0 gangs, 1 pods, again after 0", "b 40-50"},
		},
		"who never fits is said to, and others go on": {
			"borrow.conf", oneNode,
			`jobs:
- {name: a, submit: 0, gang: 1, gpus: 9, duration: 10}
- {name: b, submit: 0, gang: 1, gpus: 1, duration: 10}`,
			[]string{"a never: NeverFits", "b 0-10"},
		},
		"where taints and labels let them": {
			"borrow.conf", `nodes:
- {name: old, resources: {gpu: 8}, labels: {kind: old}}
- {name: new, resources: {gpu: 8}, labels: {kind: new}, taints: [{key: new, effect: NoSchedule}]}`,
			`jobs:
- {name: a, submit: 0, gang: 1, gpus: 8, duration: 10}
- {name: b, submit: 0, gang: 1, gpus: 8, duration: 10}
- {name: c, submit: 0, gang: 1, gpus: 8, duration: 10, nodeSelector: {kind: new}, tolerations: [{key: new, operator: Exists}]}`,
			[]string{"a 0-10", "b 10-20", "c 0-10"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			res := run(t, read(t, tt.cluster, tt.jobs), options(t, tt.conf))
			if diff := cmp.Diff(tt.want, ways(res)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheExampleShowsWhatReclaimAndDeadlinesAreWorth(t *testing.T) {
	trace, err := simulate.Read(file(t, "cluster.yaml"), file(t, "workload.csv"))
	if err != nil {
		t.Fatal(err)
	}
	borrow, reclaim := run(t, trace, options(t, "borrow.conf")), run(t, trace, options(t, "reclaim.conf"))
	for _, r := range []*simulate.Result{borrow, reclaim} {
		if len(r.Never) != 1 || r.Never[0].Job != "too-wide" {
			t.Errorf("%s: never placed are %v, want too-wide alone", r.Name, r.Never)
		}
	}
	if borrow.Preemptions.Pods != 0 || reclaim.Preemptions.Pods == 0 {
		t.Errorf("%d and %d pods evicted, want none without reclaim, and some with it", borrow.Preemptions.Pods, reclaim.Preemptions.Pods)
	}
	if borrow.Deadlines.Met >= reclaim.Deadlines.Met {
		t.Errorf("%d deadlines are met without reclaim, %d with it, want more", borrow.Deadlines.Met, reclaim.Deadlines.Met)
	}
	slo, take := run(t, trace, options(t, "slo.conf")), run(t, trace, options(t, "slo-take.conf"))
	if borrow.Deadlines.Met >= slo.Deadlines.Met || slo.Deadlines.Met >= take.Deadlines.Met {
		t.Errorf("%d deadlines are met without the plugin slo, %d with it, %d when it takes, want more each time", borrow.Deadlines.Met, slo.Deadlines.Met, take.Deadlines.Met)
	}
	if borrow.Fairness >= reclaim.Fairness {
		t.Errorf("fairness is %v without reclaim, %v with it, want more", borrow.Fairness, reclaim.Fairness)
	}
	var out strings.Builder
	simulate.Print(&out, []*simulate.Result{borrow, reclaim})
	for _, want := range []string{"borrow", "reclaim", "deadlines met", "too-wide (workload.csv:", "fairness (Jain)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("what is printed does not say %q:\n%s", want, &out)
		}
	}
}

// draw makes up a small cluster and a workload.
func draw(t *rapid.T) (cluster, workload string) {
	nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
	var c, w strings.Builder
	fmt.Fprintf(&c, "nodes: [{name: n, count: %d, resources: {gpu: 4, cpu: 16}}]\nqueues:\n", nodes)
	for i := range 3 {
		fmt.Fprintf(&c, "- {name: q%d, weight: %d, deserved: {gpu: %d}, reclaimable: %t}\n", i, i+1, rapid.IntRange(0, 4*nodes).Draw(t, "deserved"), rapid.Bool().Draw(t, "reclaimable"))
	}
	w.WriteString("submit,gang,min,gpus,cpu,duration,queue,priority\n")
	for range rapid.IntRange(1, 25).Draw(t, "jobs") {
		size := rapid.IntRange(1, 6).Draw(t, "size")
		fmt.Fprintf(&w, "%d,%d,%d,%d,%d,%d.5,q%d,%d\n", rapid.IntRange(0, 60).Draw(t, "submit"), size, rapid.IntRange(1, size).Draw(t, "min"),
			rapid.IntRange(0, 5).Draw(t, "gpus"), rapid.IntRange(0, 4).Draw(t, "cpu"), rapid.IntRange(0, 50).Draw(t, "duration"),
			rapid.IntRange(0, 2).Draw(t, "queue"), rapid.IntRange(0, 2).Draw(t, "priority"))
	}
	return c.String(), w.String()
}

// TestTheBooksBalance holds, for any workload: all jobs end or are said to never fit, their
// work is done once plus what was lost, the picture shows exactly what they used and never
// more than there is, and the same input gives the same bytes.
func TestTheBooksBalance(t *testing.T) {
	confs := []simulate.Options{options(t, "borrow.conf"), options(t, "reclaim.conf")}
	rapid.Check(t, func(t *rapid.T) {
		cluster, workload := draw(t)
		trace, err := simulate.Read(simulate.File{Name: "cluster.yaml", Text: []byte(cluster)}, simulate.File{Name: "jobs.csv", Text: []byte(workload)})
		if err != nil {
			t.Fatal(err)
		}
		o := rapid.SampledFrom(confs).Draw(t, "conf")
		res := run(t, trace, o)
		jobs := map[string]simulate.Job{}
		for _, j := range trace.Jobs {
			jobs[j.Name] = j
		}
		var used float64
		for _, j := range res.Jobs {
			used += j.Used
			gpus, _ := jobs[j.Name].Shape.Requests.Get(simulate.GPU)
			work := float64(gpus) * float64(j.Pods) * jobs[j.Name].Duration.Seconds()
			switch {
			case j.End < 0 && j.Why == "":
				t.Errorf("%s did not end, and nobody says why", j.Name)
			case j.End >= 0 && milli(j.Used-j.Lost) != milli(work):
				t.Errorf("%s used %v and lost %v of it, want %v in the end", j.Name, j.Used, j.Lost, work)
			}
		}
		if drawn := sum(res.Usage.Used...); milli(used) != drawn || milli(res.Used) != drawn {
			t.Errorf("jobs used %v, the picture shows %v, the summary says %v", used, float64(drawn)/1000, res.Used)
		}
		for i := range len(res.Usage.Edges) - 1 {
			var here int64
			for q := range res.Usage.Queues {
				here += res.Usage.Used[q][i]
			}
			if most := res.Usage.Total * (res.Usage.Edges[i+1] - res.Usage.Edges[i]); here > most {
				t.Errorf("slice %d uses %d of %d", i, here, most)
			}
		}
		if a, b := written(t, res), written(t, run(t, trace, o)); !bytes.Equal(a, b) {
			t.Error("the same input gave other bytes")
		}
	})
}

func sum(series ...[]int64) (all int64) {
	for _, n := range slices.Concat(series...) {
		all += n
	}
	return all
}

// written is all that is written of a result.
func written(t interface{ Fatal(...any) }, r *simulate.Result) []byte {
	var out bytes.Buffer
	simulate.Print(&out, []*simulate.Result{r})
	files, err := simulate.Files([]*simulate.Result{r})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out.WriteString(f.Name)
		out.Write(f.Text)
	}
	return out.Bytes()
}

func TestASimulationCanBeStoppedAndTellsHowFarItIs(t *testing.T) {
	trace := busy(2000, 20, 1)
	o := options(t, "borrow.conf")
	var last simulate.Progress
	o.Progress = func(p simulate.Progress) bool {
		last = p
		return p.Ended < 100
	}
	if _, err := simulate.Run(trace, o); err == nil || last.Ended < 100 || last.Ended > 1000 {
		t.Errorf("it went on to %+v: %v", last, err)
	}
}

func TestWhatCantBeCountedIsSaid(t *testing.T) {
	o := options(t, "borrow.conf")
	for name, want := range map[string]string{
		resource.Memory: "counted in bytes",
		"example.com/x": "no node has it, and no job asks for it: with --resource, name one of cpu, nvidia.com/gpu, pods",
	} {
		o.Resource = name
		if _, err := simulate.Run(busy(10, 2, 1), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	o.Resource = "gpu"
	if res := run(t, busy(10, 2, 1), o); res.Resource != simulate.GPU {
		t.Errorf("gpu is counted as %s, want %s", res.Resource, simulate.GPU)
	}
}

func TestWhatIsTheSameForSeveralIsSaidOnce(t *testing.T) {
	const cluster = "nodes: [{name: n, resources: {gpu: 8}}]\n"
	trace := read(t, cluster, "jobs: [{name: wide, submit: 0, gang: 1, gpus: 9, duration: 10}]")
	a, b, c := run(t, trace, options(t, "borrow.conf")), run(t, trace, options(t, "slo.conf")), run(t, trace, options(t, "reclaim.conf"))
	c.Never[0].Why = "another reason"
	var out strings.Builder
	simulate.Print(&out, []*simulate.Result{a, b, c})
	for want, times := range map[string]int{"1 job on 1 node with 8 GPUs, in 1 queue\n": 1, "\nNever placed with borrow, slo:\n": 1, "\nNever placed with reclaim:\n": 1, "wide (jobs.yaml:1)": 2, " \n": 0} {
		if n := strings.Count(out.String(), want); n != times {
			t.Errorf("%q is said %d times, want %d:\n%s", want, n, times, &out)
		}
	}
}

func TestMoreThanCanBeSummedUpIsNotCounted(t *testing.T) {
	trace := busy(10, 3, 1)
	for i := range trace.Nodes {
		trace.Nodes[i].Allocatable = resource.ListOf(map[string]int64{simulate.GPU: math.MaxInt64, resource.Pods: 110})
	}
	if r, err := simulate.Run(trace, options(t, "borrow.conf")); err == nil || !strings.Contains(err.Error(), "give its nodes at most") {
		t.Errorf("got %v, %+v", err, r)
	}
	trace = read(t, "nodes: [{name: n, resources: {gpu: 8, cpu: 8}}]\n", "jobs: [{name: vast, submit: 0, gang: 1000, gpus: 0, cpu: 1T, duration: 1h}]")
	o := options(t, "borrow.conf")
	if _, err := simulate.Run(trace, o); err != nil {
		t.Errorf("what is not counted: %v", err)
	}
	o.Resource = resource.CPU
	want := "all jobs together ask for more of resource cpu than can be counted: give them at most 9007199254740992m"
	if r, err := simulate.Run(trace, o); err == nil || err.Error() != want {
		t.Errorf("got %v, %+v; want %s", err, r, want)
	}
}

// milli is seconds in milliseconds, which are exact.
func milli(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }
