package simulate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/simulate"
)

const (
	nodes = "nodes: [{name: n, resources: {gpu: 8}}]\n"
	head  = "submit,gang,gpus,duration,queue,priority,name,min,deadline\n"
)

// wrong are files, and all that is to be said of them.
var wrong = map[string]struct {
	cluster, file, jobs string
	want                []string
}{
	"values of a CSV": {
		nodes, "w.csv", head + "-1,0,eight,0,a/b,high,,,\n\n# a remark\n1,4,1,10,,,x,5,\n1,1,1,1,,,x,,1\n1,2,3\n",
		[]string{
			`w.csv:2: column submit is "-1": give seconds, as in 90, or a duration, as in 1h30m, of 0 or more`,
			`w.csv:2: column gang is "0": give a whole number from 1 to 1000000`,
			`w.csv:2: column gpus is "eight": give a whole number from 0 to 1048576`,
			`w.csv:2: column duration is "0": give seconds, as in 90, or a duration, as in 1h30m, of a millisecond or more`,
			`w.csv:2: column queue is "a/b": give up to 200 letters without blanks and slashes`,
			`w.csv:2: column priority is "high": give a whole number from -2147483648 to 2147483647`,
			`w.csv:5: min is "5": give at most the 4 pods of the gang`,
			`w.csv:6: name is "x": line 5 has it already; give it another`,
			`w.csv:6: deadline is "1s": give a time since the start of the trace that is after its arrival, 1s`,
			`w.csv:7: there are 3 values under 9 columns: write one value for each column, nothing between commas for those that it lacks`,
		},
	},
	"columns of a CSV": {
		nodes, "w.csv", "submit,gangs,gpus,gpus\n1,1,1,1\n",
		[]string{
			`w.csv:1: there is no column "gangs": did you mean "gang"? there are submit, gang, gpus, duration, queue, priority, name, cpu, memory, min, deadline`,
			`w.csv:1: column gpus is there twice: keep one`,
			`w.csv:1: column gang is not there: give how many pods it has`,
			`w.csv:1: column duration is not there: give how long each pod runs, in seconds`,
		},
	},
	"a value that must be there": {
		nodes, "w.csv", head + "1,,1,10,,,,,\n", []string{`w.csv:2: column gang is empty: give how many pods it has`},
	},
	"quotes of a CSV": {
		nodes, "w.csv", head + "1,1,1,1,,,a\"b,,\n",
		[]string{`w.csv:2: this is no CSV: bare " in non-quoted-field: put a value with quotes in it in quotes, and double those, as in "a ""b"""`},
	},
	"no jobs at all": {nodes, "w.csv", head, []string{`w.csv: jobs are not given: name at least one`}},
	"queues that are not there": {
		nodes + "queues: [{name: research}, {name: product}]", "w.csv", head + "0,1,1,1,reserch,,,,\n0,1,1,1,,,,,\n",
		[]string{
			`w.csv:2: queue is "reserch", which cluster.yaml does not have: did you mean "research"? there are research, product`,
			`w.csv:3: queue is "default", which cluster.yaml does not have: there are research, product`,
		},
	},
	"YAML of both, by line": {
		`nodes:
- name: n
  count: none
  resources: {gpus: 8, gpa: 1, cpu: -4}
- name: n
  lables: {a: b}
queues:
- name: a
  weigth: 2
  weight: much
  guarantee: {gpu: 9}
  capability: {gpu: 8}
- name: b
  parent: c
- name: b
`, "w.yaml", `jobs:
- {submit: 0, gang: 1, duration: 1}
- submit: 0
  gang: [1]
  gpus: 1
  duration: 1h30
  repeat: {count: 2}
`,
		[]string{
			`cluster.yaml:3: nodes[0].count is "none": give a whole number from 1 to 100000`,
			`cluster.yaml:4: nodes[0].resources.cpu is "-4": give a quantity of 0 or more, such as 4, 500m or 16Gi`,
			`cluster.yaml:4: there is no resource "gpa": did you mean "gpu"? there are cpu, memory, ephemeral-storage, pods, gpu, and any name with a domain, as nvidia.com/gpu`,
			`cluster.yaml:5: nodes[1].resources is not given: say what each node has, as in {nvidia.com/gpu: 8, cpu: 96, memory: 1Ti}`,
			`cluster.yaml:6: there is no key "nodes[1].lables": did you mean "nodes[1].labels"? there are nodes[1].name, nodes[1].count, nodes[1].resources, nodes[1].labels, nodes[1].taints`,
			`cluster.yaml:8: queue a: guarantee[nvidia.com/gpu] "9": is 1 more than its capability, 8: lower it, or raise that: it would be refused by the cluster`,
			`cluster.yaml:9: there is no key "queues[0].weigth": did you mean "queues[0].weight"? there are queues[0].name`,
			`cluster.yaml:10: queues[0].weight is "much": give what a Queue has there`,
			`cluster.yaml:13: queue b: parent "c": there is no such queue: create it, or name another parent: it would be refused by the cluster`,
			`cluster.yaml:15: queue "b" is there already, at line 13: keep one, or give it another name`,
			`w.yaml:2: jobs[0].gpus is not given: give how many GPUs each pod asks for, 0 for none`,
			`w.yaml:4: jobs[1].gang is a list: write one value`,
			`w.yaml:6: jobs[1].duration is "1h30": give seconds, as in 90, or a duration, as in 1h30m, of a millisecond or more`,
			`w.yaml:7: jobs[1].repeat.every is not given: give how often it comes, as in repeat: {count: 10, every: 1h}`,
		},
	},
	"CSV that is not called so": {
		"nodes: [{name: n, resources: {gpu: 8}}]\n", "w.txt", "submit,gang,gpus,duration\n0,1,1,1\n",
		[]string{`w.txt:1: this is "submit,gang,gpus,duration 0,1,1,1": write jobs as a list below the key jobs, or as CSV in a file called .csv`},
	},
	"no YAML": {
		"nodes: [\n", "w.yaml", "jobs: {a: 1, a: 2}\n",
		[]string{
			`cluster.yaml:1: this is no YAML: did not find expected node content: mind colons`,
			`w.yaml:1: this is no YAML: mapping key "a" already defined at line 1: mind colons`,
		},
	},
	"objects of other kinds": {
		"kind: Pod\n", "w.yaml", "jobs: [{submit: 0, gang: 1, gpus: 1, duration: 1}]\n",
		[]string{`cluster.yaml:1: kind is "Pod": give Node, Queue or a List of them; or leave kind out and write nodes and queues`},
	},
	"more than can be added up": {
		"nodes: [{name: n, resources: {cpu: 10P}}]\n", "w.csv", "submit,gang,gpus,duration,cpu\n0,1,1,1,9e18\n",
		[]string{
			`cluster.yaml:1: nodes[0].resources.cpu is "10P": give at most 9007199254740992m`,
			`w.csv:2: column cpu is "9e18": give at most 9007199254740992m`,
		},
	},
	"nothing": {
		"", "w.yaml", "", []string{
			`cluster.yaml: nodes are not given: name at least one group, as in`,
			`w.yaml: jobs are not given: name at least one`,
		},
	},
}

func TestWhatIsWrongIsSaidAllAtOnce(t *testing.T) {
	for name, tt := range wrong {
		t.Run(name, func(t *testing.T) {
			_, err := simulate.Read(simulate.File{Name: "cluster.yaml", Text: []byte(tt.cluster)}, simulate.File{Name: tt.file, Text: []byte(tt.jobs)})
			faults, ok := errors.AsType[simulate.Faults](err)
			if !ok {
				t.Fatalf("got %v, want faults", err)
			}
			var got []string
			for i, f := range faults {
				text := f.Error()
				if i < len(tt.want) && strings.HasPrefix(text, tt.want[i]) {
					text = tt.want[i] // what follows are lists of names
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestObjectsAsKubectlPrintsThemAreACluster(t *testing.T) {
	const cluster = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: a, labels: {zone: x}, resourceVersion: "5"}
  spec: {taints: [{key: k, effect: NoSchedule}]}
  status: {allocatable: {nvidia.com/gpu: "8", cpu: "4", pods: "110"}, capacity: {cpu: "5"}}
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: Queue
  metadata: {name: root}
  spec: {weight: 1}
- apiVersion: scheduling.volcano.sh/v1beta1
  kind: Queue
  metadata: {name: q}
  spec: {weight: 3, guarantee: {resource: {nvidia.com/gpu: 2}}, reclaimable: false, dequeueStrategy: fifo}
  status: {state: Open}
---
nodes: [{name: b, count: 2, resources: {gpu: 4}}]
`
	c, faults := simulate.ParseCluster("c.yaml", []byte(cluster))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name+": "+n.Allocatable.String())
	}
	want := []string{"a: cpu 4, nvidia.com/gpu 8, pods 110", "b-0: nvidia.com/gpu 4, pods 110", "b-1: nvidia.com/gpu 4, pods 110"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if len(c.Queues) != 2 {
		t.Fatalf("got queues %v, want root and q", c.Queues)
	}
	q := c.Queues[1]
	if q.Name != "q" || q.Parent != "root" || q.Weight != 3 || !q.Strict || q.Reclaimable || q.Guarantee.String() != "nvidia.com/gpu 2" {
		t.Errorf("queue %+v", q)
	}
}

func TestJobsAreReadTheSameFromCSVAndYAML(t *testing.T) {
	csv, faults := simulate.ParseWorkload("w.CSV", []byte("\ufeffName, submit,gang,gpus,duration,queue,priority,cpu,memory,min,deadline\nb,1m,4,2,1.5,q,-3,500m,1Gi,2,1h\na,0,1,0,60,,,,,,\n"))
	yaml, more := simulate.ParseWorkload("w.yml", []byte(`jobs:
- {name: b, submit: 1m, gang: 4, gpus: 2, duration: 1.5, queue: q, priority: -3, cpu: 500m, memory: 1Gi, min: 2, deadline: 1h}
- {name: a, submit: 0, gang: 1, gpus: 0, duration: 60}
`))
	if faults = append(faults, more...); len(faults) > 0 {
		t.Fatal(faults)
	}
	if len(csv) != 2 {
		t.Fatalf("%d jobs, want 2", len(csv))
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".place" }, cmp.Ignore())
	if diff := cmp.Diff(yaml, csv, ignore); diff != "" {
		t.Error(diff)
	}
	b := csv[1] // in order of arrival
	if b.Name != "b" || b.Submit != time.Minute || b.Duration != 1500*time.Millisecond || b.Min != 2 {
		t.Errorf("got %+v", b)
	}
	want := resource.ListOf(map[string]int64{simulate.GPU: 2, resource.CPU: 500, resource.Memory: 1 << 30, resource.Pods: 1})
	if diff := cmp.Diff(want, b.Shape.Requests); diff != "" {
		t.Error(diff)
	}
}

func TestAJobRepeats(t *testing.T) {
	jobs, faults := simulate.ParseWorkload("w.yaml", []byte("jobs: [{name: a, submit: 10, gang: 1, gpus: 1, duration: 1, deadline: 20, repeat: {count: 3, every: 1m}}]"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, j := range jobs {
		got = append(got, j.Name+" "+j.Submit.String()+" "+j.Deadline.String())
	}
	if diff := cmp.Diff([]string{"a-1 10s 20s", "a-2 1m10s 1m20s", "a-3 2m10s 2m20s"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzTheWorkload(f *testing.F) {
	f.Add("submit,gang,gpus,duration\n0,1,1,1\n", true)
	f.Add("jobs: [{submit: 0, gang: 1, gpus: 1, duration: 1, resources: {cpu: 1}}]", false)
	f.Add("a: &a [*a]", false)
	f.Fuzz(func(t *testing.T, text string, csv bool) {
		name := "w.yaml"
		if csv {
			name = "w.csv"
		}
		jobs, faults := simulate.ParseWorkload(name, []byte(text))
		if len(jobs) == 0 && len(faults) == 0 {
			t.Error("neither jobs nor faults")
		}
		_, _ = simulate.ParseCluster(name, []byte(text))
	})
}
