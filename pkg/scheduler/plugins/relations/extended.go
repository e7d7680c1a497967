package relations

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// sharers is for how many pods a device counts that may be given to several: how many it
// can serve shows when they are placed.
const sharers = 1000

// provider knows of which resources, asked for by name, device classes stand behind, and
// how many of their devices nodes have.
type provider struct {
	dim       func(string) int
	selects   func(driver string, d *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool
	stale     bool              // objects changed since nodes were told of
	reclassed bool              // classes did
	backed    []string          // the class that stands behind a resource, by dimension; empty: none
	found     map[string]*found // by name of the slice
	told      map[string]resource.List
}

// found is how many devices of a slice stand behind which resource, by node; of no name: for each.
type found struct {
	in *resourcev1.ResourceSlice
	on counts
}

// counts are amounts by node and resource.
type counts map[string]map[string]int64

func (c counts) add(node, name string, n int64) {
	if c[node] == nil {
		c[node] = map[string]int64{}
	}
	c[node][name] = resource.Add(c[node][name], n)
}

// learn notes that objects changed that matter here.
func (v *provider) learn(o runtime.Object) {
	switch o.(type) {
	case *resourcev1.DeviceClass:
		v.stale, v.reclassed = true, true
	case *resourcev1.ResourceSlice, *resourcev1.DeviceTaintRule:
		v.stale = true
	}
}

// Provided counts the devices of nodes, slice by slice, of those slices that changed.
func (p *plugin) Provided() []model.Provision {
	v := &p.provider
	if !v.stale {
		return nil
	}
	v.stale = false
	slicesNow, err := p.kube.devices.ResourceSlices().ListWithDeviceTaintRules()
	if err != nil {
		return nil
	}
	classes := p.classes()
	if v.reclassed {
		v.reclassed, v.found, v.backed = false, nil, nil
		//muster:anyorder each for itself
		for name, class := range classes {
			v.back(name, class.Name)
		}
	}
	sum, next := counts{}, make(map[string]*found, len(slicesNow))
	for _, s := range slicesNow {
		f := v.found[s.Name]
		if f == nil || f.in != s {
			f = &found{in: s, on: v.search(s, classes)}
		}
		next[s.Name] = f
		//muster:anyorder sums
		for node, has := range f.on {
			//muster:anyorder sums
			for name, n := range has {
				sum.add(node, name, n)
			}
		}
	}
	v.found = next
	return v.tell(sum)
}

// classes are the device classes that stand behind resources, by the name of those.
func (p *plugin) classes() map[string]*resourcev1.DeviceClass {
	if !p.on.Devices {
		return nil
	}
	classes := map[string]*resourcev1.DeviceClass{}
	all, _ := p.kube.devices.DeviceClasses().List() // they are in memory: there is no error
	for _, c := range all {
		names := []string{resourcev1.ResourceDeviceClassPrefix + c.Name}
		if c.Spec.ExtendedResourceName != nil {
			names = append(names, *c.Spec.ExtendedResourceName)
		}
		for _, name := range names { // of several classes with one name kube-scheduler chooses
			if chosen := p.kube.devices.DeviceClassResolver().GetDeviceClass(corev1.ResourceName(name)); chosen != nil && chosen.Name == c.Name {
				classes[name] = c
			}
		}
	}
	return classes
}

func (v *provider) back(name, class string) {
	d := v.dim(name)
	for len(v.backed) <= d {
		v.backed = append(v.backed, "")
	}
	v.backed[d] = class
}

// search counts the devices of a slice that pods without tolerations may have.
func (v *provider) search(s *resourcev1.ResourceSlice, classes map[string]*resourcev1.DeviceClass) counts {
	on := counts{}
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		if slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool { return t.Effect != resourcev1.DeviceTaintEffectNone }) {
			continue
		}
		node, n := "", int64(1)
		for _, name := range []*string{s.Spec.NodeName, d.NodeName} {
			if name != nil {
				node = *name
			}
		}
		if d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations {
			n = sharers
		}
		//muster:anyorder sums
		for name, c := range classes {
			if v.selects(s.Spec.Driver, d, c.Spec.Selectors) {
				on.add(node, name, n)
			}
		}
	}
	return on
}

// tell lists the nodes that have something else than they were told to have.
func (v *provider) tell(sum counts) []model.Provision {
	var changed []model.Provision
	told := make(map[string]resource.List, len(sum))
	//muster:anyorder each for itself
	for node, has := range sum {
		told[node] = resource.ListOf(has)
	}
	both := maps.Clone(v.told)
	if both == nil {
		both = map[string]resource.List{}
	}
	maps.Copy(both, told)
	for _, node := range slices.Sorted(maps.Keys(both)) {
		if before, is := v.told[node]; !is || !slices.Equal(before, told[node]) {
			changed = append(changed, model.Provision{Node: node, Has: told[node]})
		}
	}
	v.told = told
	return changed
}

// backs reports whether a task asks for a resource that a device class stands behind.
func (v *provider) backs(t *model.Task) bool {
	for d, class := range v.backed {
		if class != "" && t.Class.Req.At(d) > 0 {
			return true
		}
	}
	return false
}

// classesOf are the classes that stand behind resources that a task asks for.
func (v *provider) classesOf(t *model.Task) []string {
	var classes []string
	for d, class := range v.backed {
		if class != "" && t.Class.Req.At(d) > 0 {
			classes = append(classes, class)
		}
	}
	return classes
}

// extended says what the containers of a pod ask for, each: kube-scheduler makes requests
// for devices of that, the same for pods for which it is the same. One that has a claim of
// an earlier try is like no other.
func (p *plugin) extended(t *model.Task) string {
	f := p.kinds.of(t, p.on)
	if f.containers == "" {
		f.containers = containers(t.Pod)
	}
	if claim := p.kube.devices.extended[t.Pod.UID]; claim != nil {
		return f.containers + "\x00" + claim.Name
	}
	return f.containers
}

func containers(p *corev1.Pod) string {
	type container struct {
		Name    string
		Restart *corev1.ContainerRestartPolicy
		Asks    corev1.ResourceList
	}
	var all []container
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		all = append(all, container{c.Name, c.RestartPolicy, c.Resources.Requests})
	}
	text, err := json.Marshal(all)
	if err != nil {
		return string(p.UID)
	}
	return string(text)
}
