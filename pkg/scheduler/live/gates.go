package live

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// gateWorkers is how many gates are opened at once.
const gateWorkers = 4

// gatekeeper opens the gates of pods whose queue has room for them.
type gatekeeper struct {
	*Scheduler
	queue workqueue.TypedRateLimitingInterface[string]

	mu   sync.Mutex
	open map[string]string // UIDs, by pod
}

func newGatekeeper(s *Scheduler) *gatekeeper {
	return &gatekeeper{
		Scheduler: s,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 30*time.Second)),
		open: map[string]string{},
	}
}

func (k *gatekeeper) add(d engine.Ungate) {
	k.mu.Lock()
	k.open[d.Name] = d.UID
	k.mu.Unlock()
	k.queue.Add(d.Name)
}

func (k *gatekeeper) write(ctx context.Context, pod string) error {
	k.mu.Lock()
	uid := k.open[pod]
	k.mu.Unlock()
	namespace, name, err := cache.SplitMetaNamespaceKey(pod)
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod, err)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid},
		"spec": map[string]any{"schedulingGates": []map[string]string{
			{"$patch": "delete", "name": schedulingv1beta1.QueueAllocationGate},
		}},
	})
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod, err)
	}
	_, err = k.pods.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !late(err) {
		return fmt.Errorf("open the gate of pod %s: %w", pod, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open[pod] == uid {
		delete(k.open, pod)
	}
	if err == nil {
		about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(uid)}
		k.recorder.Event(about, corev1.EventTypeNormal, "QueueAdmitted", "its queue has room: the gate is open")
	}
	return nil
}
