package capacity

import (
	"encoding/json"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// Selects reports whether a driver's device is one that all the selectors choose.
type Selects func(driver string, d *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool

// stock is the devices that drivers publish, as far as queues are charged for them.
// Of each slice is remembered which of its devices were looked for before, and what
// those have, so that a slice that changes costs no look at the others.
type stock struct {
	selects    Selects // nil: nobody knows which devices belong to a class
	consumable bool    // devices that may be shared are charged by the part that is taken
	classes    map[string]*resourcev1.DeviceClass
	pools      map[pool]map[string]*slice // by name of the slice
	where      map[string]pool            // the pools of slices
}

// finds is how many finds a slice remembers.
const finds = 64

// pool is where a device has its name.
type pool struct{ driver, name string }

// slice is a ResourceSlice, and what was found in it, by what was sought.
type slice struct {
	*resourcev1.ResourceSlice
	found map[string]find
}

// find is the devices of a slice that a request chooses.
type find struct {
	class string
	count int64
	all   amounts // what all of them have
	most  amounts // the most of each dimension that one of them would be charged
}

func newStock(selects Selects, consumable bool) stock {
	return stock{
		selects: selects, consumable: consumable,
		classes: map[string]*resourcev1.DeviceClass{}, pools: map[pool]map[string]*slice{},
		where: map[string]pool{},
	}
}

// setClass takes in a class, or takes it out. What was found of it is looked for again.
func (s *stock) setClass(c *resourcev1.DeviceClass, gone bool) {
	if delete(s.classes, c.Name); !gone {
		s.classes[c.Name] = c
	}
	//muster:anyorder each for itself
	for _, p := range s.pools {
		//muster:anyorder each for itself
		for _, sl := range p {
			maps.DeleteFunc(sl.found, func(_ string, f find) bool { return f.class == c.Name })
		}
	}
}

// setSlice takes in a slice, or takes it out.
func (s *stock) setSlice(r *resourcev1.ResourceSlice, gone bool) {
	if at, ok := s.where[r.Name]; ok {
		delete(s.where, r.Name)
		if delete(s.pools[at], r.Name); len(s.pools[at]) == 0 {
			delete(s.pools, at)
		}
	}
	if gone {
		return
	}
	at := pool{r.Spec.Driver, r.Spec.Pool.Name}
	if s.pools[at] == nil {
		s.pools[at] = map[string]*slice{}
	}
	s.where[r.Name] = at
	s.pools[at][r.Name] = &slice{ResourceSlice: r, found: map[string]find{}}
}

// current yields the slices of a pool that are of its newest generation.
func current(p map[string]*slice) []*slice {
	var newest []*slice
	//muster:anyorder what is made of them are sums and maxima
	for _, sl := range p {
		switch {
		case len(newest) == 0 || sl.Spec.Pool.Generation > newest[0].Spec.Pool.Generation:
			newest = append(newest[:0], sl)
		case sl.Spec.Pool.Generation == newest[0].Spec.Pool.Generation:
			newest = append(newest, sl)
		}
	}
	return newest
}

// device returns the device that an allocation names, nil when it is not published.
func (s *stock) device(r *resourcev1.DeviceRequestAllocationResult) *resourcev1.Device {
	for _, sl := range current(s.pools[pool{r.Driver, r.Pool}]) {
		if i := slices.IndexFunc(sl.Spec.Devices, func(d resourcev1.Device) bool { return d.Name == r.Device }); i >= 0 {
			return &sl.Spec.Devices[i]
		}
	}
	return nil
}

// charge is what one allocation takes of a device.
func (s *stock) charge(d *resourcev1.Device, request *resourcev1.CapacityRequirements) amounts {
	if s.consumable && d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations {
		return part(d, request)
	}
	return whole(d)
}

// look finds the devices that a request chooses, wherever they are.
func (s *stock) look(request *resourcev1.ExactDeviceRequest) find {
	f := find{class: request.DeviceClassName, all: amounts{}, most: amounts{}}
	if s.selects == nil || s.classes[f.class] == nil {
		return f
	}
	key := seek(request)
	//muster:anyorder sums and maxima
	for _, p := range s.pools {
		for _, sl := range current(p) {
			in, ok := sl.found[key]
			if !ok {
				in = s.search(sl.ResourceSlice, request)
				if len(sl.found) == finds {
					clear(sl.found)
				}
				sl.found[key] = in
			}
			f.count += in.count
			f.all.add(in.all, 1)
			f.most.atLeast(in.most)
		}
	}
	return f
}

// seek names what a request chooses devices by, and what it takes of them.
func seek(r *resourcev1.ExactDeviceRequest) string {
	text, err := json.Marshal([]any{r.DeviceClassName, r.Selectors, r.Capacity})
	if err != nil {
		return r.DeviceClassName
	}
	return string(text)
}

func (s *stock) search(r *resourcev1.ResourceSlice, request *resourcev1.ExactDeviceRequest) find {
	f := find{class: request.DeviceClassName, all: amounts{}, most: amounts{}}
	class := s.classes[f.class].Spec.Selectors
	for i := range r.Spec.Devices {
		d := &r.Spec.Devices[i]
		if s.selects(r.Spec.Driver, d, class) && s.selects(r.Spec.Driver, d, request.Selectors) {
			f.count++
			f.all.add(whole(d), 1)
			f.most.atLeast(s.charge(d, request.Capacity))
		}
	}
	return f
}

// total is what there is of the devices of all classes. A device of several classes
// counts in each, and so do devices that are parts of the same hardware.
func (s *stock) total() amounts {
	total := amounts{}
	//muster:anyorder sums
	for name := range s.classes {
		f := s.look(&resourcev1.ExactDeviceRequest{DeviceClassName: name})
		total.add(of(name, f.count, f.all), 1)
	}
	return total
}
