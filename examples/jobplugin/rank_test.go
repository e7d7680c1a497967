package rank_test

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	rank "github.com/muster-sh/muster/examples/jobplugin"
	"github.com/muster-sh/muster/pkg/jobplugin"
)

// TestTheExampleIsAPlugin among the others, as a guest adds it.
func TestTheExampleIsAPlugin(t *testing.T) {
	known := jobplugin.Builtin(rand.Reader)
	known["rank"] = func(args []string) (jobplugin.Plugin, error) { return rank.New(args) }
	job := &batchv1alpha1.Job{Spec: batchv1alpha1.JobSpec{
		Plugins: map[string][]string{"rank": nil}, Tasks: []batchv1alpha1.TaskSpec{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
	}}
	plugins, err := jobplugin.For(job, known)
	if err != nil || len(plugins) != 1 {
		t.Fatal(plugins, err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
	if err := plugins[0].Wire(pod, job, 1, 1); err != nil || pod.Spec.Containers[0].Env[0].Value != "3" {
		t.Errorf("%+v %v", pod.Spec.Containers[0].Env, err)
	}
}

// TestTheDocsShowTheExample: what docs/plugins.md shows is this folder's file.
func TestTheDocsShowTheExample(t *testing.T) {
	code, err := os.ReadFile("rank.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```go\n"+string(code)+"```\n") {
		t.Error("docs/plugins.md shows something else than examples/jobplugin/rank.go: copy the file there")
	}
}
