package ray_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/ray"
)

func cluster(args ...string) (ray.Plugin, *batchv1alpha1.Job, error) {
	j := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "tune"}}
	j.Spec.Tasks = []batchv1alpha1.TaskSpec{{Name: "head", Replicas: 1}, {Name: "worker", Replicas: 2}, {Name: "other", Replicas: 1}}
	p, err := ray.New(args)
	return p, j, err
}

func TestPodsBecomeACluster(t *testing.T) {
	p, j, err := cluster("--port=7000")
	if err != nil {
		t.Fatal(err)
	}
	for task, want := range []string{
		"ray start --head --block --dashboard-host=0.0.0.0 --port=7000 --dashboard-port=8265 --ray-client-server-port=10001",
		"ray start --block --address=tune-head-0.tune:7000", "",
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "side", Command: []string{"own"}}, {Name: j.Spec.Tasks[task].Name}}}}
		if err := p.Wire(pod, j, task, 0); err != nil {
			t.Fatal(err)
		}
		c := pod.Spec.Containers[1]
		if got := strings.Join(c.Command, " "); got != strings.TrimSpace("sh -c "+want) && (want != "" || got != "") {
			t.Errorf("%s runs %q", c.Name, got)
		}
		if ports := []int{3, 0, 0}[task]; len(c.Ports) != ports || len(pod.Spec.Containers[0].Ports) != 0 {
			t.Errorf("%s opens %v", c.Name, c.Ports)
		}
	}
}

// TestACommandOfTheUsersStays, or arguments alone, which the image's own command takes.
func TestACommandOfTheUsersStays(t *testing.T) {
	p, j, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []corev1.Container{{Name: "head", Command: []string{"mine"}}, {Name: "head", Args: []string{"mine"}}} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{*own.DeepCopy()}}}
		if err := p.Wire(pod, j, 0, 0); err != nil {
			t.Fatal(err)
		}
		if c := pod.Spec.Containers[0]; cmp.Diff(own.Command, c.Command) != "" || cmp.Diff(own.Args, c.Args) != "" || len(c.Ports) != 3 {
			t.Errorf("%+v", c)
		}
	}
}

func TestTheHeadHasAService(t *testing.T) {
	p, j, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := p.Objects(j)
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	s, ok := objects[0].(*corev1.Service)
	if !ok || s.Name != "tune-head-svc" || s.Spec.Selector["volcano.sh/task-spec"] != "head" || len(s.Spec.Ports) != 3 || s.Spec.Ports[0].Port != 6379 {
		t.Errorf("%+v", objects[0])
	}
	j.Spec.Tasks = j.Spec.Tasks[1:]
	if _, err := p.Objects(j); !strings.Contains(fmt.Sprint(err), `no task is called "head": name the head's with --head`) {
		t.Errorf("without a head: %v", err)
	}
}
