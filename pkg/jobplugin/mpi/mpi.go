// Package mpi tells the master of a job which hosts mpirun starts its ranks on.
package mpi

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "mpi"

// folder is where the hostfile is mounted.
const folder = "/etc/mpi"

// Plugin is the plugin.
type Plugin struct {
	master, worker string
	port           int32
	slots          int
}

// New makes it. Arguments: --master (master) and --worker (worker), the tasks; --port (22), on
// which the workers' sshd listens; --slots, how many ranks a worker has unless mpirun is told
// otherwise: one for each GPU that it may use, and one if it may use none.
func New(args []string) (Plugin, error) {
	f := wiring.Read(Name, args)
	p := Plugin{master: f.Task("master", "master"), worker: f.Task("worker", "worker"), port: f.Port("port", 22), slots: f.Int("slots", 0, 0, 1024)}
	return p, f.Err()
}

// slotsOf is how many ranks a pod of a task has.
func (p Plugin) slotsOf(t *batchv1alpha1.TaskSpec) int {
	if p.slots > 0 {
		return p.slots
	}
	var gpus int64
	for i := range t.Template.Spec.Containers {
		//muster:anyorder a sum
		for name, n := range t.Template.Spec.Containers[i].Resources.Limits {
			if strings.HasSuffix(string(name), "/gpu") {
				gpus += n.Value()
			}
		}
	}
	return int(max(gpus, 1))
}

func (p Plugin) hosts(job *batchv1alpha1.Job) []string {
	if t, _, has := wiring.Task(job, p.worker); has {
		return wiring.Hosts(job, t)
	}
	return nil
}

func configName(job *batchv1alpha1.Job) string { return job.Name + "-mpi" }

// Objects are a ConfigMap with the hosts, as Open MPI writes them and as Hydra does: without
// slots the one would have a rank for each core of the machine, and all on the first host.
func (p Plugin) Objects(job *batchv1alpha1.Job) ([]apis.Object, error) {
	var open, hydra strings.Builder
	if t, _, has := wiring.Task(job, p.worker); has {
		for _, host := range p.hosts(job) {
			fmt.Fprintf(&open, "%s slots=%d\n", host, p.slotsOf(t))
			fmt.Fprintf(&hydra, "%s:%d\n", host, p.slotsOf(t))
		}
	}
	meta := metav1.ObjectMeta{Name: configName(job), Namespace: job.Namespace}
	return []apis.Object{&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"hostfile": open.String(), "hydra": hydra.String()}}}, nil
}

// Wire sets MPI_HOST on the master, as a list with commas, and mounts the hostfile, which
// Open MPI and others find by a variable of their own; it opens the port on all pods.
func (p Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, task, _ int) error {
	wiring.AddPort(pod, "mpijob-port", p.port)
	if _, at, has := wiring.Task(job, p.master); !has || at != task {
		return nil
	}
	const file, hydra = folder + "/hostfile", folder + "/hydra"
	vars := []corev1.EnvVar{
		wiring.Env("OMPI_MCA_orte_default_hostfile", file), wiring.Env("PRTE_MCA_prte_default_hostfile", file), // Open MPI 4, and 5
		wiring.Env("I_MPI_HYDRA_HOST_FILE", hydra), wiring.Env("HYDRA_HOST_FILE", hydra),
	}
	if list := strings.Join(p.hosts(job), ","); wiring.FitsInEnv(len(list)) {
		vars = slices.Concat([]corev1.EnvVar{wiring.Env("MPI_HOST", list)}, vars)
	}
	wiring.AddEnv(pod, vars...)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "mpi-hostfile", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configName(job)}},
	}})
	wiring.Each(pod, func(c *corev1.Container) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "mpi-hostfile", MountPath: folder})
	})
	return nil
}
