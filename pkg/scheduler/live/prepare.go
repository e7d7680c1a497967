package live

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// prepareTimeout is how long volumes may take to be made and bound before a pod is
// given up for that node; the time that kube-scheduler gives them.
const prepareTimeout = 10 * time.Minute

// prepareCheck is how often it is looked whether they are.
const prepareCheck = 250 * time.Millisecond

// preparers is how many pods' objects are written at once.
const preparers = 8

// preparer writes what must be there before pods are bound, volumes and devices,
// and hands them to the binder when it has had its effect. It waits for nobody: a
// pod whose volume takes long holds up no other.
type preparer struct {
	*Scheduler
	queue workqueue.TypedRateLimitingInterface[*prepared]
}

// prepared is how far the preparation of one pod is. One worker at a time has it.
type prepared struct {
	bind    engine.Bind
	written int // of its writes
	since   time.Time
}

// String is the pod's name.
func (p *prepared) String() string { return p.bind.Name }

func newPreparer(s *Scheduler) *preparer {
	return &preparer{Scheduler: s, queue: newQueue[*prepared](50*time.Millisecond, 10*time.Second)}
}

// add begins the preparation of a bind.
func (p *preparer) add(d engine.Bind) { p.queue.Add(&prepared{bind: d, since: time.Now()}) }

// write goes on with the preparation of one pod.
func (p *preparer) write(ctx context.Context, at *prepared) error {
	for _, w := range at.bind.Before.Writes[at.written:] {
		err := p.put(ctx, w)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			p.giveUp(ctx, at, err) // it was decided on what is no longer so
			return nil
		}
		if err != nil {
			return err
		}
		at.written++
	}
	ready, err := p.ready(ctx, at.bind)
	switch {
	case err != nil || time.Since(at.since) > prepareTimeout:
		p.giveUp(ctx, at, err)
	case !ready:
		p.queue.AddAfter(at, prepareCheck)
	default:
		bind := at.bind
		bind.Before = nil
		p.binder.queue.Add(bind)
	}
	return nil
}

func (p *preparer) put(ctx context.Context, w framework.Write) error {
	o, ok := w.Object.(client.Object)
	if !ok {
		return fmt.Errorf("write %T: it has no name", w.Object)
	}
	o, _ = o.DeepCopyObject().(client.Object)
	var err error
	if w.Status {
		err = p.client.Status().Update(ctx, o)
	} else {
		err = p.client.Update(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("write %T %s: %w", w.Object, client.ObjectKeyFromObject(o), err)
	}
	return nil
}

// ready reports whether all volume claims of a pod are bound.
func (p *preparer) ready(ctx context.Context, d engine.Bind) (bool, error) {
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

// giveUp tells the engine that a pod can't be bound where it wanted.
func (p *preparer) giveUp(ctx context.Context, at *prepared, err error) {
	if err == nil {
		err = fmt.Errorf("its volumes are not bound after %v", prepareTimeout)
	}
	p.binder.refused(ctx, at.bind, err)
}
