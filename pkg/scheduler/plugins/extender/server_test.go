package extender_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/extender"
)

// question is what the server was asked.
type question struct {
	Verb string
	Body map[string]any
}

// server is an extender that keeps what it was asked.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []question
}

// serve answers each verb as told; a verb that is not there with 404.
func serve(t *testing.T, answers map[string]http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		q := question{Verb: r.URL.Path[1:]}
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &q.Body) != nil {
			http.Error(w, "not a question", http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, q)
		s.mu.Unlock()
		answer := answers[q.Verb]
		if answer == nil {
			http.NotFound(w, r)
			return
		}
		r.Body = io.NopCloser(jsonReader(body))
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) count(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, q := range s.asked {
		if q.Verb == verb {
			n++
		}
	}
	return n
}

// verbs lists what was asked, in order.
func (s *server) verbs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, q := range s.asked {
		list = append(list, q.Verb)
	}
	return list
}

// first is the first question with that verb.
func (s *server) first(t *testing.T, verb string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.asked, func(q question) bool { return q.Verb == verb })
	if i < 0 {
		t.Fatalf("%s was not asked", verb)
	}
	return s.asked[i].Body
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

type abilities interface {
	framework.Begins
	framework.AdmitsGangs
	framework.VotesOnGangs
	framework.JudgesTasks
	framework.Retries
}

var start = time.Unix(1000, 0)

// build makes the plugin with the server's address and those arguments, and lets a cycle begin.
func build(t *testing.T, s *server, w *model.World, args framework.Args) abilities {
	t.Helper()
	all := framework.Args{"extender.urlPrefix": s.URL}
	for key, value := range args {
		all["extender."+key] = value
	}
	p, err := extender.New(t.Context())(all, framework.Env{Dim: w.Resources.Dim})
	if err != nil {
		t.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		t.Fatal("extender lacks abilities")
	}
	able.Begin(w, start)
	return able
}

// world has the nodes n1 and n2 of 8 cores and 8 GPUs, a task on n1, and a gang
// ml/bert with two waiting tasks of 2 cores and a GPU each.
func world() (*model.World, *model.Gang) {
	w := model.New()
	list := func(cores, gpus, pods int64) resource.List {
		return resource.ListOf(map[string]int64{"cpu": 1000 * cores, "memory": cores << 30, "nvidia.com/gpu": gpus, "pods": pods})
	}
	for _, name := range []string{"n1", "n2"} {
		w.SetNode(model.NodeSpec{Name: name, Allocatable: list(8, 8, 110), Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "z"}}}})
	}
	w.SetQueue(model.QueueSpec{Name: "ai", Capability: resource.ListOf(map[string]int64{"cpu": 1500, "memory": 1 << 30})})
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name}}
	}
	w.SetGang(model.GangSpec{Key: "ml/bert", UID: "u", Queue: "ai", Min: 2, MinResources: list(4, 2, 2), RoleMin: []model.RoleMin{{Role: "worker", Min: 2}}})
	for _, name := range []string{"a", "b"} {
		w.SetTask(model.TaskSpec{UID: name, Name: "ml/" + name, Gang: "ml/bert", Role: "worker", Pod: pod(name), Shape: model.Shape{Key: "s", Requests: list(2, 1, 1)}})
	}
	w.SetTask(model.TaskSpec{UID: "old", Name: "ml/old", Node: "n1", Running: true, Pod: pod("old"), Shape: model.Shape{Key: "o", Requests: list(1, 0, 1)}})
	return w, w.GangOf("ml/bert")
}
