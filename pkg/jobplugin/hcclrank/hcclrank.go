// Package hcclrank says in an annotation which rank a pod has, for Ascend's HCCL.
package hcclrank

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "hcclrank"

// RankIndex is the annotation.
const RankIndex = "hccl/rankIndex"

// Plugin is the plugin.
type Plugin struct{ master, worker string }

// New makes it. Arguments: --master (master) and --worker (worker), the tasks.
func New(args []string) (Plugin, error) {
	f := wiring.Read(Name, args)
	p := Plugin{master: f.Task("master", "master"), worker: f.Task("worker", "worker")}
	return p, f.Err()
}

// Objects are none.
func (Plugin) Objects(*batchv1alpha1.Job) ([]apis.Object, error) { return nil, nil }

// Wire takes the rank that a container has in RANK; without that, masters come first.
func (p Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, task, index int) error {
	master, first, has := wiring.Task(job, p.master)
	_, workers, more := wiring.Task(job, p.worker)
	rank := strconv.Itoa(index)
	switch {
	case has && task == first:
	case more && task == workers:
		if has {
			rank = strconv.Itoa(index + int(master.Replicas))
		}
	default:
		return nil
	}
	for i := range pod.Spec.Containers {
		for _, e := range pod.Spec.Containers[i].Env {
			if e.Name == "RANK" && e.Value != "" {
				rank = e.Value
			}
		}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	if pod.Annotations[RankIndex] == "" {
		pod.Annotations[RankIndex] = rank
	}
	return nil
}
