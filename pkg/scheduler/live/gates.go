package live

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// gateWorkers is how many gates are opened at once.
const gateWorkers = 4

// gatekeeper opens the gates of pods whose queue has room for them.
type gatekeeper struct {
	*Scheduler
	queue workqueue.TypedRateLimitingInterface[engine.Ungate]
}

func newGatekeeper(s *Scheduler) *gatekeeper {
	return &gatekeeper{Scheduler: s, queue: newQueue[engine.Ungate](50*time.Millisecond, 30*time.Second)}
}

func (k *gatekeeper) write(ctx context.Context, d engine.Ungate) error {
	pod := podReference(d.Name, d.UID)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": d.UID},
		"spec": map[string]any{"schedulingGates": []map[string]string{
			{"$patch": "delete", "name": schedulingv1beta1.QueueAllocationGate},
		}},
	})
	if err != nil {
		return fmt.Errorf("pod %s: %w", d.Name, err)
	}
	_, err = k.pods.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && k.late(ctx, d.Name, d.UID, err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the gate of pod %s: %w", d.Name, err)
	}
	k.recorder.Event(pod, corev1.EventTypeNormal, "QueueAdmitted", "its queue has room: the gate is open")
	return nil
}
