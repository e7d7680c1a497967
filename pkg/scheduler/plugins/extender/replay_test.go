package extender_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/extender"
	"github.com/muster-sh/muster/pkg/scheduler/record"
)

func gpus(n int64) resource.List { return resource.ListOf(map[string]int64{"nvidia.com/gpu": n}) }

// recorded records ten cycles in which gangs come, and a server that changes its mind
// answers, fails and falls silent.
func recorded(t *testing.T, registry framework.Registry, config engine.Config, down *atomic.Bool) string {
	var out bytes.Buffer
	w := record.NewWriter(&out, "")
	e, err := engine.New(config, registry)
	if err != nil {
		t.Fatal(err)
	}
	now := start
	events := []engine.Event{engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}}
	for i := range 40 {
		events = append(events, engine.NodeSet{Node: model.NodeSpec{Name: fmt.Sprintf("n%d", i), Allocatable: gpus(4)}})
	}
	for cycle := range 10 {
		key := fmt.Sprintf("ml/g%d", cycle)
		events = append(events, engine.GangSet{Gang: model.GangSpec{Key: key, UID: key, Queue: "q", Min: 2, Created: now, MinResources: gpus(6)}})
		for k := range 2 {
			uid := fmt.Sprintf("%s-%d", key, k)
			events = append(events, engine.TaskSet{Task: model.TaskSpec{
				UID: uid, Name: uid, Gang: key, Ours: true, Shape: model.Shape{Key: "k", Requests: gpus(3)},
			}})
		}
		down.Store(cycle == 5)
		w.Applied(events)
		e.Apply(events...)
		report := e.Run(now)
		w.Heard(e.Heard())
		w.Ran(now, report)
		events, now = nil, now.Add(700*time.Millisecond)
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAReplayTakesTheAnswersFromTheRecording(t *testing.T) {
	var down atomic.Bool
	var asked atomic.Int64
	moody := func(often int64, then, mostly http.HandlerFunc) http.HandlerFunc {
		var n atomic.Int64
		return func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			switch {
			case down.Load():
				panic(http.ErrAbortHandler)
			case n.Add(1)%often == 0:
				then(w, r)
			default:
				mostly(w, r)
			}
		}
	}
	s := serve(t, map[string]http.HandlerFunc{
		"open":    say("no JSON"),
		"fits":    moody(3, say(`{"status": "too hot", "code": 3}`), say(`{}`)),
		"score":   moody(2, say(`{"nodeScore": {"n7": 9, "n3": 8.5}}`), say(`{"nodeScore": {"n9": 9}}`)),
		"overuse": moody(3, say(`[1]`), say(`{}`)),
		"enqueue": moody(4, say(`{"status": -1}`), say(`{"status": 1}`)),
	})
	registry := plugins.Builtin()
	registry[extender.Name] = extender.New(t.Context())
	config := conf.Default()
	config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: extender.Name, Args: framework.Args{
		"extender.urlPrefix": s.URL, "extender.onSessionOpenVerb": "open", "extender.predicateVerb": "fits", "extender.prioritizeVerb": "score",
		"extender.queueOverusedVerb": "overuse", "extender.jobEnqueueableVerb": "enqueue",
	}}})
	text := recorded(t, registry, config, &down)
	for _, want := range []string{`"Bind"`, "too hot", "ExtenderFailed", "not what was asked for"} {
		if !strings.Contains(text, want) {
			t.Errorf("the recording has no %s, so it proves little", want)
		}
	}
	s.Close()
	before := asked.Load()
	parse := func(string) (engine.Config, error) { return config, nil }
	if _, err := record.Replay(strings.NewReader(text), parse, registry); err != nil {
		t.Error(err)
	}
	if now := asked.Load(); now != before {
		t.Errorf("the replay asked the server %d times", now-before)
	}

	var old []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, `{"heard"`) {
			old = append(old, line)
		}
	}
	_, err := record.Replay(strings.NewReader(strings.Join(old, "")), parse, registry)
	if want := `line 3: plugin "extender": it asks its server what was not asked when this was recorded; the recording holds no answer`; err == nil || err.Error() != want {
		t.Errorf("without answers: %v, want %s", err, want)
	}
}
