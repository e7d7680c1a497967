// Package rank is a job plugin that tells each pod its number among all pods of its job.
package rank

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Plugin has no settings.
type Plugin struct{}

// New makes it; it has no arguments, and says so to whoever gives some.
func New(args []string) (Plugin, error) { return Plugin{}, wiring.Read("rank", args).Err() }

// Objects are none.
func (Plugin) Objects(*batchv1alpha1.Job) ([]apis.Object, error) { return nil, nil }

// Wire sets RANK_OF_ALL.
func (Plugin) Wire(pod *corev1.Pod, job *batchv1alpha1.Job, task, index int) error {
	for _, before := range job.Spec.Tasks[:task] {
		index += int(before.Replicas)
	}
	wiring.AddEnv(pod, wiring.Env("RANK_OF_ALL", strconv.Itoa(index)))
	return nil
}
