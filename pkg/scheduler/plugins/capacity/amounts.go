package capacity

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// amounts are of resources by name, or of dimensions of devices by theirs.
type amounts map[string]int64

// add adds times copies of o. What is beyond 64 bits is held at their end.
func (a amounts) add(o amounts, times int64) {
	//muster:anyorder sums
	for name, n := range o {
		a[name] = resource.Add(a[name], resource.Share{Part: n, Whole: 1}.Of(times))
	}
}

// atLeast raises each amount to that of o.
func (a amounts) atLeast(o amounts) {
	//muster:anyorder each for itself
	for name, n := range o {
		a[name] = max(a[name], n)
	}
}

// of names so many devices of a class, and what they have together, as queues do.
func of(class string, count int64, dimensions amounts) amounts {
	a := amounts{"deviceclass/" + class: count}
	//muster:anyorder a copy from map to map
	for dimension, n := range dimensions {
		a[dimension+".deviceclass/"+class] = n
	}
	return a
}

// measure adds a quantity of a capacity. Its domain, if it has one, is left out: the
// name of a resource has one already.
func (a amounts) measure(name resourcev1.QualifiedName, q apiresource.Quantity) {
	dimension := string(name[strings.LastIndexByte(string(name), '/')+1:])
	a[dimension] = resource.Add(a[dimension], model.Units(corev1.ResourceName(dimension+".deviceclass/"), q))
}

// asked are quantities that a request or an allocation names.
func asked(quantities map[resourcev1.QualifiedName]apiresource.Quantity) amounts {
	a := amounts{}
	//muster:anyorder sums
	for name, q := range quantities {
		a.measure(name, q)
	}
	return a
}

// whole is all that a device has.
func whole(d *resourcev1.Device) amounts {
	a := amounts{}
	//muster:anyorder sums
	for name, c := range d.Capacity {
		a.measure(name, c.Value)
	}
	return a
}

// part is what an allocation takes of a device that may be shared: what is asked
// for, rounded up as the device says, and what the device says where nothing is.
func part(d *resourcev1.Device, request *resourcev1.CapacityRequirements) amounts {
	a := amounts{}
	//muster:anyorder sums
	for name, c := range d.Capacity {
		q := c.Value
		if c.RequestPolicy != nil && c.RequestPolicy.Default != nil {
			q = *c.RequestPolicy.Default
		}
		if request != nil {
			if want, ok := request.Requests[name]; ok {
				q = rounded(want, c.RequestPolicy)
			}
		}
		a.measure(name, q)
	}
	return a
}

// rounded is the least amount that a device gives that is no less than q.
func rounded(q apiresource.Quantity, policy *resourcev1.CapacityRequestPolicy) apiresource.Quantity {
	switch {
	case policy == nil:
	case policy.ValidRange != nil && policy.ValidRange.Min != nil:
		least := policy.ValidRange.Min
		if q.Cmp(*least) <= 0 {
			return *least
		}
		if step := policy.ValidRange.Step; step != nil && step.Value() > 0 {
			steps := (q.Value() - least.Value() + step.Value() - 1) / step.Value()
			return *apiresource.NewQuantity(least.Value()+steps*step.Value(), q.Format)
		}
	default:
		for _, valid := range policy.ValidValues { // in ascending order
			if valid.Cmp(q) >= 0 {
				return valid
			}
		}
	}
	return q
}
