package relations

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// expressions is how many selectors are remembered once they are read.
const expressions = 1000

// devices shows kube-scheduler's plugin the claims and devices there are. A claim
// that was given devices a moment ago shows as having them: the tasks of a gang
// that share a claim are placed together, and one after the other written.
type devices struct {
	fwk.SharedDRAManager
	claims *claimTracker
}

func newDevices(ctx context.Context, s *store) (*devices, error) {
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		SliceInformer: s.Resource().V1().ResourceSlices(),
	})
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), s.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, s)
	return &devices{SharedDRAManager: manager, claims: &claimTracker{
		ResourceClaimTracker: manager.ResourceClaims(),
		pending:              map[types.UID]*resourcev1.ResourceClaim{},
	}}, nil
}

func (d *devices) ResourceClaims() fwk.ResourceClaimTracker { return d.claims }

// learn forgets what was given to a claim when the API server says it has it, or that it is gone.
func (d *devices) learn(c *resourcev1.ResourceClaim, gone bool) {
	if gone || c.Status.Allocation != nil {
		d.claims.forget(c.UID)
	}
}

// claimTracker shows claims with what they were given.
type claimTracker struct {
	fwk.ResourceClaimTracker
	pending map[types.UID]*resourcev1.ResourceClaim
}

func (c *claimTracker) Get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	claim, err := c.ResourceClaimTracker.Get(namespace, name)
	if err != nil || c.pending[claim.UID] == nil {
		return claim, err
	}
	return c.pending[claim.UID], nil
}

func (c *claimTracker) GetPendingAllocation(types.UID) *resourcev1.AllocationResult { return nil }

func (c *claimTracker) SignalClaimPendingAllocation(uid types.UID, claim *resourcev1.ResourceClaim) error {
	if err := c.ResourceClaimTracker.SignalClaimPendingAllocation(uid, claim); err != nil {
		return err
	}
	c.pending[uid] = claim
	return nil
}

func (c *claimTracker) forget(uid types.UID) {
	if c.pending[uid] != nil {
		c.MaybeRemoveClaimPendingAllocation(uid, true)
		delete(c.pending, uid)
	}
}

// of lists the claims of a pod, as far as they exist.
func (c *claimTracker) of(p *corev1.Pod) []*resourcev1.ResourceClaim {
	var claims []*resourcev1.ResourceClaim
	for i := range p.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(p, &p.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		if claim, err := c.Get(p.Namespace, *name); err == nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// writes are the claims of a pod as they must be before it is bound: with the
// devices that were chosen, and reserved for it.
func (d *devices) writes(p *corev1.Pod) []framework.Write {
	var writes []framework.Write
	for _, claim := range d.claims.of(p) {
		if resourceclaim.IsReservedForPod(p, claim, false) {
			continue
		}
		claim = claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
			Resource: "pods", Name: p.Name, UID: p.UID,
		})
		writes = append(writes, framework.Write{Object: claim, Status: true})
	}
	return writes
}

// Selects makes a judge of which devices are chosen by selectors: all must say yes. One
// that can't be read, or that can't say anything about a device, chooses none.
func Selects() func(driver string, d *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool {
	fts := features()
	known := cel.NewCache(expressions, cel.Features{
		EnableConsumableCapacity: fts.EnableDRAConsumableCapacity, EnableListTypeAttributes: fts.EnableDRAListTypeAttributes,
	})
	ctx := quiet()
	return func(driver string, d *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool {
		return !slices.ContainsFunc(selectors, func(s resourcev1.DeviceSelector) bool {
			if s.CEL == nil {
				return true
			}
			expression := known.GetOrCompile(s.CEL.Expression)
			if expression.Error != nil {
				return true
			}
			yes, _, err := expression.DeviceMatches(ctx, cel.Device{
				Driver: driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity,
			})
			return err != nil || !yes
		})
	}
}
