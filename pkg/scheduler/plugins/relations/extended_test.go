package relations_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

const (
	namedGPU = "example.com/gpu"
	noDevice = "cannot allocate all claims"
)

// giver is what is asked of the plugin about devices.
func (w *world) giver() framework.GivesDevices {
	g, ok := w.plugin.(framework.GivesDevices)
	if !ok {
		w.Fatal("the plugin gives no devices")
	}
	return g
}

// begin begins a cycle as the engine does.
func (w *world) begin() {
	for _, p := range w.giver().Provided() {
		w.SetProvision(p)
	}
	w.plugin.Begin(w.World, time.Unix(1000, 0))
}

// behind is the class of devices that stand behind a resource.
func behind() *resourcev1.DeviceClass {
	c := deviceClass()
	c.Spec.ExtendedResourceName = new(namedGPU)
	return c
}

// asking is a task for which two containers ask for so many devices together, by name.
func (w *world) asking(name string, n int64) *model.Task {
	p := pod(name, "a")
	for i, each := range []int64{n - n/2, n / 2} {
		c := corev1.Container{Name: fmt.Sprint("c", i)}
		if each > 0 {
			c.Resources.Requests = corev1.ResourceList{namedGPU: *apiresource.NewQuantity(each, apiresource.DecimalSI)}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	w.SetTask(model.TaskSpec{
		UID: name, Name: "ns/" + name, Gang: "ns/g", Ours: true, Pod: p,
		Shape: model.Shape{Key: fmt.Sprint(n), Requests: resource.ListOf(map[string]int64{"pods": 1, namedGPU: n})},
	})
	return w.TaskOf(name)
}

// TestDevicesStandBehindResources counts devices as resources of nodes, but for those that
// are tainted, and gives them to pods that ask by name, each by a claim of its own.
func TestDevicesStandBehindResources(t *testing.T) {
	w := newWorld(t, nil)
	x1, x2 := w.node("x1", "x"), w.node("x2", "x")
	own := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{namedGPU: apiresource.MustParse("1")}}}
	plugged, _ := w.SetNode(model.NodeSpec{Name: "own", Allocatable: resource.ListOf(map[string]int64{"pods": 10, namedGPU: 1}), Object: own})
	for _, s := range []*resourcev1.ResourceSlice{gpus("x1", 3), gpus("x2", 1), gpus("own", 8)} {
		w.plugin.Learn(s, false)
	}
	w.plugin.Learn(behind(), false)
	w.begin()
	d := w.Resources.Dim(namedGPU)
	counts := func(want ...int64) {
		t.Helper()
		for i, n := range []*model.Node{x1, x2, plugged} {
			if got := n.Free.At(d); got != want[i] {
				t.Errorf("node %s has %d free, want %d", n.Name, got, want[i])
			}
		}
		if err := w.Check(); err != nil {
			t.Error(err)
		}
	}
	counts(3, 1, 1)
	first, second := w.asking("first", 2), w.asking("second", 2)
	if a, b := w.plugin.Kind(first), w.plugin.Kind(second); a != b || a == "" {
		t.Errorf("alike pods are of kinds %q and %q", a, b)
	}
	j := w.judge(first)
	expect(t, w, j, map[string]string{"x1": "", "x2": noDevice, "own": ""}) // for that, the engine counts
	w.put(j, first, x1)
	expect(t, w, j, map[string]string{"x1": noDevice})
	counts(1, 1, 1)
	writes := w.plugin.Prepare(first, x1)
	w.Commit()
	saysWhatItWasGiven(t, writes)
	w.plugin.Learn(&resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Pool: new("x2")}, Taint: resourcev1.DeviceTaint{Key: "k", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		},
	}, false)
	w.begin()
	counts(1, 0, 1)
	w.plugin.Learn(behind(), true)
	w.begin()
	counts(-2, 0, 1)
	if kind := w.plugin.Kind(second); kind != "" {
		t.Errorf("without the class the kind is %q", kind)
	}
}

// saysWhatItWasGiven looks at what is written for the pod first: a claim that is yet to be
// made, and which it is.
func saysWhatItWasGiven(t *testing.T, writes []framework.Write) {
	t.Helper()
	if len(writes) != 2 {
		t.Fatalf("%d writes, want a claim and what the pod says of it: %+v", len(writes), writes)
	}
	claim, _ := writes[0].Object.(*resourcev1.ResourceClaim)
	says, _ := writes[1].Object.(*corev1.Pod)
	if claim == nil || claim.UID != "" || claim.OwnerReferences[0].UID != "first" || claim.Status.Allocation.AllocationTimestamp == nil {
		t.Fatalf("claim %+v", claim)
	}
	if len(claim.Status.Allocation.Devices.Results) != 2 || len(claim.Status.ReservedFor) != 1 || claim.Status.ReservedFor[0].UID != "first" {
		t.Errorf("claim %+v", claim.Status)
	}
	if says == nil || says.UID != "first" || says.Status.ExtendedResourceClaimStatus.ResourceClaimName != claim.Name || len(says.Status.ExtendedResourceClaimStatus.RequestMappings) != 2 {
		t.Errorf("pod %+v", says)
	}
}

// givenTo is a claim that was given a device of a node, and is reserved for pods.
func givenTo(name, node, gpu string, pods ...string) *resourcev1.ResourceClaim {
	c := deviceClaim(name)
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "gpu.example.com", Pool: node, Device: gpu}},
	}}
	for _, p := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p, UID: types.UID(p)})
	}
	return c
}

// TestDevicesOfThoseWhoWouldGoAreFree asks what would be if pods left: a claim is free
// when all that use it would, in a what-if alone, and those that are being bound keep theirs.
func TestDevicesOfThoseWhoWouldGoAreFree(t *testing.T) {
	w := newWorld(t, nil)
	n := w.node("x1", "x")
	for _, o := range []framework.Object{deviceClass(), gpus("x1", 2), givenTo("old", "x1", "gpu0", "a", "b"), deviceClaim("fresh"), deviceClaim("late")} {
		w.plugin.Learn(o, false)
	}
	a, b := w.task(pod("a", "a", device("old")), "ns/v", "x1"), w.task(pod("b", "a", device("old")), "ns/v", "x1")
	fresh := w.task(pod("fresh", "a", device("fresh")), "ns/w", "")
	late := w.task(pod("late", "a", device("late")), "ns/g", "")
	j := w.judge(fresh)
	expect(t, w, j, map[string]string{"x1": ""})
	w.put(j, fresh, n)
	w.Commit()
	says := func(what, want string) {
		t.Helper()
		if got := w.fits(w.judge(late))["x1"]; got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	says("all are there", noDevice)
	mark := w.Mark()
	w.Evict(a)
	says("one of two who share has left", noDevice)
	w.Evict(b)
	says("both have left", "")
	w.Rollback(mark)
	says("nobody has", noDevice)
	w.Evict(fresh)
	says("who is being bound has left", "")
	w.Rollback(mark)
	says("it has not", noDevice) // what it was given was not forgotten meanwhile
	if !w.giver().Lingers("a") || w.giver().Lingers("fresh") {
		t.Error("a has a claim that is reserved for it, and fresh not yet")
	}
	w.DropTask("a")
	w.DropTask("b")
	says("both are gone, and the claim is not given back yet", noDevice)
	if !w.giver().Lingers("a") {
		t.Error("nothing is left of a, though its claim is reserved for it")
	}
	old := deviceClaim("old")
	old.ResourceVersion = "2"
	w.plugin.Learn(old, false)
	says("it is", "")
	if w.giver().Lingers("a") {
		t.Error("a is left over though its claim was given back")
	}
}

// TestDevicesThatDidNotGetReadyAreGivenUp: a claim whose device failed is taken from a pod
// that waits, but not one that has a place, and not one that others use.
func TestDevicesThatDidNotGetReadyAreGivenUp(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*resourcev1.ResourceClaim)
		want int
	}{
		"it failed": {func(c *resourcev1.ResourceClaim) {
			c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.example.com", Pool: "x1", Device: "gpu0", Conditions: []metav1.Condition{{Type: "failed", Status: metav1.ConditionTrue}}}}
		}, 1},
		"it is getting ready": {func(*resourcev1.ResourceClaim) {}, 0},
		"it failed, and another pod uses it": {func(c *resourcev1.ResourceClaim) {
			c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.example.com", Pool: "x1", Device: "gpu0", Conditions: []metav1.Condition{{Type: "failed", Status: metav1.ConditionTrue}}}}
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "o", UID: "o"})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.node("x1", "x")
			c := givenTo("c", "x1", "gpu0", "p")
			c.Status.Allocation.Devices.Results[0].BindingConditions = []string{"ready"}
			c.Status.Allocation.Devices.Results[0].BindingFailureConditions = []string{"failed"}
			tt.edit(c)
			for _, o := range []framework.Object{deviceClass(), gpus("x1", 1), c} {
				w.plugin.Learn(o, false)
			}
			w.fits(w.judge(w.task(pod("p", "a", device("c")), "ns/g", "")))
			undo := w.giver().Undo()
			if len(undo) != tt.want {
				t.Fatalf("%d are undone: %+v", len(undo), undo)
			}
			for _, u := range undo {
				if claim, ok := u.Writes[0].Object.(*resourcev1.ResourceClaim); !ok || claim.Status.Allocation != nil || len(claim.Status.ReservedFor) > 0 || u.Task.UID != "p" {
					t.Errorf("written is %+v for %s", u.Writes[0].Object, u.Task.UID)
				}
			}
			if again := w.giver().Undo(); again != nil {
				t.Errorf("it is undone twice: %+v", again)
			}
		})
	}
}

// TestDevicesAreKeptForWhomRoomIsSetAside: on nodes where room is set aside for a gang with
// devices, nobody else gets any of that class.
func TestDevicesAreKeptForWhomRoomIsSetAside(t *testing.T) {
	w := newWorld(t, nil)
	x1 := w.node("x1", "x")
	w.node("x2", "x")
	w.SetQueue(model.QueueSpec{Name: "q"})
	for _, gang := range []string{"ns/big", "ns/small"} {
		w.SetGang(model.GangSpec{Key: gang, UID: gang, Queue: "q"})
	}
	for _, o := range []framework.Object{deviceClass(), gpus("x1", 2), gpus("x2", 1), deviceClaim("one"), deviceClaim("two")} {
		w.plugin.Learn(o, false)
	}
	big, small := w.task(pod("big", "a", device("one")), "ns/big", ""), w.task(pod("small", "a", device("two")), "ns/small", "")
	w.SetAside(big.Gang, []model.Claim{{Node: x1, Req: big.Class.Req, N: 1}})
	expect(t, w, w.judge(small), map[string]string{"x1": "devices reserved for gangs that waited longer", "x2": ""})
	expect(t, w, w.judge(big), map[string]string{"x1": "", "x2": ""})
	w.SetAside(big.Gang, nil)
	expect(t, w, w.judge(small), map[string]string{"x1": "", "x2": ""})
}
