package capacity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/capacity"
)

// byName chooses devices whose name begins with what all selectors say.
func byName(_ string, d *resourcev1.Device, selectors []resourcev1.DeviceSelector) bool {
	for _, s := range selectors {
		if !strings.HasPrefix(d.Name, s.CEL.Expression) {
			return false
		}
	}
	return true
}

func selecting(prefix string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: prefix}}}
}

func class(name, prefix string) *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{Selectors: selecting(prefix)}}
}

// device has so many Gi of memory; with default and steps, it may be shared.
func device(name string, memory int64, edits ...func(*resourcev1.DeviceCapacity)) resourcev1.Device {
	c := resourcev1.DeviceCapacity{Value: gi(memory)}
	for _, edit := range edits {
		edit(&c)
	}
	return resourcev1.Device{
		Name: name, Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"gpu.example.com/memory": c},
		AllowMultipleAllocations: new(len(edits) > 0),
	}
}

// inSteps may be shared from 2Gi in steps of 4Gi, by 10Gi if nobody says more.
func inSteps(c *resourcev1.DeviceCapacity) {
	c.RequestPolicy = &resourcev1.CapacityRequestPolicy{
		Default: new(gi(10)), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: new(gi(2)), Step: new(gi(4))},
	}
}

// byValues may be shared by 8Gi or 16Gi.
func byValues(c *resourcev1.DeviceCapacity) {
	c.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: new(gi(8)), ValidValues: []apiresource.Quantity{gi(8), gi(16)}}
}

func gi(n int64) apiresource.Quantity { return *apiresource.NewQuantity(n<<30, apiresource.BinarySI) }

func slice(name, pool string, generation int64, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: pool, Generation: generation}, Devices: devices,
	}}
}

// one asks for so many devices of a class.
func one(class string, count int64, edits ...func(*resourcev1.ExactDeviceRequest)) resourcev1.DeviceRequest {
	r := &resourcev1.ExactDeviceRequest{DeviceClassName: class, Count: count, AllocationMode: resourcev1.DeviceAllocationModeExactCount}
	for _, edit := range edits {
		edit(r)
	}
	return resourcev1.DeviceRequest{Name: "r", Exactly: r}
}

func claim(requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"},
		Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}},
	}
}

func given(c *resourcev1.ResourceClaim, results ...resourcev1.DeviceRequestAllocationResult) *resourcev1.ResourceClaim {
	for i := range results {
		results[i].Driver = "gpu.example.com"
	}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: results}}
	return c
}

func counting(t *testing.T, selects capacity.Selects, args framework.Args) (learn func(...runtime.Object), recount func() (map[string]string, string)) {
	t.Helper()
	p, err := capacity.Selecting(selects)(args, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	learns, ok := p.(framework.Learns)
	counts, also := p.(framework.CountsDevices)
	if !ok || !also {
		t.Fatal("capacity lacks abilities")
	}
	learn = func(objects ...runtime.Object) {
		for _, o := range objects {
			learns.Learn(o, false)
		}
	}
	return learn, func() (map[string]string, string) {
		changed, stock, _ := counts.Recount()
		takes := map[string]string{}
		for _, d := range changed {
			takes[d.Claim+d.Template] = said(d)
		}
		return takes, stock.String()
	}
}

func said(d model.Devices) string {
	if d.Gone {
		return "gone"
	}
	return d.Takes.String()
}

// farm is two pools of devices: of the kinds big and small, and of big ones that may be shared.
func farm() []runtime.Object {
	return []runtime.Object{
		class("gpu", ""), class("big", "big"), class("shared", "shared"), class("none", "none"),
		slice("s1", "p1", 1, device("big-1", 80), device("small-1", 24)),
		slice("s2", "p2", 1, device("big-1", 80), device("shared-1", 80, inSteps), device("shared-2", 16, byValues)),
		slice("old", "p2", 0, device("big-9", 640)),
	}
}

func TestAClaimTakesWhatItAsksForUntilItIsGivenSomething(t *testing.T) {
	memory := func(n int64) func(*resourcev1.ExactDeviceRequest) {
		return func(r *resourcev1.ExactDeviceRequest) {
			r.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]apiresource.Quantity{"gpu.example.com/memory": gi(n)}}
		}
	}
	choose := func(prefix string) func(*resourcev1.ExactDeviceRequest) {
		return func(r *resourcev1.ExactDeviceRequest) { r.Selectors = selecting(prefix) }
	}
	all := func(r *resourcev1.ExactDeviceRequest) {
		r.AllocationMode, r.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	looks := func(r *resourcev1.ExactDeviceRequest) { r.AdminAccess = new(true) }
	either := resourcev1.DeviceRequest{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "a", DeviceClassName: "big", Count: 1}, {Name: "b", DeviceClassName: "gpu", Count: 2, Selectors: selecting("small")}, {Name: "c", DeviceClassName: "big", Count: 3},
	}}
	result := func(request, pool, device string) resourcev1.DeviceRequestAllocationResult {
		return resourcev1.DeviceRequestAllocationResult{Request: request, Pool: pool, Device: device}
	}
	partly := result("r", "p2", "shared-1")
	partly.ConsumedCapacity = map[resourcev1.QualifiedName]apiresource.Quantity{"gpu.example.com/memory": gi(14)}
	looked := result("r", "p1", "big-1")
	looked.AdminAccess = new(true)
	tests := map[string]struct {
		claim       *resourcev1.ResourceClaim
		want, whole string // with and without consumable capacity; whole empty: the same
	}{
		"devices of a class, at most":     {claim(one("gpu", 2)), "deviceclass/gpu 2, memory.deviceclass/gpu 160Gi", ""},
		"those that the request chooses":  {claim(one("gpu", 2, choose("small"))), "deviceclass/gpu 2, memory.deviceclass/gpu 48Gi", ""},
		"several requests":                {claim(one("big", 1), one("gpu", 1)), "deviceclass/big 1, deviceclass/gpu 1, memory.deviceclass/big 80Gi, memory.deviceclass/gpu 80Gi", ""},
		"one of several, at most of each": {claim(either), "deviceclass/big 3, deviceclass/gpu 2, memory.deviceclass/big 240Gi, memory.deviceclass/gpu 48Gi", ""},
		"all of them":                     {claim(one("big", 0, all)), "deviceclass/big 1, memory.deviceclass/big 80Gi", ""},
		"without a number":                {claim(one("big", 0)), "deviceclass/big 1, memory.deviceclass/big 80Gi", ""},
		"only to look after them":         {claim(one("big", 1, looks)), "", ""},
		"what nobody has":                 {claim(one("none", 1)), "deviceclass/none 1", ""},
		"a class that there is not":       {claim(one("wrong", 1)), "deviceclass/wrong 1", ""},
		"a part, rounded up in steps":     {claim(one("shared", 2, memory(7), choose("shared-1"))), "deviceclass/shared 2, memory.deviceclass/shared 20Gi", "deviceclass/shared 2, memory.deviceclass/shared 160Gi"},
		"less than the least part":        {claim(one("shared", 1, memory(1), choose("shared-1"))), "deviceclass/shared 1, memory.deviceclass/shared 2Gi", "deviceclass/shared 1, memory.deviceclass/shared 80Gi"},
		"a part of given sizes":           {claim(one("shared", 1, memory(9), choose("shared-2"))), "deviceclass/shared 1, memory.deviceclass/shared 16Gi", ""},
		"a part of no size":               {claim(one("shared", 1)), "deviceclass/shared 1, memory.deviceclass/shared 10Gi", "deviceclass/shared 1, memory.deviceclass/shared 80Gi"},
		"given smaller ones": {
			given(claim(one("gpu", 2)), result("r", "p1", "small-1"), result("r", "p1", "big-1")),
			"deviceclass/gpu 2, memory.deviceclass/gpu 104Gi", "",
		},
		"given an alternative": {
			given(claim(either), result("r/b", "p1", "small-1"), result("r/b", "p1", "small-1")),
			"deviceclass/gpu 2, memory.deviceclass/gpu 48Gi", "",
		},
		"given all": {
			given(claim(one("big", 0, all)), result("r", "p1", "big-1"), result("r", "p2", "big-1")),
			"deviceclass/big 2, memory.deviceclass/big 160Gi", "",
		},
		"given what is not there any more": {given(claim(one("big", 1)), result("r", "p2", "big-9")), "deviceclass/big 1, memory.deviceclass/big 80Gi", ""},
		"given a part":                     {given(claim(one("shared", 1)), partly), "deviceclass/shared 1, memory.deviceclass/shared 14Gi", "deviceclass/shared 1, memory.deviceclass/shared 80Gi"},
		"given to look after":              {given(claim(one("big", 1)), looked), "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, consumable := range []bool{true, false} {
				learn, recount := counting(t, byName, framework.Args{"capacity.DRAConsumableCapacityEnable": consumable})
				learn(farm()...)
				learn(tt.claim)
				want := tt.want
				if !consumable && tt.whole != "" {
					want = tt.whole
				}
				if takes, _ := recount(); takes["ns/c"] != want {
					t.Errorf("with consumable capacity %v it takes %q, want %q", consumable, takes["ns/c"], want)
				}
			}
		})
	}
}

func TestOnlyWhatChangedIsToldAnew(t *testing.T) {
	learn, recount := counting(t, byName, nil)
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t"},
		Spec:       resourcev1.ResourceClaimTemplateSpec{Spec: claim(one("gpu", 1, func(r *resourcev1.ExactDeviceRequest) { r.Selectors = selecting("small") })).Spec},
	}
	steps := []struct {
		what  string
		do    func()
		takes map[string]string
		stock string
	}{
		{"claims and templates", func() { learn(farm()...); learn(claim(one("big", 1)), template) }, map[string]string{
			"ns/c": "deviceclass/big 1, memory.deviceclass/big 80Gi", "ns/t": "deviceclass/gpu 1, memory.deviceclass/gpu 24Gi",
		}, "deviceclass/big 2, deviceclass/gpu 5, deviceclass/none 0, deviceclass/shared 2, memory.deviceclass/big 160Gi, memory.deviceclass/gpu 280Gi, memory.deviceclass/shared 96Gi"},
		{"nothing", func() {}, map[string]string{}, ""},
		{"the claim as it was", func() { learn(claim(one("big", 1))) }, map[string]string{}, "deviceclass/big 2, deviceclass/gpu 5, deviceclass/none 0, deviceclass/shared 2, memory.deviceclass/big 160Gi, memory.deviceclass/gpu 280Gi, memory.deviceclass/shared 96Gi"},
		{"a newer generation of a pool", func() { learn(slice("s3", "p1", 2, device("big-1", 96))) }, map[string]string{
			"ns/c": "deviceclass/big 1, memory.deviceclass/big 96Gi", "ns/t": "deviceclass/gpu 1",
		}, "deviceclass/big 2, deviceclass/gpu 4, deviceclass/none 0, deviceclass/shared 2, memory.deviceclass/big 176Gi, memory.deviceclass/gpu 272Gi, memory.deviceclass/shared 96Gi"},
		{"another meaning of a class", func() { learn(class("none", "small")); learn(class("big", "none")) }, map[string]string{
			"ns/c": "deviceclass/big 1",
		}, "deviceclass/big 0, deviceclass/gpu 4, deviceclass/none 0, deviceclass/shared 2, memory.deviceclass/gpu 272Gi, memory.deviceclass/shared 96Gi"},
	}
	for _, step := range steps {
		step.do()
		takes, stock := recount()
		if diff := cmp.Diff(step.takes, takes); diff != "" {
			t.Errorf("%s: takes differ:\n%s", step.what, diff)
		}
		if diff := cmp.Diff(step.stock, stock); diff != "" {
			t.Errorf("%s: the stock differs:\n%s", step.what, diff)
		}
	}
}

func TestWithoutAJudgeOnlyWhatIsAskedForCounts(t *testing.T) {
	learn, recount := counting(t, nil, nil)
	learn(farm()...)
	learn(claim(one("big", 2)))
	if takes, stock := recount(); takes["ns/c"] != "deviceclass/big 2" || strings.Contains(stock, "Gi") {
		t.Errorf("it takes %v of %s", takes, stock)
	}
}

func TestDevicesAreNotCountedWhenThatIsSwitchedOff(t *testing.T) {
	learn, recount := counting(t, byName, framework.Args{"capacity.DynamicResourceAllocationEnable": "false"})
	learn(farm()...)
	learn(claim(one("big", 2)))
	if takes, stock := recount(); len(takes) > 0 || stock != "" {
		t.Errorf("it takes %v of %s", takes, stock)
	}
}

func TestArgumentsAreKnown(t *testing.T) {
	for key, ok := range map[string]bool{"capacity.DynamicResourceAllocationEnable": true, "capacity.DRAConsumableCapacityEnable": true, "capacity.DRA": false} {
		_, err := capacity.New(framework.Args{key: true}, framework.Env{})
		if (err == nil) != ok {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := capacity.New(framework.Args{key: "perhaps"}, framework.Env{}); err == nil {
			t.Error(fmt.Sprint(key, ": perhaps is taken for an answer"))
		}
	}
}
