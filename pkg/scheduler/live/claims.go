package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drop deletes a claim that was made for a pod, though it says that it is in use.
func (p *preparer) drop(ctx context.Context, o client.Object) error {
	claims := p.pods.ResourceV1().ResourceClaims(o.GetNamespace())
	claim, err := claims.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if i := slices.Index(claim.Finalizers, resourcev1.Finalizer); i >= 0 {
		claim.Finalizers = slices.Delete(claim.Finalizers, i, i+1)
		if claim, err = claims.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return claims.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(claim.UID))})
}

// errStale says that a claim is not any more what was decided on.
var errStale = errors.New("the claim has changed")

// reserveTries is how often a claim is looked at anew when others write to it as well.
const reserveTries = 5

// reserve has a claim that was decided on made, if it is not yet there, given its devices, if
// they are named, and reserved for whom it says. It returns the claim as it is then. What
// others changed of it stays, but for a claim that has other devices by now: that is a conflict.
func (p *preparer) reserve(ctx context.Context, want *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	claims := p.pods.ResourceV1().ResourceClaims(want.Namespace)
	var err error
	have := want.DeepCopy()
	have.Status = resourcev1.ResourceClaimStatus{}
	if want.UID == "" {
		if have, err = claims.Create(ctx, have, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	} else if err = p.cache.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
		return nil, err
	}
	for range reserveTries {
		if have, err = p.reserveIn(ctx, have.DeepCopy(), want); !apierrors.IsConflict(err) {
			return have, err
		}
		if have, err = claims.Get(ctx, want.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// reserveIn does that in a claim as it is.
func (p *preparer) reserveIn(ctx context.Context, have, want *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
	claims := p.pods.ResourceV1().ResourceClaims(want.Namespace)
	gives, has := want.Status.Allocation, have.Status.Allocation
	switch {
	case want.UID != "" && have.UID != want.UID, have.DeletionTimestamp != nil, gives == nil && has == nil:
		return nil, fmt.Errorf("%w: it, or what it was given, is gone", errStale)
	case gives != nil && has != nil && !equality.Semantic.DeepEqual(gives.Devices, has.Devices):
		return nil, fmt.Errorf("%w: it was given other devices", errStale)
	case has == nil && !slices.Contains(have.Finalizers, resourcev1.Finalizer):
		have.Finalizers = append(have.Finalizers, resourcev1.Finalizer)
		updated, err := claims.Update(ctx, have, metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		have = updated
	}
	before := have.Status.DeepCopy()
	if has == nil {
		have.Status.Allocation = gives
	}
	for _, user := range want.Status.ReservedFor {
		if !slices.ContainsFunc(have.Status.ReservedFor, func(u resourcev1.ResourceClaimConsumerReference) bool { return u.UID == user.UID }) {
			have.Status.ReservedFor = append(have.Status.ReservedFor, user)
		}
	}
	if equality.Semantic.DeepEqual(before, &have.Status) {
		return have, nil
	}
	return claims.UpdateStatus(ctx, have, metav1.UpdateOptions{})
}

// devicesReady reports whether the devices of a claim meet the conditions under which pods may be bound to them.
func (p *preparer) devicesReady(ctx context.Context, at *prepared, claim *resourcev1.ResourceClaim) (bool, error) {
	var cached resourcev1.ResourceClaim
	if err := p.cache.Get(ctx, client.ObjectKeyFromObject(claim), &cached); err == nil && newer(cached.ResourceVersion, claim.ResourceVersion) {
		claim = &cached
	}
	if claim.Status.Allocation == nil || !slices.ContainsFunc(claim.Status.ReservedFor, func(u resourcev1.ResourceClaimConsumerReference) bool {
		return string(u.UID) == at.bind.UID
	}) {
		return false, fmt.Errorf("claim %s is not reserved for the pod any more", claim.Name)
	}
	ready := true
	for i := range claim.Status.Allocation.Devices.Results {
		ok, err := deviceReady(claim, &claim.Status.Allocation.Devices.Results[i])
		if err != nil {
			return false, err
		}
		ready = ready && ok
	}
	return ready, nil
}

func deviceReady(claim *resourcev1.ResourceClaim, r *resourcev1.DeviceRequestAllocationResult) (bool, error) {
	if len(r.BindingConditions) == 0 {
		return true, nil
	}
	i := slices.IndexFunc(claim.Status.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		return d.Driver == r.Driver && d.Pool == r.Pool && d.Device == r.Device && (d.ShareID == nil || r.ShareID != nil && *d.ShareID == string(*r.ShareID))
	})
	if i < 0 {
		return false, nil
	}
	conditions := claim.Status.Devices[i].Conditions
	for _, name := range r.BindingFailureConditions {
		if c := meta.FindStatusCondition(conditions, name); c != nil && c.Status == metav1.ConditionTrue {
			return false, fmt.Errorf("device %s of claim %s can't get ready: %s is true: %s: %s", r.Device, claim.Name, name, c.Reason, c.Message)
		}
	}
	return !slices.ContainsFunc(r.BindingConditions, func(name string) bool { return !meta.IsStatusConditionTrue(conditions, name) }), nil
}
