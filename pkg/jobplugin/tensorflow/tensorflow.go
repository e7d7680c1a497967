// Package tensorflow tells the pods of a job the cluster that they form, in TF_CONFIG.
package tensorflow

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "tensorflow"

// Plugin is the plugin.
type Plugin struct {
	tasks map[string]string // what TensorFlow calls a task, by the task's name
	port  int32
}

// New makes it. Arguments: --ps (ps), --worker (worker), --chief (chief) and --evaluator
// (evaluator), the tasks; --port (2222).
func New(args []string) (Plugin, error) {
	f := wiring.Read(Name, args)
	p := Plugin{tasks: map[string]string{}}
	for _, kind := range []string{"ps", "worker", "chief", "evaluator"} {
		p.tasks[f.Task(kind, kind)] = kind
	}
	p.port = f.Port("port", 2222)
	return p, f.Err()
}

// Objects are none: svc has the names.
func (Plugin) Objects(*batchv1alpha1.Job) ([]apis.Object, error) { return nil, nil }

type config struct {
	Cluster map[string][]string `json:"cluster"`
	Task    struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	} `json:"task"`
}

// Wire sets TF_CONFIG on the pods of the four tasks, unless one pod is all there is.
func (p Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, task, index int) error {
	kind, ours := p.tasks[job.Spec.Tasks[task].Name]
	if !ours {
		return nil
	}
	c, all := config{Cluster: map[string][]string{}}, 0
	for i := range job.Spec.Tasks {
		t := &job.Spec.Tasks[i]
		if as, in := p.tasks[t.Name]; in {
			for _, host := range wiring.Hosts(job, t) {
				c.Cluster[as] = append(c.Cluster[as], host+":"+strconv.Itoa(int(p.port)))
				all++
			}
		}
	}
	if all < 2 {
		return nil
	}
	c.Task.Type, c.Task.Index = kind, index
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("write TF_CONFIG: %w", err)
	}
	wiring.AddEnv(pod, wiring.Env("TF_CONFIG", string(text)))
	wiring.AddPort(pod, "tfjob-port", p.port)
	return nil
}
