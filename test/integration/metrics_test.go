package integration_test

import (
	"context"
	"fmt"
	"testing"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// TestTheAlertsOfSeed22HaveTheirSeries: a gang fills its queue, and another waits. What the
// alerts look at, and how long things took, is served under the names that they use; Muster
// is started with the flags of vc-scheduler.
func TestTheAlertsOfSeed22HaveTheirSeries(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	w.restart(t, "-v=3", "--logtostderr", "--enable-metrics=true", "--schedule-period=1s", "--percentage-nodes-to-find=0")
	ns := w.Namespace(t)
	w.queue(t, "full", schedulingv1beta1.QueueSpec{Capability: gpus(2)})
	w.single(t, ns, "runs", "full", 2)
	eventually(t, func(ctx context.Context) error { return w.inPhase(ctx, ns, "runs", schedulingv1beta1.PodGroupRunning) })
	w.single(t, ns, "waits", "full", 1)
	w.waitsFor(t, ns, "waits", "QueueCapability")

	gpuOf := `nvidia_com_gpu="true",queue_name="full"`
	used, most := w.metric(t, "volcano_queue_allocated", gpuOf), w.metric(t, "volcano_queue_capability", gpuOf)
	if used/most <= 0.95 {
		t.Errorf("the queue has %v of %v GPUs, and the alert that it is full is silent", used, most)
	}
	// PodGroups are made at whole seconds.
	eventually(t, func(context.Context) error {
		if s := w.metric(t, "volcano_job_pending_duration_seconds", `job_name="waits",job_namespace="`+ns+`"`); s < 1 {
			return fmt.Errorf("the gang that waits does so for %v s", s)
		}
		return nil
	})
	for name, holds := range map[string]string{
		"volcano_action_scheduling_latency_milliseconds_count": `action="allocate"`,
		"volcano_plugin_scheduling_latency_milliseconds_count": `plugin="drf"`,
		"volcano_task_scheduling_latency_milliseconds_count":   `stage="Bound"`,
		"volcano_unschedule_task_count":                        `job_id="` + ns + `/waits"`,
		"volcano_queue_real_capacity_scalar_resources":         `queue_name="full"`,
		"volcano_job_share":                                    `job_id="runs",job_ns="` + ns + `"`, // made for who scraped before
	} {
		if n := w.metric(t, name, holds); n <= 0 {
			t.Errorf("%s of %s is %v", name, holds, n)
		}
	}
}
