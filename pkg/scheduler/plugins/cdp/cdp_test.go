package cdp_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/cdp"
)

const cooldown = "volcano.sh/cooldown-time"

// able is what the plugin can do.
type able interface {
	framework.ProtectsTasks
	framework.Notices
}

func build(t *testing.T) able {
	t.Helper()
	p, err := cdp.New(nil, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := p.(able)
	if !ok {
		t.Fatal("cdp lacks an ability")
	}
	return a
}

func TestATaskIsProtectedUntilItsCooldownHasPassed(t *testing.T) {
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := func(annotation, label string, status corev1.ConditionStatus) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}, Labels: map[string]string{}}}
		if annotation != "" {
			p.Annotations[cooldown] = annotation
		}
		if label != "" {
			p.Labels[cooldown] = label
		}
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(time.Hour))},
			{Type: corev1.PodScheduled, Status: status, LastTransitionTime: metav1.NewTime(start)},
		}
		return p
	}
	gang := &model.Gang{GangSpec: model.GangSpec{Annotations: map[string]string{cooldown: "10m"}}}
	tests := map[string]struct {
		pod  *corev1.Pod
		gang *model.Gang
		at   time.Duration
		want string // why; empty: it is not protected
	}{
		"within its cooldown":                    {pod("600s", "", corev1.ConditionTrue), nil, 4 * time.Minute, "of its volcano.sh/cooldown-time of 10m0s 6m0s are left"},
		"to the instant":                         {pod("600s", "", corev1.ConditionTrue), nil, 10 * time.Minute, ""},
		"a label will do":                        {pod("", "10m", corev1.ConditionTrue), nil, 9 * time.Minute, "of its volcano.sh/cooldown-time of 10m0s 1m0s are left"},
		"the annotation wins":                    {pod("1m", "10m", corev1.ConditionTrue), gang, 9 * time.Minute, ""},
		"its gang's, when it has none":           {pod("", "", corev1.ConditionTrue), gang, 9 * time.Minute, "of its volcano.sh/cooldown-time of 10m0s 1m0s are left"},
		"none at all":                            {pod("", "", corev1.ConditionTrue), nil, 0, ""},
		"no duration":                            {pod("soon", "", corev1.ConditionTrue), nil, 0, ""},
		"below 0":                                {pod("-5m", "", corev1.ConditionTrue), nil, 0, ""},
		"0":                                      {pod("0s", "", corev1.ConditionFalse), nil, 0, ""},
		"placed, but nobody said so yet":         {pod("10m", "", corev1.ConditionFalse), nil, time.Hour, "it was placed just now, and its volcano.sh/cooldown-time is 10m0s"},
		"a clock that is behind protects longer": {pod("10m", "", corev1.ConditionTrue), nil, -time.Minute, "of its volcano.sh/cooldown-time of 10m0s 11m0s are left"},
		"a task without a pod":                   {nil, gang, 0, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			why, ok := build(t).Protects(&model.Task{TaskSpec: model.TaskSpec{Pod: tt.pod}, Gang: tt.gang}, start.Add(tt.at))
			if why != tt.want || ok != (tt.want != "") {
				t.Errorf("protected %v, because %q, want %q", ok, why, tt.want)
			}
		})
	}
}

func TestACooldownThatIsNoDurationIsTold(t *testing.T) {
	task := func(name, text string) *model.Task {
		return &model.Task{TaskSpec: model.TaskSpec{Name: name, Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{cooldown: text}}}}}
	}
	g := &model.Gang{Tasks: []*model.Task{task("a/0", "10m"), task("a/1", "soon"), task("a/2", "soon"), {}}}
	want := []string{"pod a/1: volcano.sh/cooldown-time is soon and protects nobody: give a duration such as 10m"}
	if diff := cmp.Diff(want, build(t).Notices(g)); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsAreUnknown(t *testing.T) {
	if _, err := cdp.New(framework.Args{"time": "10m"}, framework.Env{}); err == nil {
		t.Error("an argument was accepted")
	}
}
