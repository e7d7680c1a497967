package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// prepareTimeout is how long volumes may take to be made and bound, and devices to get
// ready, before a pod is given up for that node; the time that kube-scheduler gives them.
const prepareTimeout = 10 * time.Minute

// prepareCheck is how often it is looked whether they are.
const prepareCheck = 250 * time.Millisecond

// preparers is how many pods' objects are written at once.
const preparers = 8

// preparer writes what must be there before pods are bound, volumes and devices,
// and hands them to the binder when it has had its effect. It waits for nobody: a
// pod whose volume takes long holds up only those that make its gang whole with it.
type preparer struct {
	*Scheduler
	queue   workqueue.TypedRateLimitingInterface[*prepared]
	forming *party // that of the binds that are being taken
}

// prepared is how far the preparation of one pod is. One worker at a time has it.
type prepared struct {
	bind    engine.Bind // without a node: nothing is bound afterwards
	written int         // of its writes
	since   time.Time
	claims  []*resourcev1.ResourceClaim // for devices, as they were when they were written
	with    *party                      // nil: it is bound alone
}

// String is the pod's name.
func (p *prepared) String() string { return p.bind.Name }

// party is pods of a gang that are bound together or not at all.
type party struct {
	expected int // how many are yet to be taken
	mu       sync.Mutex
	lacks    int // how many are not ready, and may yet be
	ready    []engine.Bind
	broken   error // why none will be bound
}

// arrive notes that a pod is ready, or why it never will be. The last one to arrive is
// told who of them can be bound, or why they can't be.
func (y *party) arrive(bind engine.Bind, why error) (ready []engine.Bind, broken error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if why == nil {
		y.ready = append(y.ready, bind)
	} else if y.broken == nil {
		y.broken = fmt.Errorf("pod %s, which is bound with it, can't be: %w", bind.Name, why)
	}
	if y.lacks--; y.lacks > 0 {
		return nil, nil
	}
	return y.ready, y.broken
}

// over is why none of them will be bound; nil when they may be.
func (y *party) over() error {
	if y == nil {
		return nil
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.broken
}

func newPreparer(s *Scheduler) *preparer {
	return &preparer{Scheduler: s, queue: newQueue[*prepared](50*time.Millisecond, 10*time.Second)}
}

// take begins a bind: with its preparation, if there is any.
func (p *preparer) take(ctx context.Context, d engine.Bind) {
	at := &prepared{bind: d, since: time.Now()}
	if d.Together > 0 {
		if p.forming == nil {
			p.forming = &party{expected: d.Together, lacks: d.Together}
		}
		at.with = p.forming
		if p.forming.expected--; p.forming.expected == 0 {
			p.forming = nil
		}
	}
	if d.Before != nil {
		p.queue.Add(at)
	} else {
		p.finish(ctx, at, nil)
	}
}

// undo writes what was given to a pod off.
func (p *preparer) undo(d engine.Undo) {
	p.queue.Add(&prepared{bind: engine.Bind{UID: d.UID, Name: d.Name, Gang: d.Gang, Before: &engine.Preparation{Writes: d.Writes}}, since: time.Now()})
}

// write goes on with the preparation of one pod.
func (p *preparer) write(ctx context.Context, at *prepared) error {
	if why := at.with.over(); why != nil {
		p.finish(ctx, at, why)
		return nil
	}
	for _, w := range at.bind.Before.Writes[at.written:] {
		err := p.put(ctx, at, w)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || errors.Is(err, errStale) || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			p.finish(ctx, at, err) // it was decided on what is no longer so
			return nil
		}
		if err != nil {
			return err
		}
		at.written++
	}
	if at.bind.Node == "" {
		return nil
	}
	ready, err := p.ready(ctx, at)
	switch {
	case err != nil:
		p.finish(ctx, at, err)
	case ready:
		p.finish(ctx, at, nil)
	case time.Since(at.since) > prepareTimeout:
		p.finish(ctx, at, fmt.Errorf("its volumes or devices are not ready after %v", prepareTimeout))
	default:
		p.queue.AddAfter(at, prepareCheck)
	}
	return nil
}

// finish binds a pod that is prepared, or tells the engine why it can't be bound where it
// wanted. Those that are bound together are so when the last of them is.
func (p *preparer) finish(ctx context.Context, at *prepared, why error) {
	bind := at.bind
	bind.Before = nil
	if bind.Node == "" {
		return // nothing comes of it but what the watch tells
	}
	ready, broken := []engine.Bind{bind}, why
	if at.with != nil {
		if why != nil {
			p.binder.refused(ctx, bind, why)
		}
		ready, broken = at.with.arrive(bind, why)
	}
	for _, bind := range ready {
		if broken != nil {
			p.binder.refused(ctx, bind, broken)
		} else {
			p.binder.queue.Add(bind)
		}
	}
}

func (p *preparer) put(ctx context.Context, at *prepared, w framework.Write) error {
	o, ok := w.Object.(client.Object)
	if !ok {
		return fmt.Errorf("write %T: it has no name", w.Object)
	}
	o, _ = o.DeepCopyObject().(client.Object)
	claim, _ := o.(*resourcev1.ResourceClaim)
	var err error
	switch {
	case w.Gone:
		err = p.drop(ctx, o)
	case claim != nil && len(claim.Status.ReservedFor) > 0:
		if claim, err = p.reserve(ctx, claim); err == nil {
			at.claims = append(at.claims, claim)
		}
	case w.Status:
		err = p.putStatus(ctx, o)
	default:
		err = p.client.Update(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("write %T %s: %w", w.Object, client.ObjectKeyFromObject(o), err)
	}
	return nil
}

// putStatus writes what matters in an object's status: of a pod, which claim stands for
// its extended resources.
func (p *preparer) putStatus(ctx context.Context, o client.Object) error {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return p.client.Status().Update(ctx, o)
	}
	_, err := p.patchStatus(ctx, pod.Namespace+"/"+pod.Name, map[string]any{"uid": pod.UID}, map[string]any{
		"extendedResourceClaimStatus": pod.Status.ExtendedResourceClaimStatus,
	})
	return err
}

// ready reports whether all volume claims of a pod are bound and its devices are ready.
func (p *preparer) ready(ctx context.Context, at *prepared) (bool, error) {
	for _, claim := range at.claims {
		if ready, err := p.devicesReady(ctx, at, claim); err != nil || !ready {
			return false, err
		}
	}
	return p.volumesReady(ctx, at.bind)
}

// volumesReady reports whether all volume claims of a pod are bound.
func (p *preparer) volumesReady(ctx context.Context, d engine.Bind) (bool, error) {
	at := podReference(d.Name, d.UID)
	namespace, name := at.Namespace, at.Name
	var pod corev1.Pod
	if err := p.cache.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &pod); err != nil {
		return false, fmt.Errorf("pod %s: %w", d.Name, err)
	}
	for _, v := range pod.Spec.Volumes {
		claim := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			claim = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			claim = name + "-" + v.Name
		default:
			continue
		}
		var pvc corev1.PersistentVolumeClaim
		if err := p.cache.Get(ctx, types.NamespacedName{Namespace: namespace, Name: claim}, &pvc); err != nil {
			return false, fmt.Errorf("claim %s/%s: %w", namespace, claim, err)
		}
		if pvc.Status.Phase != corev1.ClaimBound {
			return false, nil
		}
	}
	return true, nil
}
