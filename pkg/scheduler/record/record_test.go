package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions/preempt"
	"github.com/muster-sh/muster/pkg/scheduler/actions/reclaim"
	"github.com/muster-sh/muster/pkg/scheduler/actions/shuffle"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/scheduler/record"
)

func parse(text string) (engine.Config, error) {
	config := conf.Default()
	config.Tiers = append([][]engine.PluginConfig{{{Name: "slo"}}}, config.Tiers...)
	config.Actions = append(config.Actions, preempt.New(), reclaim.New(), shuffle.New())
	config.Tiers = append(config.Tiers, []engine.PluginConfig{
		{Name: "cdp"},
		{Name: "usage"},
		{Name: "tdm", Args: framework.Args{"tdm.revocable-zone.b": "00:10-00:17", "tdm.evict.period": "5s"}},
		{Name: "rescheduling", Args: framework.Args{"interval": "5s", "strategies": []any{map[string]any{
			"name": "lowNodeUtilization", "params": map[string]any{"thresholds": map[string]any{"cpu": 20}, "targetThresholds": map[string]any{"cpu": 50}},
		}}}},
	})
	if text != "" {
		config.Tiers = append(config.Tiers, []engine.PluginConfig{{Name: text}})
	}
	return config, nil
}

func gpus(n int64) resource.List { return resource.ListOf(map[string]int64{"nvidia.com/gpu": n}) }

// draw draws one fact.
func draw(t *rapid.T) engine.Event {
	i, k := rapid.IntRange(0, 3).Draw(t, "which"), rapid.IntRange(0, 4).Draw(t, "task")
	uid := fmt.Sprintf("ml/g%d-%d", i, k)
	switch rapid.IntRange(0, 10).Draw(t, "kind") {
	case 0, 1:
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{"zone": "a"}}}
		if i == 1 {
			node.Labels["volcano.sh/revocable-zone"] = "b"
		}
		return engine.NodeSet{Node: model.NodeSpec{Name: node.Name, Labels: node.Labels, Allocatable: gpus(rapid.Int64Range(0, 8).Draw(t, "size")), Object: node}}
	case 2:
		return engine.NodeGone{Name: fmt.Sprintf("n%d", i)}
	case 3, 4:
		return engine.GangSet{Gang: model.GangSpec{
			Key: fmt.Sprintf("ml/g%d", i), UID: "u", Queue: "q", Min: rapid.Int32Range(0, 4).Draw(t, "min"), Created: time.Unix(100, 5).UTC(),
			RoleMin: []model.RoleMin{{Role: "worker", Min: 1}}, Priority: rapid.Int32Range(0, 2).Draw(t, "priority"),
			Annotations: map[string]string{
				"volcano.sh/preemptable":             rapid.SampledFrom([]string{"", "true", "false"}).Draw(t, "preemptable"),
				"scheduling.volcano.sh/slo-deadline": time.Unix(rapid.Int64Range(1000, 1200).Draw(t, "deadline"), 0).UTC().Format(time.RFC3339),
				"scheduling.volcano.sh/slo-progress": fmt.Sprintf("%d%%", rapid.IntRange(0, 100).Draw(t, "progress")),
			},
		}}
	case 5:
		return engine.TaskGone{UID: uid}
	case 6:
		if rapid.Bool().Draw(t, "evict") {
			return engine.EvictFailed{UID: uid, Why: "denied"}
		}
		return engine.BindFailed{UID: uid, Node: fmt.Sprintf("n%d", k)}
	case 7:
		return engine.ObjectSet{
			Object: &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Namespace: "ml"}},
			Gone:   rapid.Bool().Draw(t, "gone"),
		}
	case 8:
		return engine.ObjectSet{Object: &framework.Usage{
			ObjectMeta: metav1.ObjectMeta{Name: framework.UsageName}, At: time.Unix(990, 7).UTC(),
			Nodes: []framework.NodeUsage{{Name: "n0", CPU: rapid.Int32Range(0, 100).Draw(t, "cpu")}, {Name: "n1", Memory: 85}, {Name: "n2"}},
		}}
	default:
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "ml", Labels: map[string]string{"app": "x"}}}
		pod.Spec.TerminationGracePeriodSeconds = new(rapid.Int64Range(1, 90).Draw(t, "grace"))
		if rapid.IntRange(0, 3).Draw(t, "cools") == 0 {
			pod.Annotations = map[string]string{"volcano.sh/cooldown-time": "10m", "token": "secret"}
		}
		node := ""
		if rapid.Bool().Draw(t, "bound") {
			node = fmt.Sprintf("n%d", k)
		}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}}}
		return engine.TaskSet{Task: model.TaskSpec{
			UID: uid, Name: uid, Gang: fmt.Sprintf("ml/g%d", i), Role: "worker", Ours: true, Pod: pod, Node: node, Started: time.Unix(900, 0).UTC(),
			Nominated: rapid.SampledFrom([]string{"", "n0", "n3"}).Draw(t, "nominated"),
			Shape:     model.Shape{Key: "k", Requests: gpus(2), Tolerations: []corev1.Toleration{{Key: "a"}}},
		}}
	}
}

// run records some cycles over random facts.
func run(t *rapid.T) string {
	var out bytes.Buffer
	w := record.NewWriter(&out, "")
	config, _ := parse("")
	e, err := engine.New(config, plugins.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0).UTC()
	batch := []engine.Event{engine.QueueSet{Queue: model.QueueSpec{Name: "q", Capability: gpus(20)}}}
	for range rapid.IntRange(1, 12).Draw(t, "cycles") {
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			batch = append(batch, draw(t))
		}
		if rapid.IntRange(0, 5).Draw(t, "reconfigure") == 0 {
			w.Configured("proportion")
			config, _ := parse("proportion")
			if err := e.Reconfigure(config); err != nil {
				t.Fatal(err)
			}
		}
		w.Applied(batch)
		e.Apply(batch...)
		batch = nil
		now = now.Add(time.Duration(rapid.IntRange(-1, 20).Draw(t, "seconds")) * time.Second)
		w.Ran(now, e.Run(now))
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAReplayDecidesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := run(t)
		if strings.Contains(text, "secret") {
			t.Fatal("a pod's environment was recorded")
		}
		if _, err := record.Replay(strings.NewReader(text), parse, plugins.Builtin()); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

func TestAReplayNamesTheFirstDifference(t *testing.T) {
	const text = `{"version":"muster/1","conf":""}
{"events":[{"type":"NodeSet","value":{"Node":{"Name":"n1","Allocatable":[{"Name":"pods","Value":5}]}}},{"type":"QueueSet","value":{"Queue":{"Name":"q"}}},{"type":"GangSet","value":{"Gang":{"Key":"a/g","UID":"u","Queue":"q","Min":1}}},{"type":"TaskSet","value":{"Task":{"UID":"p","Name":"a/p","Gang":"a/g","Ours":true,"Shape":{"Key":"k"}}}}]}
{"run":"2026-01-01T00:00:00Z","decisions":[{"type":"Bind","value":{"UID":"p","Name":"a/p","Gang":"a/g","Node":"n2"}}]}
`
	_, err := record.Replay(strings.NewReader(text), parse, plugins.Builtin())
	var different *record.DifferenceError
	if !errors.As(err, &different) || different.Line != 3 || !strings.Contains(different.Got, `"Node":"n1"`) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoRecordingIsSaid(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing":               {"", "the recording is empty"},
		"another version":       {"{\"version\":\"muster/9\",\"conf\":\"\"}\n", `line 1: version "muster/9", this program reads "muster/1"`},
		"no JSON":               {"hello\n", "line 1: invalid character 'h' looking for beginning of value"},
		"cut off":               {"{\"version\":\"muster/1\",\"conf\":\"\"}\n{\"run\":", "line 2: it is cut off"},
		"an unknown event":      {"{\"version\":\"muster/1\",\"conf\":\"\"}\n{\"events\":[{\"type\":\"Rain\",\"value\":{}}]}\n", `line 2: event "Rain" is unknown: the recording is of a newer version`},
		"without configuration": {"{\"version\":\"muster/1\"}\n", "line 1: there is no configuration before it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := record.Replay(strings.NewReader(tt.text), parse, plugins.Builtin()); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
