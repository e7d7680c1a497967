package conformance_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/conformance"
)

func TestWhatTheClusterLivesOnIsProtected(t *testing.T) {
	of := func(class string) *corev1.Pod { return &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: class}} }
	tests := map[string]struct {
		task model.TaskSpec
		want bool
	}{
		"a pod like others":                      {model.TaskSpec{Name: "ml/a", Priority: 1_000_000_000, Pod: of("high")}, false},
		"a pod of kube-system":                   {model.TaskSpec{Name: "kube-system/dns"}, true},
		"a namespace that begins alike":          {model.TaskSpec{Name: "kube-system-2/dns"}, false},
		"system-cluster-critical":                {model.TaskSpec{Name: "ml/a", Pod: of("system-cluster-critical")}, true},
		"system-node-critical":                   {model.TaskSpec{Name: "ml/a", Pod: of("system-node-critical")}, true},
		"their priority, where no class is told": {model.TaskSpec{Name: "ml/a", Priority: 2_000_000_000}, true},
	}
	p, err := conformance.New(nil, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	protects, ok := p.(framework.ProtectsTasks)
	if !ok {
		t.Fatal("conformance protects no tasks")
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			why, got := protects.Protects(&model.Task{TaskSpec: tt.task}, time.Time{})
			if got != tt.want || (why != "") != tt.want {
				t.Errorf("protected %v, because %q", got, why)
			}
		})
	}
}

func TestArgumentsAreUnknown(t *testing.T) {
	if _, err := conformance.New(framework.Args{"namespace": "x"}, framework.Env{}); err == nil {
		t.Error("an argument was accepted")
	}
}
