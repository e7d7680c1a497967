package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// statusWorkers is how many status writes go on at once; never two for one object.
const statusWorkers = 8

// conflictPause is how long the cache has to show what somebody else wrote.
const conflictPause = 100 * time.Millisecond

// statusWriter writes verdicts to PodGroups, the latest only and only what
// changed, and to pods that have no PodGroup.
type statusWriter struct {
	*Scheduler
	queue workqueue.TypedRateLimitingInterface[string]

	mu       sync.Mutex
	verdicts map[string]verdict       // by gang
	orphans  map[string]engine.Refuse // by pod, to be written
	held     map[string]bool          // gangs whose good news waits until the bindings are written
}

func newStatusWriter(s *Scheduler) *statusWriter {
	return &statusWriter{
		Scheduler: s,
		queue:     newQueue[string](20*time.Millisecond, 30*time.Second),
		verdicts:  map[string]verdict{},
		orphans:   map[string]engine.Refuse{},
		held:      map[string]bool{},
	}
}

const orphanPrefix = "pod:"

// change notes what is new of a gang, and has it written when that is due. It
// returns what was known before.
func (w *statusWriter) change(gang, uid string, edit func(*verdict)) (before verdict) {
	busy := w.binder.queue.Len() > 0
	w.mu.Lock()
	v := w.verdicts[gang]
	if v.uid != uid {
		v = verdict{uid: uid}
	}
	before = v
	edit(&v)
	w.verdicts[gang] = v
	wait, held := due(before, v, busy)
	if held {
		w.held[gang] = true
	}
	w.mu.Unlock()
	w.queue.AddAfter(gang, wait)
	if v.why != nil {
		w.announcer.waits(gang)
	}
	return before
}

// release has the good news written that was held: all bindings are.
func (w *statusWriter) release() {
	w.mu.Lock()
	held := w.held
	if len(held) > 0 {
		w.held = map[string]bool{}
	}
	w.mu.Unlock()
	for gang := range held {
		w.queue.Add(gang)
	}
}

func (w *statusWriter) refused(d engine.Refuse) {
	w.change(d.Gang, d.UID, func(v *verdict) {
		v.why = &d.Why
		v.told++
	})
}

// moved notes how far a gang has come, and reports whether its phase is another.
func (w *statusWriter) moved(d engine.Status) (another bool) {
	since := w.age(d.UID)
	before := w.change(d.Gang, d.UID, func(v *verdict) {
		if placedAnew(v.status, d) {
			v.placed = since
		}
		v.status = d
		if !d.Waits {
			v.why = nil
		}
	})
	if placedAnew(before.status, d) && since > 0 {
		w.took(Placing, "", since)
	}
	return before.status.Phase != d.Phase
}

// placedAnew reports whether a gang has nodes for its minimum for the first time: one that
// ran before is not Inqueue any more.
func placedAnew(before, now engine.Status) bool {
	return now.Whole && !before.Whole && now.Phase == model.Inqueue && now.Min > 0
}

// age is how long ago a PodGroup was made; 0 when it is not known any more.
func (w *statusWriter) age(uid string) time.Duration {
	w.groups.Lock()
	defer w.groups.Unlock()
	if pg := w.known[types.UID(uid)]; pg != nil {
		return time.Since(pg.CreationTimestamp.Time)
	}
	return 0
}

func (w *statusWriter) unmet(d engine.Unmet) {
	w.change(d.Gang, d.UID, func(v *verdict) { v.unmet = d.Why })
}

func (w *statusWriter) orphan(d engine.Refuse) {
	w.mu.Lock()
	w.orphans[d.Task] = d
	w.mu.Unlock()
	w.queue.Add(orphanPrefix + d.Task)
}

// wrote remembers what a PodGroup's status is at the server.
func (w *statusWriter) wrote(gang string, pg *schedulingv1beta1.PodGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v, ok := w.verdicts[gang]; ok && v.uid == string(pg.UID) {
		v.written, v.version = &pg.Status, pg.ResourceVersion
		w.verdicts[gang] = v
	}
}

func (w *statusWriter) forget(gang, uid string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.verdicts[gang].uid == uid {
		delete(w.verdicts, gang)
	}
}

func (w *statusWriter) write(ctx context.Context, key string) error {
	w.mu.Lock()
	v, gang := w.verdicts[key]
	name, pod := strings.CutPrefix(key, orphanPrefix)
	refuse, waits := w.orphans[name]
	w.mu.Unlock()
	if gang {
		return w.writeGang(ctx, key, v)
	}
	if !pod || !waits {
		return nil
	}
	if err := w.writeOrphan(ctx, refuse); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.orphans[name].UID == refuse.UID {
		delete(w.orphans, name)
	}
	return nil
}

func (w *statusWriter) writeGang(ctx context.Context, key string, v verdict) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return fmt.Errorf("gang %s: %w", key, err)
	}
	var pg schedulingv1beta1.PodGroup
	err = w.cache.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &pg)
	if apierrors.IsNotFound(err) {
		// It went while the engine still spoke of it.
		w.forget(key, v.uid)
		w.wait(key, nil)
	}
	if err != nil || string(pg.UID) != v.uid || v.status.Phase == "" {
		return client.IgnoreNotFound(err) // without a phase, the rest of the verdict is still to come
	}
	was := &pg
	v.latest(was)
	now := was.DeepCopy()
	now.Status = nextStatus(was.Status, v, time.Now())
	if equality.Semantic.DeepEqual(now.Status, was.Status) {
		return nil
	}
	patch, err := difference(was, now)
	if err != nil {
		return fmt.Errorf("PodGroup %s: %w", key, err)
	}
	err = w.client.Patch(ctx, now, patch) // the answer is read into now
	switch {
	case outdated(err):
		w.queue.AddAfter(key, conflictPause)
		return nil
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("PodGroup %s: %w", key, err)
	}
	w.wrote(key, now)
	w.announce(&pg, v, was.Status.Phase)
	return nil
}

// announce makes an event of a status that was written.
func (w *statusWriter) announce(pg *schedulingv1beta1.PodGroup, v verdict, was schedulingv1beta1.PodGroupPhase) {
	runs := schedulingv1beta1.PodGroupPhase(v.status.Phase) == schedulingv1beta1.PodGroupRunning
	if v.why != nil {
		w.recorder.Event(pg, corev1.EventTypeWarning, string(schedulingv1beta1.PodGroupUnschedulableType), message(v))
	} else if v.status.Whole && runs && was != schedulingv1beta1.PodGroupRunning {
		w.recorder.Event(pg, corev1.EventTypeNormal, string(schedulingv1beta1.PodGroupScheduled), "pod group is ready")
	}
}

// writeOrphan tells a pod why nobody places it.
func (w *statusWriter) writeOrphan(ctx context.Context, d engine.Refuse) error {
	err := w.unschedulable(ctx, d.Task, map[string]any{"uid": d.UID}, d.Why, d.Why.String())
	if err != nil && w.late(ctx, d.Task, d.UID, err) {
		return nil
	}
	return err
}

// unschedulable writes to a pod, of which key is namespace/name, why it is not placed,
// unless it is another than meta says. Autoscalers add nodes for pods that are
// Unschedulable, so this is said only of those that more nodes could help; of others the
// cause is named.
func (s *Scheduler) unschedulable(ctx context.Context, key string, meta map[string]any, why reason.Reason, message string) error {
	cause := corev1.PodReasonUnschedulable
	if !why.NodesHelp() {
		cause = string(why.Code)
	}
	pod, err := s.setCondition(ctx, key, meta, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: cause, Message: message,
	})
	if err != nil {
		return err
	}
	s.recorder.Event(pod, corev1.EventTypeWarning, "FailedScheduling", message)
	return nil
}

// setCondition writes a condition of a pod, of which key is namespace/name, as of now,
// unless it is another than meta says.
func (s *Scheduler) setCondition(ctx context.Context, key string, meta map[string]any, c corev1.PodCondition) (*corev1.Pod, error) {
	c.LastTransitionTime = metav1.Now()
	return s.patchStatus(ctx, key, meta, map[string]any{"conditions": []corev1.PodCondition{c}})
}

// patchStatus writes fields of a pod's status, of which key is namespace/name, unless it is
// another than meta says.
func (s *Scheduler) patchStatus(ctx context.Context, key string, meta, status map[string]any) (*corev1.Pod, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", key, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta, "status": status})
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", key, err)
	}
	pod, err := s.pods.CoreV1().Pods(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", key, err)
	}
	return pod, nil
}
