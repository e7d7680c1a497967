package v1beta1_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
)

// queues reads one queue per line: name: {spec}.
func queues(t *testing.T, text string) []schedulingv1beta1.Queue {
	t.Helper()
	var all []schedulingv1beta1.Queue
	for line := range strings.Lines(text) {
		name, spec, found := strings.Cut(strings.TrimSpace(line), ": ")
		if !found {
			continue
		}
		q := schedulingv1beta1.Queue{}
		q.Name = name
		if err := yaml.Unmarshal([]byte(spec), &q.Spec); err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

// TestAQueueIsCheckedAgainstItselfAndItsKin checks the first queue of each world.
func TestAQueueIsCheckedAgainstItselfAndItsKin(t *testing.T) {
	tests := map[string]struct {
		world string
		want  []string
	}{
		"limits that agree": {`q: {guarantee: {cpu: 1}, deserved: {cpu: 2}, capability: {cpu: 3}}`, nil},
		"equal limits":      {`q: {guarantee: {resource: {cpu: 1}}, deserved: {cpu: 1000m}, capability: {cpu: "1"}}`, nil},
		"a guarantee alone, as the seeds have it": {
			`q: {guarantee: {nvidia.com/gpu: 16}, capability: {nvidia.com/gpu: 64}}`, nil,
		},
		"more guaranteed than deserved, and more deserved than it may have": {
			`q: {guarantee: {cpu: 4}, deserved: {cpu: 3500m, memory: 2Gi}, capability: {memory: 1Gi}}`,
			[]string{
				`spec.guarantee[cpu]: Invalid value: "4": is 500m more than its deserved, 3500m: lower it, or raise that`,
				`spec.deserved[memory]: Invalid value: "2Gi": is 1Gi more than its capability, 1Gi: lower it, or raise that`,
			},
		},
		"more guaranteed than it may have": {
			`q: {guarantee: {cpu: 4}, capability: {cpu: 1}}`,
			[]string{`spec.guarantee[cpu]: Invalid value: "4": is 3 more than its capability, 1: lower it, or raise that`},
		},
		"below nothing, and no number": {
			`q: {guarantee: {cpu: many}, capability: {cpu: -1}}`,
			[]string{
				`spec.guarantee[cpu]: Invalid value: "\"many\"": is no quantity: give a number, such as 4 or 16Gi`,
				`spec.capability[cpu]: Invalid value: "-1": is negative: set it to 0 or more`,
			},
		},
		"no such parent": {
			`q: {parent: gone}`,
			[]string{`spec.parent: Invalid value: "gone": there is no such queue: create it, or name another parent`},
		},
		"root, while it is made anew": {`q: {parent: root}`, nil},
		"root below another":          {"root: {parent: q}\nq: {parent: root}", []string{`spec.parent: Invalid value: "q": root is above all queues: name none`}},
		"its own parent": {
			`q: {parent: q}`,
			[]string{`spec.parent: Invalid value: "q": the queues above it form a circle (q, q): name a parent outside it`},
		},
		"a circle of three": {
			"q: {parent: a}\na: {parent: b}\nb: {parent: q}",
			[]string{`spec.parent: Invalid value: "a": the queues above it form a circle (q, a, b, q): name a parent outside it`},
		},
		"a circle above that it is not part of": {"q: {parent: a}\na: {parent: b}\nb: {parent: a}", nil},
		"a ceiling above the nearest that names the resource": {
			"q: {parent: a, capability: {cpu: 9, gpu: 9}}\na: {parent: b, capability: {gpu: 9}}\nb: {capability: {cpu: 4, gpu: 1}}",
			[]string{`spec.capability[cpu]: Invalid value: "9": is 5 more than the capability of queue "b" above it, 4: lower it, or raise that`},
		},
		"shares above what the ceilings above allow": {
			"q: {parent: a, guarantee: {cpu: 5}, deserved: {cpu: 6}}\na: {capability: {cpu: 4}}",
			[]string{
				`spec.guarantee[cpu]: Invalid value: "5": is 1 more than the capability of queue "a" above it, 4: lower it, or raise that`,
				`spec.deserved[cpu]: Invalid value: "6": is 2 more than the capability of queue "a" above it, 4: lower it, or raise that`,
			},
		},
		"children that have more than it": {
			"q: {guarantee: {gpu: 8}, deserved: {gpu: 16}}\nb: {parent: q, guarantee: {gpu: 6}, deserved: {gpu: 8}}\na: {parent: q, guarantee: {gpu: 4}, deserved: {gpu: 8}}",
			[]string{`spec.guarantee[gpu]: Invalid value: "8": the queues below have 10 together (a 4, b 6), 2 more: raise it, or lower theirs`},
		},
		"children of a queue that names no limit": {"root: {}\nb: {guarantee: {gpu: 6}}\na: {deserved: {gpu: 4}}", nil},
		"many children": {
			"q: {deserved: {cpu: 9}}" + strings.Repeat("\nx: {parent: q, deserved: {cpu: 1}}", 10),
			[]string{`spec.deserved[cpu]: Invalid value: "9": the queues below have 10 together (x 1, x 1, x 1, x 1, x 1, x 1, x 1, x 1, and 2 more), 1 more: raise it, or lower theirs`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			all := queues(t, tt.world)
			var got []string
			for _, err := range all[0].Check(schedulingv1beta1.KinOf(&all[0], all)) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
