// Package integrations is the list of all adapters. It holds nothing but the list.
package integrations

import (
	"slices"

	"github.com/muster-sh/muster/integrations/kubeflow"
	"github.com/muster-sh/muster/integrations/pod"
	"github.com/muster-sh/muster/pkg/workload"
)

// Adapters returns the adapters for pods that name one of these schedulers.
func Adapters(schedulerNames []string) []workload.Adapter {
	ours := func(name string) bool { return slices.Contains(schedulerNames, name) }
	return slices.Concat(
		kubeflow.Adapters(ours),
		[]workload.Adapter{pod.New(ours)},
	)
}
