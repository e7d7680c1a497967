package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/scheduler/record"
)

// offline is a scheduler without an API server: what it would write waits in its queues.
func offline(t *testing.T) *Scheduler {
	t.Helper()
	e, err := engine.New(conf.Default(), plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	s := &Scheduler{
		engine: e, mailbox: newMailbox[engine.Event](), waiting: map[string]reason.Reason{},
		dumps: make(chan func([]byte)), questions: make(chan question), ended: make(chan struct{}),
	}
	s.binder, s.statuses, s.queues = newBinder(s), newStatusWriter(s), newQueueWriter(s)
	s.announcer, s.nominator, s.evictor = newAnnouncer(s), newNominator(s), newEvictor(s)
	s.configs = &configs{Scheduler: s, running: conf.Default(), updates: make(chan update)}
	return s
}

// run runs the loop until the test ends, or the returned function is called.
func (s *Scheduler) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.loop(ctx, nil) }()
	s.ready.Store(true)
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

// get asks for an explanation.
func (s *Scheduler) get(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, ExplainPath+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Explain(w, r)
	return w
}

// pods are so many pods of the gang ml/a that ask for GPUs.
func pods(n int, gpus int64) []engine.Event {
	const gang = "ml/a"
	var events []engine.Event
	for i := range n {
		name := fmt.Sprintf("%s-%d", gang, i)
		events = append(events, engine.TaskSet{Task: model.TaskSpec{
			UID: name, Name: name, Gang: gang, Ours: true,
			Shape: model.Shape{Key: fmt.Sprint(gpus), Requests: resource.ListOf(map[string]int64{"nvidia.com/gpu": gpus})},
		}})
	}
	return events
}

func group(least int32) engine.Event {
	return engine.GangSet{Gang: model.GangSpec{Key: "ml/a", UID: "ml/a", Queue: "q", Min: least}}
}

// TestAnExplanationIsOfWhatIsToldByNow asks right after events were put into the
// mailbox: the answer counts them, whether the gang lacks pods, waits or is placed.
func TestAnExplanationIsOfWhatIsToldByNow(t *testing.T) {
	s := offline(t)
	if got := s.get("GET", "ml/a"); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "not leading") {
		t.Errorf("before the start: %d: %s", got.Code, got.Body)
	}
	stop := s.run(t)
	s.mailbox.put(
		engine.QueueSet{Queue: model.QueueSpec{Name: "q"}},
		engine.NodeSet{Node: model.NodeSpec{Name: "n", Allocatable: resource.ListOf(map[string]int64{"nvidia.com/gpu": 4})}},
		group(3),
	)
	for _, step := range []struct {
		events []engine.Event
		want   string
	}{
		{nil, "PodGroup ml/a waits, NotEnoughTasks: the gang needs 3, only 0 exist (short 3)\n"},
		{pods(2, 3), "PodGroup ml/a waits, NotEnoughTasks: the gang needs 3, only 2 exist (short 1)\n"},
		{pods(3, 3), "PodGroup ml/a waits, NeverFits: the gang needs 3 with nvidia.com/gpu 3 each, and even with all nodes empty only 1 would fit: ask for less, or add nodes; of 1 nodes: 1 insufficient nvidia.com/gpu\n"},
		{pods(4, 1), "PodGroup ml/a is placed: 4 tasks have a node or are done, it needs 3, 0 run\n"},
		{pods(5, 1), "PodGroup ml/a is placed: 4 tasks have a node or are done, it needs 3, 0 run; 1 more wait, NotEnoughResources: the gang needs 1 with nvidia.com/gpu 1 each, room for 0 (short 1); of 1 nodes: 1 insufficient nvidia.com/gpu\n"},
	} {
		s.mailbox.put(step.events...)
		got := s.get("GET", "ml/a")
		if got.Code != http.StatusOK || got.Body.String() != step.want {
			t.Errorf("%d: got %swant %s", got.Code, got.Body, step.want)
		}
	}
	stop()
	if got := s.get("GET", "ml/a"); got.Code != http.StatusServiceUnavailable {
		t.Errorf("after the end: %d: %s", got.Code, got.Body)
	}
}

func TestExplanationsHaveTheFormThatIsAskedFor(t *testing.T) {
	s := offline(t)
	s.run(t)
	s.mailbox.put(engine.GangSet{Gang: model.GangSpec{Key: "ml/a", UID: "a", Queue: "odd\nname\x1b[2J", Min: 1}})
	s.mailbox.put(pods(1, 1)...)
	const asJSON, asText = "application/json", "text/plain; charset=utf-8"
	for name, tt := range map[string]struct {
		method, path, accept string
		code                 int
		kind, body           string // a part of it
	}{
		"text":                          {"GET", "ml/a", "*/*", 200, asText, `queue "odd\nname\x1b[2J" does not exist`},
		"only the head":                 {"HEAD", "ml/a", "", 200, asText, ""},
		"JSON, by the header":           {"GET", "ml/a", "application/json", 200, asJSON, `"code":"QueueMissing"`},
		"JSON, by the address":          {"GET", "ml/a?format=json", "", 200, asJSON, `"waits":true`},
		"text in spite of the header":   {"GET", "ml/a?format=text", "application/json", 200, asText, "waits, QueueMissing"},
		"another format":                {"GET", "ml/a?format=x%0aml", "", 400, asText, `format "x\nml" is unknown: give json or text`},
		"an empty format":               {"GET", "ml/a?format=", "", 400, asText, `format "" is unknown: give json or text`},
		"another method":                {"POST", "ml/a", "", 405, asText, `method "POST" can't explain: use GET`},
		"a gang that nobody knows":      {"GET", "ml/b", "", 404, asText, "PodGroup \"ml/b\" is not known here; it is to be NAMESPACE/NAME of one that `kubectl get podgroups --all-namespaces` lists"},
		"control characters for a name": {"GET", "a%0d%0ab%1b[31m", "", 404, asText, `PodGroup "a\r\nb\x1b[31m" is not known here`},
		"no name":                       {"GET", "", "", 404, asText, `PodGroup "" is not known here`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.get(tt.method, tt.path, "Accept", tt.accept)
			body := got.Body.String()
			if got.Code != tt.code || got.Header().Get("Content-Type") != tt.kind || !strings.Contains(body, tt.body) {
				t.Errorf("%d %s: %s", got.Code, got.Header().Get("Content-Type"), body)
			}
			if strings.ContainsAny(strings.TrimSuffix(body, "\n"), "\n\r\x1b") {
				t.Errorf("control characters are in %q", body)
			}
			if allow := got.Header().Get("Allow"); (tt.code == 405) != (allow == "GET, HEAD") {
				t.Errorf("allowed is %q", allow)
			}
			if tt.kind == asJSON && !json.Valid(got.Body.Bytes()) {
				t.Errorf("no JSON: %s", body)
			}
		})
	}
}

// TestAQuestionEndsWithItsRequest asks a scheduler whose loop does not answer.
func TestAQuestionEndsWithItsRequest(t *testing.T) {
	s := offline(t)
	s.ready.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	s.Explain(w, httptest.NewRequest("GET", ExplainPath+"ml/a", nil).WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "deadline exceeded") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

// TestQuestionsAreRecorded: a replay looks at the same as the scheduler did.
func TestQuestionsAreRecorded(t *testing.T) {
	s := offline(t)
	var out bytes.Buffer
	s.options.Record = &out
	stop := s.run(t)
	s.mailbox.put(group(1))
	s.get("GET", "ml/a")
	stop()
	if !strings.Contains(out.String(), `{"asked":"ml/a"}`) {
		t.Errorf("not recorded: %s", out.String())
	}
	parse := func(text string) (engine.Config, error) {
		return conf.Parse([]byte(text), actions.Builtin(), plugins.Builtin())
	}
	if _, err := record.Replay(&out, parse, plugins.Builtin()); err != nil {
		t.Error(err)
	}
}
