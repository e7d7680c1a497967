package relations

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/muster-sh/muster/pkg/model"
)

// expressions is how many selectors are remembered once they are read.
const expressions = 1000

// devices shows kube-scheduler's plugin the claims and devices there are. A claim
// that was given devices a moment ago shows as having them: the tasks of a gang
// that share a claim are placed together, and one after the other written.
type devices struct {
	fwk.SharedDRAManager
	claims *claimTracker
	users  map[types.UID][]types.UID // pods that a claim is reserved for, by its UID
	having map[types.UID]int         // claims that are reserved for a pod, by its UID
	// extended are the claims for extended resources that there are, by the UID of their pod.
	extended map[types.UID]*resourcev1.ResourceClaim
}

func newDevices(ctx context.Context, s *store) (*devices, error) {
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          s.Resource().V1().ResourceSlices(),
		TaintInformer:          s.Resource().V1().DeviceTaintRules(),
	})
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), s.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, s)
	if resolver, ok := manager.DeviceClassResolver().(cache.ResourceEventHandler); ok {
		if _, err := s.Resource().V1().DeviceClasses().Informer().AddEventHandler(resolver); err != nil {
			return nil, err
		}
	}
	return &devices{
		SharedDRAManager: manager,
		claims: &claimTracker{
			ResourceClaimTracker: manager.ResourceClaims(), pending: map[types.UID]*resourcev1.ResourceClaim{}, special: map[types.UID]types.UID{},
		},
		users: map[types.UID][]types.UID{}, having: map[types.UID]int{}, extended: map[types.UID]*resourcev1.ResourceClaim{},
	}, nil
}

func (d *devices) ResourceClaims() fwk.ResourceClaimTracker { return d.claims }

// learn notes for whom a claim is, and forgets what was given to it when the API server
// says it has it, or that it is gone.
func (d *devices) learn(c *resourcev1.ResourceClaim, gone bool) {
	for _, uid := range d.users[c.UID] {
		if d.having[uid]--; d.having[uid] == 0 {
			delete(d.having, uid)
		}
	}
	delete(d.users, c.UID)
	if !gone {
		for _, user := range c.Status.ReservedFor {
			d.users[c.UID] = append(d.users[c.UID], user.UID)
			d.having[user.UID]++
		}
	}
	given := gone || c.Status.Allocation != nil
	if given {
		d.claims.forget(c.UID)
	}
	if owner := metav1.GetControllerOf(c); owner != nil && c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] == "true" {
		if d.extended[owner.UID] = c; gone {
			delete(d.extended, owner.UID)
		}
		if given {
			d.claims.forgetSpecial(owner.UID)
		}
	}
}

// claimTracker shows claims with what they were given.
type claimTracker struct {
	fwk.ResourceClaimTracker
	pending   map[types.UID]*resourcev1.ResourceClaim
	special   map[types.UID]types.UID // pending claims for extended resources, which are yet to be made, by the UID of their pod
	signalled []types.UID             // of the claims that were given devices last
	away      func() []*resourcev1.ResourceClaim
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
	c.signalled = append(c.signalled, uid)
	return nil
}

// MaybeRemoveClaimPendingAllocation does nothing: what is to be written is not written yet.
func (*claimTracker) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool { return false }

// AssumeClaimAfterAPICall does nothing: there was no call.
func (*claimTracker) AssumeClaimAfterAPICall(*resourcev1.ResourceClaim) error { return nil }

// GatherAllocatedState leaves out what is free when those that are away in a what-if are gone.
func (c *claimTracker) GatherAllocatedState() (*structured.AllocatedState, error) {
	state, err := c.ResourceClaimTracker.GatherAllocatedState()
	if err != nil {
		return nil, err
	}
	for _, claim := range c.away() {
		for _, r := range claim.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
			switch {
			case r.AdminAccess != nil && *r.AdminAccess:
			case r.ShareID != nil:
				state.AllocatedSharedDeviceIDs.Delete(structured.MakeSharedDeviceID(id, r.ShareID))
				state.AggregatedCapacity.Remove(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
			default:
				state.AllocatedDevices.Delete(id)
			}
		}
	}
	return state, nil
}

func (c *claimTracker) forget(uid types.UID) {
	if c.pending[uid] != nil {
		c.ResourceClaimTracker.MaybeRemoveClaimPendingAllocation(uid, true)
		delete(c.pending, uid)
	}
}

// forgetSpecial forgets the claim that was to be made for a pod.
func (c *claimTracker) forgetSpecial(pod types.UID) {
	c.forget(c.special[pod])
	delete(c.special, pod)
}

// of lists the claims of a pod, as far as they exist.
func (c *claimTracker) of(p *corev1.Pod) []*resourcev1.ResourceClaim {
	var claims []*resourcev1.ResourceClaim
	add := func(name string) {
		if claim, err := c.Get(p.Namespace, name); err == nil {
			claims = append(claims, claim)
		}
	}
	for i := range p.Spec.ResourceClaims {
		if name, _, err := resourceclaim.Name(p, &p.Spec.ResourceClaims[i]); err == nil && name != nil {
			add(*name)
		}
	}
	if s := p.Status.ExtendedResourceClaimStatus; s != nil {
		add(s.ResourceClaimName)
	}
	return claims
}

// away lists the claims with devices of which all users have left, in a what-if.
func (p *plugin) away() []*resourcev1.ResourceClaim {
	var free []*resourcev1.ResourceClaim
	seen := map[types.UID]bool{}
	for t := range p.world.Away() {
		if t.Pod == nil {
			continue
		}
		claims := p.kube.devices.claims.of(t.Pod)
		if c := p.kube.devices.claims.pending[p.kube.devices.claims.special[t.Pod.UID]]; c != nil {
			claims = append(claims, c)
		}
		for _, c := range claims {
			if !seen[c.UID] && c.Status.Allocation != nil && !p.used(c) {
				free = append(free, c)
			}
			seen[c.UID] = true
		}
	}
	return free
}

// used reports whether anybody who uses a claim is still there.
func (p *plugin) used(c *resourcev1.ResourceClaim) bool {
	there := func(t *model.Task) bool { return t != nil && t.Bucket != model.Evicted }
	return slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
		return there(p.world.TaskOf(string(r.UID)))
	}) || slices.ContainsFunc(p.reserved, func(r *reservation) bool {
		return r.stands() && there(r.task) && slices.Contains(r.claims, c.UID)
	})
}

// reservedFrom are the nodes where room is set aside for gangs that claim devices of a class
// that the task claims as well: somebody else's devices must not go to it meanwhile.
func (p *plugin) reservedFrom(t *model.Task) map[model.NodeID]bool {
	keepers := p.world.Keepers()
	if len(keepers) == 0 || !p.on.Devices {
		return nil
	}
	wants := p.deviceClasses(t)
	if len(wants) == 0 {
		return nil
	}
	kept := map[model.NodeID]bool{}
	for _, g := range keepers {
		if g == t.Gang || !slices.ContainsFunc(g.Tasks, func(o *model.Task) bool {
			return o.Bucket == model.Waiting && slices.ContainsFunc(p.deviceClasses(o), func(c string) bool { return slices.Contains(wants, c) })
		}) {
			continue
		}
		for _, c := range g.Claims {
			if c.Node != nil {
				kept[c.Node.ID] = true
			}
		}
	}
	return kept
}

// deviceClasses are the classes of which a task claims devices that it does not have yet.
func (p *plugin) deviceClasses(t *model.Task) []string {
	var classes []string
	if t.Pod == nil {
		return nil
	}
	for _, c := range p.kube.devices.claims.of(t.Pod) {
		if c.Status.Allocation != nil {
			continue
		}
		for _, r := range c.Spec.Devices.Requests {
			if r.Exactly != nil {
				classes = append(classes, r.Exactly.DeviceClassName)
			}
			for _, sub := range r.FirstAvailable {
				classes = append(classes, sub.DeviceClassName)
			}
		}
	}
	return append(classes, p.provider.classesOf(t)...)
}

// Lingers reports whether a claim is still reserved for a pod.
func (p *plugin) Lingers(uid string) bool { return p.kube.devices.having[types.UID(uid)] > 0 }

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
