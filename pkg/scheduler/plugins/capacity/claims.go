package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// counter knows what claims take: what was allocated, or as long as nothing is, what
// is asked for.
type counter struct {
	stock     stock
	claims    map[subject]*claim
	news      map[subject]bool // told of since the last count
	restocked bool             // devices or classes changed since
	total     resource.List
}

// subject is a claim, or a template of claims, by namespace/name.
type subject struct{ claim, template string }

// claim is what is asked for, what was given, and what was last told of it.
type claim struct {
	asks  *resourcev1.ResourceClaimSpec
	given *resourcev1.AllocationResult
	told  amounts
}

func newCounter(selects Selects, consumable bool) *counter {
	return &counter{stock: newStock(selects, consumable), claims: map[subject]*claim{}, news: map[subject]bool{}}
}

// learn takes in an object. Those that have nothing to do with devices are ignored.
func (c *counter) learn(o runtime.Object, gone bool) {
	switch o := o.(type) {
	case *resourcev1.ResourceClaim:
		c.set(subject{claim: o.Namespace + "/" + o.Name}, &o.Spec, o.Status.Allocation, gone)
	case *resourcev1.ResourceClaimTemplate:
		c.set(subject{template: o.Namespace + "/" + o.Name}, &o.Spec.Spec, nil, gone)
	case *resourcev1.DeviceClass:
		c.stock.setClass(o, gone)
		c.restocked = true
	case *resourcev1.ResourceSlice:
		c.stock.setSlice(o, gone)
		c.restocked = true
	}
}

func (c *counter) set(of subject, asks *resourcev1.ResourceClaimSpec, given *resourcev1.AllocationResult, gone bool) {
	c.news[of] = true
	switch {
	case gone:
		delete(c.claims, of)
	case c.claims[of] == nil:
		c.claims[of] = &claim{asks: asks, given: given}
	default:
		c.claims[of].asks, c.claims[of].given = asks, given
	}
}

// recount tells what takes something else than when it was told last, by name.
func (c *counter) recount() (changed []model.Devices, total resource.List, news bool) {
	if len(c.news) == 0 && !c.restocked {
		return nil, nil, false
	}
	if c.restocked {
		c.total = resource.ListOf(c.stock.total())
		//muster:anyorder from map to map
		for of := range c.claims {
			c.news[of] = true
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(c.news), subject.compare) {
		told := model.Devices{Claim: of.claim, Template: of.template}
		cl := c.claims[of]
		if cl == nil {
			told.Gone = true
		} else {
			takes := c.stock.takes(cl)
			if cl.told != nil && maps.Equal(takes, cl.told) {
				continue
			}
			cl.told, told.Takes = takes, resource.ListOf(takes)
		}
		changed = append(changed, told)
	}
	clear(c.news)
	c.restocked = false
	return changed, c.total, true
}

func (s subject) compare(o subject) int {
	return cmp.Or(cmp.Compare(s.claim, o.claim), cmp.Compare(s.template, o.template))
}

// takes is what queues are charged for a claim.
func (s *stock) takes(c *claim) amounts {
	sum := amounts{}
	if c.given != nil {
		for i := range c.given.Devices.Results {
			r := &c.given.Devices.Results[i]
			if request := requested(c.asks, r.Request); request != nil && !access(r.AdminAccess) {
				sum.add(of(request.DeviceClassName, 1, s.given(r, request)), 1)
			}
		}
		return sum
	}
	for i := range c.asks.Devices.Requests {
		r := &c.asks.Devices.Requests[i]
		if r.Exactly != nil {
			sum.add(s.wanted(r.Exactly), 1)
		}
		most := amounts{}
		for j := range r.FirstAvailable {
			most.atLeast(s.wanted(exactly(&r.FirstAvailable[j])))
		}
		sum.add(most, 1)
	}
	return sum
}

// given is what an allocation takes of its device.
func (s *stock) given(r *resourcev1.DeviceRequestAllocationResult, request *resourcev1.ExactDeviceRequest) amounts {
	if s.consumable && r.ConsumedCapacity != nil {
		return asked(r.ConsumedCapacity)
	}
	if d := s.device(r); d != nil {
		return whole(d)
	}
	return s.look(request).most
}

// wanted is what a request will take at most. How many devices all of them are is
// known only once they are given: until then it is one.
func (s *stock) wanted(r *resourcev1.ExactDeviceRequest) amounts {
	if access(r.AdminAccess) {
		return nil
	}
	count := max(r.Count, 1)
	if r.AllocationMode == resourcev1.DeviceAllocationModeAll {
		count = 1
	}
	f := s.look(r)
	if f.count == 0 && s.consumable && r.Capacity != nil {
		f.most = asked(r.Capacity.Requests)
	}
	all := amounts{}
	all.add(f.most, count)
	return of(r.DeviceClassName, count, all)
}

// access reports whether devices are only looked after, whoever else uses them.
func access(admin *bool) bool { return admin != nil && *admin }

func exactly(r *resourcev1.DeviceSubRequest) *resourcev1.ExactDeviceRequest {
	return &resourcev1.ExactDeviceRequest{
		DeviceClassName: r.DeviceClassName, Selectors: r.Selectors, AllocationMode: r.AllocationMode, Count: r.Count, Capacity: r.Capacity,
	}
}

// requested is the request of that name, which of an alternative is request/alternative; nil when there is none.
func requested(asks *resourcev1.ResourceClaimSpec, name string) *resourcev1.ExactDeviceRequest {
	main, sub, _ := strings.Cut(name, "/")
	for i := range asks.Devices.Requests {
		r := &asks.Devices.Requests[i]
		if r.Name != main {
			continue
		}
		for j := range r.FirstAvailable {
			if r.FirstAvailable[j].Name == sub {
				return exactly(&r.FirstAvailable[j])
			}
		}
		return r.Exactly
	}
	return nil
}
