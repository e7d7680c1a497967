// Package conformance keeps what a cluster itself lives on from being a victim.
package conformance

import (
	"strings"
	"time"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "conformance"

// systemPriority is the least priority of Kubernetes' own classes. The API server
// gives nobody else one as high.
const systemPriority = 2_000_000_000

type plugin struct{}

var _ framework.ProtectsTasks = plugin{}

// New makes the plugin. It has no arguments.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	return plugin{}, args.Read().Err()
}

func (plugin) Name() string { return Name }

// Protects those that Protected names.
func (plugin) Protects(t *model.Task, _ time.Time) (string, bool) {
	if !Protected(t) {
		return "", false
	}
	return "the cluster itself depends on it", true
}

// Protected reports whether a task is in the namespace kube-system, or of the
// priority class system-cluster-critical or system-node-critical.
func Protected(t *model.Task) bool {
	if strings.HasPrefix(t.Name, "kube-system/") || t.TaskSpec.Priority >= systemPriority {
		return true
	}
	if t.Pod == nil {
		return false
	}
	class := t.Pod.Spec.PriorityClassName
	return class == "system-cluster-critical" || class == "system-node-critical"
}
