// Package outcome carries out what a controller's pure step decided. Conflicts,
// missing objects and the order of writes are decided here, once.
package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/apis"
)

// FieldManager is who we are to server-side apply.
const FieldManager = "muster"

// writesAtOnce bounds the writes of one outcome, of a kind that may be many, that go on together.
const writesAtOnce = 16

// Outcome is what one step wants done. It is carried out in the order of its fields.
type Outcome struct {
	Apply    []apis.Object // wanted state, by server-side apply, without status
	Annotate []Annotation
	Patch    []Patch
	Delete   []apis.Object // only the very object: its UID must match
	Create   []apis.Object // what is there already by that name is left as it is
	Events   []Event       // told only when all writes went through
}

// Annotation puts annotations on an object that others own.
type Annotation struct {
	Object      apis.Object
	Annotations map[string]string
}

// Patch changes some fields of an object that others write too, by merge patch:
// null takes a field away. It fails with a conflict when the object is no longer
// as it was seen, so that a decision on old facts is never written.
type Patch struct {
	Object apis.Object
	Fields map[string]any // outside of status
	Status map[string]any // in status; written after Fields
}

// Event is something that users should read on an object.
type Event struct {
	On      apis.Object
	Warning bool
	Reason  string
	Message string
}

// Doer carries outcomes out.
type Doer struct {
	Client   client.Client
	Recorder record.EventRecorder
}

// Do carries out o. An error means that something is left to do and the step
// should be taken again; objects that are gone are no error.
func (d Doer) Do(ctx context.Context, o Outcome) error {
	for _, obj := range o.Apply {
		if err := d.apply(ctx, obj); err != nil {
			return err
		}
	}
	group, together := errgroup.WithContext(ctx)
	group.SetLimit(writesAtOnce)
	for _, a := range o.Annotate {
		group.Go(func() error { return d.annotate(together, a) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, p := range o.Patch {
		if err := d.patch(ctx, p); err != nil {
			return err
		}
	}
	if err := d.delete(ctx, o.Delete); err != nil {
		return err
	}
	if err := d.create(ctx, o.Create); err != nil {
		return err
	}
	for _, e := range o.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		d.Recorder.Event(e.On, kind, e.Reason, e.Message)
	}
	return nil
}

func (d Doer) delete(ctx context.Context, objects []apis.Object) error {
	group, together := errgroup.WithContext(ctx)
	group.SetLimit(writesAtOnce)
	for _, obj := range objects {
		group.Go(func() error {
			uid := obj.GetUID()
			err := d.Client.Delete(together, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
			if err != nil && !gone(err) {
				return fmt.Errorf("delete %s: %w", name(obj), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (d Doer) create(ctx context.Context, objects []apis.Object) error {
	group, together := errgroup.WithContext(ctx)
	group.SetLimit(writesAtOnce)
	for _, obj := range objects {
		group.Go(func() error {
			if err := d.Client.Create(together, obj, client.FieldOwner(FieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("create %s: %w", name(obj), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (d Doer) apply(ctx context.Context, obj apis.Object) error {
	kind, err := d.Client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("apply %s: %w", name(obj), err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("apply %s: %w", name(obj), err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(kind)
	u.SetManagedFields(nil)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	err = d.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", kind.Kind, name(obj), err)
	}
	return nil
}

func (d Doer) annotate(ctx context.Context, a Annotation) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": a.Object.GetUID(), "annotations": a.Annotations}})
	if err != nil {
		return fmt.Errorf("annotate %s: %w", name(a.Object), err)
	}
	target, ok := a.Object.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("annotate: not an object")
	}
	if err := d.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch)); err != nil && !gone(err) {
		return fmt.Errorf("annotate %s: %w", name(a.Object), err)
	}
	return nil
}

func (d Doer) patch(ctx context.Context, p Patch) error {
	target, ok := p.Object.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("patch: not an object")
	}
	write := func(fields map[string]any, to func(client.Patch) error) error {
		patch, err := seen(target, fields)
		if err == nil {
			err = to(patch) // target is then as the write left it
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("patch %s: %w", name(p.Object), err)
		}
		return nil
	}
	if len(p.Fields) > 0 {
		err := write(p.Fields, func(patch client.Patch) error { return d.Client.Patch(ctx, target, patch) })
		if err != nil {
			return err
		}
	}
	if len(p.Status) == 0 {
		return nil
	}
	return write(map[string]any{"status": p.Status}, func(patch client.Patch) error { return d.Client.Status().Patch(ctx, target, patch) })
}

// seen is a merge patch that takes effect only while obj is as it was seen.
func seen(obj apis.Object, fields map[string]any) (client.Patch, error) {
	body := maps.Clone(fields)
	meta := map[string]any{}
	if more, ok := fields["metadata"].(map[string]any); ok {
		maps.Copy(meta, more)
	}
	meta["uid"], meta["resourceVersion"] = obj.GetUID(), obj.GetResourceVersion()
	body["metadata"] = meta
	data, err := json.Marshal(body)
	return client.RawPatch(types.MergePatchType, data), err
}

// gone reports whether the object meant is no more, or another now has its name.
func gone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

func name(obj apis.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
