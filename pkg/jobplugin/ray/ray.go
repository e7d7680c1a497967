// Package ray makes a Ray cluster of a job's pods: a head and workers that join it.
package ray

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "ray"

// Plugin is the plugin.
type Plugin struct {
	head, worker                   string // tasks
	headContainer, workerContainer string
	port, dashboard, client        int32
}

// New makes it. Arguments: --head (head) and --worker (worker), the tasks; --headContainer
// (head) and --workerContainer (worker), which container of their pods runs Ray: where none is
// called so, the first; --port (6379), --dashboardPort (8265) and --clientPort (10001).
func New(args []string) (Plugin, error) {
	f := wiring.Read(Name, args)
	p := Plugin{
		head: f.Task("head", "head"), worker: f.Task("worker", "worker"),
		headContainer: f.Text("headContainer", "head"), workerContainer: f.Text("workerContainer", "worker"),
		port: f.Port("port", 6379), dashboard: f.Port("dashboardPort", 8265), client: f.Port("clientPort", 10001),
	}
	return p, f.Err()
}

// task is the head's; a job without one can't be a cluster.
func (p Plugin) task(job *batchv1alpha1.Job) (*batchv1alpha1.TaskSpec, int, error) {
	t, at, has := wiring.Task(job, p.head)
	if !has {
		return nil, -1, fmt.Errorf("plugin %s: no task is called %q: name the head's with --head", Name, p.head)
	}
	return t, at, nil
}

// Objects are a Service for the head, through which clients and browsers reach it.
func (p Plugin) Objects(job *batchv1alpha1.Job) ([]apis.Object, error) {
	if _, _, err := p.task(job); err != nil {
		return nil, err
	}
	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromInt32(number), Protocol: corev1.ProtocolTCP}
	}
	return []apis.Object{&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-head-svc", Namespace: job.Namespace},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP,
			Selector: map[string]string{
				batchv1alpha1.JobNameKey: job.Name, batchv1alpha1.JobNamespaceKey: job.Namespace, schedulingv1beta1.TaskSpecAnnotation: p.head,
			},
			Ports: []corev1.ServicePort{port("gcs", p.port), port("dashboard", p.dashboard), port("client-server", p.client)},
		},
	}}, nil
}

// Wire has the head's container start Ray, and those of workers join it, unless they have a
// command or arguments of their own. RAY_ADDRESS on workers tells programs where the head is.
func (p Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, task, _ int) error {
	head, at, err := p.task(job)
	if err != nil {
		return err
	}
	address := fmt.Sprintf("%s:%d", wiring.Host(job, head, 0), p.port)
	_, workers, _ := wiring.Task(job, p.worker)
	switch task {
	case at:
		c := container(pod, p.headContainer)
		starts(c, fmt.Sprintf("ray start --head --block --dashboard-host=0.0.0.0 --port=%d --dashboard-port=%d --ray-client-server-port=%d", p.port, p.dashboard, p.client))
		wiring.OpenPort(c, "gcs", p.port)
		wiring.OpenPort(c, "dashboard", p.dashboard)
		wiring.OpenPort(c, "client-server", p.client)
	case workers:
		starts(container(pod, p.workerContainer), "ray start --block --address="+address)
		wiring.AddEnv(pod, wiring.Env("RAY_ADDRESS", address))
	}
	return nil
}

// container is the one of that name, or the first; nil: the pod has none.
func container(pod *corev1.Pod, name string) *corev1.Container {
	list := pod.Spec.Containers
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// starts gives a container a command that has none.
func starts(c *corev1.Container, script string) {
	if c != nil && len(c.Command) == 0 && len(c.Args) == 0 {
		c.Command = []string{"sh", "-c", script}
	}
}
