package extender_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/extender"
)

func jsonReader(b []byte) io.Reader { return bytes.NewReader(b) }

// nodeOf is the name of the node that a predicate is asked about.
func nodeOf(r *http.Request) string {
	var q struct{ Node struct{ Name string } }
	_ = json.NewDecoder(r.Body).Decode(&q)
	return q.Node.Name
}

func TestItFiltersAndScoresNodes(t *testing.T) {
	w, g := world()
	s := serve(t, map[string]http.HandlerFunc{
		"fits": func(w http.ResponseWriter, r *http.Request) {
			if name := nodeOf(r); name == "n1" {
				say(`{"status": "n1 is too hot", "code": 3}`)(w, r)
			} else {
				say(`{}`)(w, r)
			}
		},
		"score": say(`{"nodeScore": {"n2": 7.5, "n9": 1e300}}`),
	})
	p := build(t, s, w, framework.Args{"predicateVerb": "fits", "prioritizeVerb": "score"})
	j, why, ok := p.Judge(g.Tasks[0])
	if !ok {
		t.Fatal(why)
	}
	n1, n2 := w.NodeNamed("n1"), w.NodeNamed("n2")
	if cause, fits := j.Fits(n1); fits || cause != "extender: it is too hot" {
		t.Errorf("n1: %q, %t", cause, fits)
	}
	if cause, fits := j.Fits(n2); !fits {
		t.Errorf("n2: %q", cause)
	}
	if j.Score(n1) != 0 || j.Score(n2) != 75_000 {
		t.Errorf("scores %d and %d, want 0 and 75000", j.Score(n1), j.Score(n2))
	}
	if got := s.count("fits"); got != 2 {
		t.Errorf("%d questions about two nodes", got)
	}
	w.Place(g.Tasks[0], n2)
	j.Placed(g.Tasks[0], n2)
	j.Fits(n1)
	j.Fits(n2)
	if got := s.count("fits"); got != 3 {
		t.Errorf("%d questions after a task was placed on one of two nodes, want 3", got)
	}
}

func TestItSpeaksVolcanosWords(t *testing.T) {
	w, g := world()
	s := serve(t, map[string]http.HandlerFunc{
		"predicate": say(`{}`), "prioritize": say(`{"nodeScore": {}}`), "enqueue": say(`{"status": 0}`), "overused": say(`{}`), "open": say(``),
	})
	p := build(t, s, w, framework.Args{
		"predicateVerb": "predicate", "prioritizeVerb": "prioritize", "jobEnqueueableVerb": "enqueue", "queueOverusedVerb": "overused", "onSessionOpenVerb": "open",
	})
	w.SetTask(model.TaskSpec{UID: "b", Gang: "ml/bert", Role: "worker", Deleting: true, Name: "ml/b", Shape: g.Tasks[1].Shape})
	w.NodeNamed("n2").Free = nil // one candidate, so that there is one question
	if _, why, ok := p.Judge(g.Tasks[0]); !ok {
		t.Fatal(why)
	}
	p.VoteOnGang(g, nil)
	p.AdmitGang(g)
	tests := map[string]struct {
		verb string
		path []string
		want any
	}{
		"the task's name":               {"predicate", []string{"task", "Name"}, "a"},
		"its namespace":                 {"predicate", []string{"task", "Namespace"}, "ml"},
		"its job":                       {"predicate", []string{"task", "Job"}, "ml/bert"},
		"its role":                      {"predicate", []string{"task", "TaskRole"}, "worker"},
		"thousandths of a core":         {"predicate", []string{"task", "Resreq", "MilliCPU"}, 2000.0},
		"bytes":                         {"predicate", []string{"task", "InitResreq", "Memory"}, float64(2 << 30)},
		"thousandths of a piece":        {"predicate", []string{"task", "Resreq", "ScalarResources", "nvidia.com/gpu"}, 1000.0},
		"a pending task":                {"predicate", []string{"task", "Status"}, 1.0},
		"the pod":                       {"predicate", []string{"task", "Pod", "metadata", "name"}, "a"},
		"the node's name":               {"predicate", []string{"node", "Name"}, "n1"},
		"the node itself":               {"predicate", []string{"node", "Node", "metadata", "labels", "zone"}, "z"},
		"what is free":                  {"predicate", []string{"node", "Idle", "MilliCPU"}, 7000.0},
		"what is used":                  {"predicate", []string{"node", "Used", "MilliCPU"}, 1000.0},
		"how big it is":                 {"predicate", []string{"node", "Allocatable", "MaxTaskNum"}, 110.0},
		"that it is ready":              {"predicate", []string{"node", "State", "Phase"}, 1.0},
		"a running task on it":          {"predicate", []string{"node", "Tasks", "ml/old", "Status"}, 32.0},
		"with its pod":                  {"predicate", []string{"node", "Tasks", "ml/old", "Pod", "metadata", "name"}, "old"},
		"without its pod, when many":    {"prioritize", []string{"nodes", "0", "Tasks", "ml/old", "Pod"}, nil},
		"all candidates":                {"prioritize", []string{"nodes", "0", "Name"}, "n1"},
		"the job's queue":               {"enqueue", []string{"job", "Queue"}, "ai"},
		"its minimum":                   {"enqueue", []string{"job", "MinAvailable"}, 2.0},
		"that of a role":                {"enqueue", []string{"job", "TaskMinAvailable", "worker"}, 2.0},
		"its PodGroup":                  {"enqueue", []string{"job", "PodGroup", "spec", "minResources", "cpu"}, "4"},
		"its tasks":                     {"enqueue", []string{"job", "Tasks", "b", "Status"}, 64.0},
		"what they ask for":             {"enqueue", []string{"job", "TotalRequest", "MilliCPU"}, 4000.0},
		"the queue's ceiling":           {"overused", []string{"queue", "Capability", "cpu"}, "1500m"},
		"in the units that users write": {"overused", []string{"queue", "Capability", "memory"}, "1Gi"},
		"that it is open":               {"overused", []string{"queue", "State"}, "Open"},
		"the nodes there are":           {"open", []string{"NodeList", "1"}, "n2"},
		"and what is on them":           {"open", []string{"Nodes", "n1", "Tasks", "ml/old", "Name"}, "old"},
		"and the queues":                {"open", []string{"Queues", "ai", "Weight"}, 1.0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := at(s.first(t, tt.verb), tt.path); !cmp.Equal(got, tt.want) {
				t.Errorf("%s %v is %v, want %v", tt.verb, tt.path, got, tt.want)
			}
		})
	}
}

// at follows a path through JSON.
func at(v any, path []string) any {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			if i := int(key[0] - '0'); i < len(x) {
				v = x[i]
			}
		}
	}
	return v
}

func TestAnswersAboutANodeHaveHadThreeForms(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want string }{
		"nothing is a yes":               {`{}`, ""},
		"null is a yes":                  {`{"status": null, "code": 0}`, ""},
		"an empty text":                  {`{"status": "", "errorMessage": ""}`, ""},
		"a text in status":               {`{"status": "full", "code": 1}`, "extender: full"},
		"a text in errorMessage":         {`{"errorMessage": "full"}`, "extender: full"},
		"a list":                         {`{"status": [{"Code": 0}, {"Code": 2, "Reason": "full"}]}`, "extender: full"},
		"a list that says yes":           {`{"status": [{"Code": 0}]}`, ""},
		"a code alone":                   {`{"code": 2}`, "extender: code 2"},
		"a code in a list":               {`{"status": [{"Code": 2}]}`, "extender: code 2"},
		"a long text is cut":             {`{"status": "` + strings.Repeat("so ", 100) + `full"}`, "extender: " + strings.TrimSpace(strings.Repeat("so ", 40)) + " …"},
		"a status of another kind":       {`{"status": 7}`, "extender can't be asked: its answer is not what was asked for: status 7: give a text"},
		"a text where none was expected": {`{"code": "x"}`, "extender can't be asked: its answer is not what was asked for: json: cannot unmarshal string into Go struct field"},
	} {
		t.Run(name, func(t *testing.T) {
			w, g := world()
			p := build(t, serve(t, map[string]http.HandlerFunc{"p": say(tt.answer)}), w, framework.Args{"predicateVerb": "p"})
			j, why, ok := p.Judge(g.Tasks[0])
			if !ok {
				t.Fatal(why)
			}
			if cause, fits := j.Fits(w.NodeNamed("n1")); fits != (tt.want == "") || !strings.HasPrefix(cause, tt.want) {
				t.Errorf("cause %q, want %q", cause, tt.want)
			}
		})
	}
}

func TestOnlyTasksWithManagedResourcesConcernIt(t *testing.T) {
	w, g := world()
	s := serve(t, nil)
	for name, tt := range map[string]struct {
		args framework.Args
		want bool
	}{
		"all, when none is named": {framework.Args{"predicateVerb": "p"}, true},
		"one that is asked for":   {framework.Args{"predicateVerb": "p", "managedResources": "x/y, nvidia.com/gpu"}, true},
		"a YAML list":             {framework.Args{"prioritizeVerb": "p", "managedResources": []any{"nvidia.com/gpu"}}, true},
		"one that is not":         {framework.Args{"predicateVerb": "p", "managedResources": "x/y"}, false},
		"no question about tasks": {framework.Args{"jobEnqueueableVerb": "p"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := build(t, s, w, tt.args).Kind(g.Tasks[0]) != ""; got != tt.want {
				t.Errorf("concerned: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestItVotesAndCallsQueuesOverused(t *testing.T) {
	w, g := world()
	status := "0"
	s := serve(t, map[string]http.HandlerFunc{
		"enqueue":  func(w http.ResponseWriter, r *http.Request) { say(`{"status": `+status+`}`)(w, r) },
		"overused": say(`{"overused": true}`),
	})
	p := build(t, s, w, framework.Args{"jobEnqueueableVerb": "enqueue", "queueOverusedVerb": "overused"})
	for _, want := range []framework.Vote{framework.Permit, framework.Abstain, framework.Refuse} {
		status = strconv.Itoa(int(want))
		vote, why := p.VoteOnGang(g, nil)
		if vote != want {
			t.Errorf("status %s gives vote %d, want %d", status, vote, want)
		}
		if text := "the scheduler extender at " + s.URL + "/enqueue says no: the gang may not go ahead yet"; want == framework.Refuse && why.String() != text {
			t.Errorf("got  %s\nwant %s", why, text)
		}
	}
	for range 3 {
		why, ok := p.AdmitGang(g)
		if text := "the scheduler extender at " + s.URL + `/overused says no: queue "ai" is overused`; ok || why.String() != text {
			t.Errorf("got  %s\nwant %s", why, text)
		}
	}
	if got := s.count("overused"); got != 1 {
		t.Errorf("the queue was asked about %d times in one cycle", got)
	}
	if at, ok := p.RetryAt(); !ok || at.Before(start.Add(time.Second)) {
		t.Errorf("what was refused is tried again at %v (%t)", at, ok)
	}
	p.Begin(w, start.Add(time.Minute))
	if _, ok := p.RetryAt(); ok {
		t.Error("a cycle that heard no refusal is followed by another try")
	}
}

func TestVerbsThatAreNotGivenAreNotAsked(t *testing.T) {
	w, g := world()
	s := serve(t, nil)
	p := build(t, s, w, nil)
	p.AdmitGang(g)
	if vote, _ := p.VoteOnGang(g, nil); vote != framework.Abstain {
		t.Error("it votes without having asked")
	}
	p.Begin(w, start)
	if got := s.verbs(); got != nil {
		t.Errorf("asked %v", got)
	}
}

func TestItTellsOfPlacementsAndOfThoseTakenBack(t *testing.T) {
	w, g := world()
	s := serve(t, map[string]http.HandlerFunc{"+": say(``), "-": say(`not even JSON`), "open": say(``), "close": say(``)})
	p := build(t, s, w, framework.Args{"allocateFuncVerb": "+", "deallocateFuncVerb": "-", "onSessionOpenVerb": "open", "onSessionCloseVerb": "close"})
	a, b, n1, n2 := g.Tasks[0], g.Tasks[1], w.NodeNamed("n1"), w.NodeNamed("n2")
	try := func(places map[*model.Task]*model.Node, commit bool) {
		mark := w.Mark()
		j, why, ok := p.Judge(a)
		if !ok {
			t.Fatal(why)
		}
		for _, task := range []*model.Task{a, b} {
			if n := places[task]; n != nil {
				w.Place(task, n)
				j.Placed(task, n)
			}
		}
		if !commit {
			w.Rollback(mark)
		}
		w.Commit()
	}
	try(map[*model.Task]*model.Node{a: n1, b: n2}, false)
	try(map[*model.Task]*model.Node{a: n2}, true)
	w.DropTask("b")
	p.Begin(w, start.Add(time.Second))
	p.Begin(w, start.Add(2*time.Second))
	want := []string{"open", "+", "+", "-", "-", "+", "close", "open", "close", "open"}
	if diff := cmp.Diff(want, s.verbs()); diff != "" {
		t.Error(diff)
	}
	if got := at(s.first(t, "-"), []string{"task", "NodeName"}); got != "n1" {
		t.Errorf("taken back from %v", got)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	const address = "http://127.0.0.1:1"
	for name, tt := range map[string]struct {
		args framework.Args
		want string
	}{
		"no address":              {framework.Args{}, "extender.urlPrefix"},
		"an address without host": {framework.Args{"extender.urlPrefix": "localhost:80"}, `argument extender.urlPrefix is "localhost:80": give the server's address, such as http://127.0.0.1:8713`},
		"another scheme":          {framework.Args{"extender.urlPrefix": "ftp://x"}, "extender.urlPrefix"},
		"all the time":            {framework.Args{"extender.urlPrefix": address, "extender.httpTimeout": "1h"}, "at most 1m0s"},
		"no time at all":          {framework.Args{"extender.urlPrefix": address, "extender.httpTimeout": "0s"}, "above 0"},
		"no duration":             {framework.Args{"extender.urlPrefix": address, "extender.httpTimeout": "soon"}, "extender.httpTimeout"},
		"no boolean":              {framework.Args{"extender.urlPrefix": address, "extender.ignorable": "perhaps"}, "extender.ignorable"},
		"a misspelt verb":         {framework.Args{"extender.urlPrefix": address, "extender.predicatVerb": "p"}, `did you mean "extender.predicateVerb"?`},
	} {
		if _, err := extender.New(t.Context())(tt.args, framework.Env{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %s", name, err, tt.want)
		}
	}
	known := framework.Args{"extender.urlPrefix": address, "extender.jobReadyVerb": "r", "extender.preemptableVerb": "p", "extender.reclaimableVerb": "c"}
	if _, err := extender.New(context.WithoutCancel(t.Context()))(known, framework.Env{}); err != nil {
		t.Error(err)
	}
}
