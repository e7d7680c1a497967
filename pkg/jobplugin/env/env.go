// Package env tells each pod of a job its number within its task.
package env

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/apis"
	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	"github.com/muster-sh/muster/pkg/jobplugin/wiring"
)

// Name is the plugin's name in a job.
const Name = "env"

// Plugin is the plugin.
type Plugin struct{}

// New makes it. It has no arguments.
func New(args []string) (Plugin, error) { return Plugin{}, wiring.Read(Name, args).Err() }

// Objects are none.
func (Plugin) Objects(*batchv1alpha1.Job) ([]apis.Object, error) { return nil, nil }

// Wire sets VC_TASK_INDEX, and VK_TASK_INDEX as it was called before.
func (Plugin) Wire(pod *corev1.Pod, _ *batchv1alpha1.Job, _, index int) error {
	number := strconv.Itoa(index)
	wiring.AddEnv(pod, wiring.Env("VC_TASK_INDEX", number), wiring.Env("VK_TASK_INDEX", number))
	return nil
}
