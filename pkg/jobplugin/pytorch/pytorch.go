// Package pytorch tells the pods of a job what torch.distributed and torchrun ask for.
package pytorch

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "pytorch"

// Plugin is the plugin.
type Plugin struct {
	master, worker, image string
	port                  int32
	wait                  bool
	timeout               int
}

// New makes it. Arguments: --master (master) and --worker (worker), the tasks; --port (23456);
// --wait-master-enabled (false): workers start once the master's port answers, at most
// --wait-master-timeout (300) seconds later, which --wait-master-image (busybox:1.36.1) waits for.
func New(args []string) (Plugin, error) {
	f := wiring.Read(Name, args)
	p := Plugin{
		master: f.Task("master", "master"), worker: f.Task("worker", "worker"), port: f.Port("port", 23456),
		wait: f.Bool("wait-master-enabled", false), timeout: f.Int("wait-master-timeout", 300, 1, 86400),
		image: f.Text("wait-master-image", "busybox:1.36.1"),
	}
	return p, f.Err()
}

// Objects are none: svc has the names.
func (Plugin) Objects(*batchv1alpha1.Job) ([]apis.Object, error) { return nil, nil }

// Wire sets rank and world of the pods of the two tasks; without a master the first worker is.
func (p Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, task, index int) error {
	master, at, has := wiring.Task(job, p.master)
	worker, workers, more := wiring.Task(job, p.worker)
	if task != at && task != workers {
		return nil
	}
	size, rank, head := 0, index, worker
	if has {
		size, head = int(master.Replicas), master
		if task == workers {
			rank += size
		}
	}
	if more && workers != at {
		size += int(worker.Replicas)
	}
	host, port, world := wiring.Host(job, head, 0), strconv.Itoa(int(p.port)), strconv.Itoa(size)
	wiring.AddEnv(pod,
		wiring.Env("MASTER_ADDR", host), wiring.Env("MASTER_PORT", port), wiring.Env("WORLD_SIZE", world), wiring.Env("RANK", strconv.Itoa(rank)),
		wiring.Env("PET_MASTER_ADDR", host), wiring.Env("PET_MASTER_PORT", port), wiring.Env("PET_NNODES", world), wiring.Env("PET_NODE_RANK", strconv.Itoa(rank)),
	)
	wiring.AddPort(pod, "pytorchjob-port", p.port)
	if p.wait && rank > 0 {
		script := `end=$(( $(date +%s) + ` + strconv.Itoa(p.timeout) + ` )); until nc -z -w 2 "$MASTER_ADDR" "$MASTER_PORT"; do if [ "$(date +%s)" -ge "$end" ]; then echo "no master at $MASTER_ADDR:$MASTER_PORT" >&2; exit 1; fi; sleep 2; done`
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
			Name: "wait-for-master", Image: p.image, Command: []string{"sh", "-c", script},
			Env: []corev1.EnvVar{wiring.Env("MASTER_ADDR", host), wiring.Env("MASTER_PORT", port)},
		})
	}
	return nil
}
