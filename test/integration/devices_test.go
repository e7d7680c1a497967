package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

const (
	driver     = "gpu.example.com"
	gpuCount   = "deviceclass/" + driver
	gpuMemory  = "memory.deviceclass/" + driver
	confDevice = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n- plugins:\n  - name: predicates\n  - name: capacity\n"
)

// make creates an object that ends with the test.
func (w *world) make(t *testing.T, o client.Object) {
	t.Helper()
	if err := w.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), o) })
}

// gpuNodes gives two nodes four devices each, of 40Gi and of 80Gi, and Muster a
// configuration that counts them.
func (w *world) gpuNodes(t *testing.T) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	replace(t, conf, confDevice)
	w.restart(t, "--scheduler-conf="+conf)
	w.makeDevices(t)
}

// makeDevices makes a class, and four devices of it on each of two nodes.
func (w *world) makeDevices(t *testing.T) {
	t.Helper()
	w.make(t, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: driver},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)},
		}}},
	})
	nodes, err := w.core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, memory := range []string{"40Gi", "80Gi"} {
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "gpu-"},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: driver, NodeName: &nodes.Items[i].Name,
				Pool: resourcev1.ResourcePool{Name: nodes.Items[i].Name, ResourceSliceCount: 1},
			},
		}
		for d := range 4 {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
				Name:     fmt.Sprintf("gpu-%d", d),
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: apiresource.MustParse(memory)}},
			})
		}
		w.make(t, slice)
	}
}

// gpuClaim asks for so many devices of so much memory at least; any when that is empty.
func gpuClaim(count int64, memory string) resourcev1.ResourceClaimSpec {
	exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: driver, Count: count, AllocationMode: resourcev1.DeviceAllocationModeExactCount}
	if memory != "" {
		exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
			Expression: fmt.Sprintf("device.capacity[%q].memory.compareTo(quantity(%q)) == 0", driver, memory),
		}}}
	}
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: exactly}}}}
}

// use adds so many pods with that claim to a gang.
func (w *world) use(t *testing.T, ns, gang string, size int, claim corev1.PodResourceClaim) {
	t.Helper()
	claim.Name = "gpu"
	for i := range size {
		p := member(ns, gang, i, 0)
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{claim}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: claim.Name}}}
		w.create(t, ns, p)
	}
}

// TestAQueueIsChargedForTheDevicesOfItsClaims fills a queue that may have two devices,
// by claims of pods' own and by one that pods share, and follows the sums up the tree.
func TestAQueueIsChargedForTheDevicesOfItsClaims(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.gpuNodes(t)
	w.queue(t, "division", schedulingv1beta1.QueueSpec{})
	w.queue(t, "devices", schedulingv1beta1.QueueSpec{Parent: "division", Capability: corev1.ResourceList{gpuCount: apiresource.MustParse("2")}})
	sums := func(want string) {
		t.Helper()
		for _, queue := range []string{"devices", "division", "root"} {
			w.allocated(t, queue, gpuCount, want)
		}
	}
	w.make(t, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shared"}, Spec: gpuClaim(1, "")})
	w.make(t, &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "own"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: gpuClaim(1, "")}})
	placed := func(gang string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			_, err := w.nodesOf(ctx, ns, gang)
			return err
		})
	}
	use := func(gang string, size int, claim corev1.PodResourceClaim) {
		t.Helper()
		w.podGroup(t, ns, gang, int32(size), "devices")
		w.use(t, ns, gang, size, claim)
	}
	use("pair", 2, corev1.PodResourceClaim{ResourceClaimName: new("shared")})
	placed("pair")
	sums("1")
	use("single", 1, corev1.PodResourceClaim{ResourceClaimTemplateName: new("own")})
	placed("single")
	sums("2")
	use("late", 1, corev1.PodResourceClaim{ResourceClaimTemplateName: new("own")})
	w.saysWhy(t, ns, "late", `queue "devices" would exceed its capability: deviceclass/gpu.example.com needs 1, 2 of 2 used (short 1)`)
	use("guest", 1, corev1.PodResourceClaim{ResourceClaimName: new("shared")}) // takes nothing more
	placed("guest")
	sums("2")
	for _, pod := range []string{"pair-0", "pair-1", "guest-0"} {
		if n, err := w.bound(t.Context(), ns, "late"); err != nil || n != 0 {
			t.Errorf("%d late pods are bound while others use the claim (%v)", n, err)
		}
		if err := w.core.CoreV1().Pods(ns).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	placed("late")
	sums("2")
}

// TestAQueueIsChargedForTheMemoryOfItsDevices lets a queue have 120Gi: a device of any
// size may be one of 80Gi until it is known to be one of 40Gi.
func TestAQueueIsChargedForTheMemoryOfItsDevices(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.gpuNodes(t)
	w.queue(t, "memory", schedulingv1beta1.QueueSpec{Capability: corev1.ResourceList{gpuMemory: apiresource.MustParse("120Gi")}})
	use := func(name string, count int64, memory string) {
		t.Helper()
		w.make(t, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: gpuClaim(count, memory)})
		w.podGroup(t, ns, name, 1, "memory")
		w.use(t, ns, name, 1, corev1.PodResourceClaim{ResourceClaimName: &name})
	}
	use("two", 2, "40Gi")
	w.allocated(t, "memory", gpuMemory, "80Gi")
	w.allocated(t, "memory", gpuCount, "2")
	use("any", 1, "")
	w.saysWhy(t, ns, "any", `queue "memory" would exceed its capability: memory.deviceclass/gpu.example.com needs 80Gi, 80Gi of 120Gi used (short 40Gi)`)
	use("small", 1, "40Gi")
	eventually(t, func(ctx context.Context) error {
		_, err := w.nodesOf(ctx, ns, "small")
		return err
	})
	w.allocated(t, "memory", gpuMemory, "120Gi")
	w.allocated(t, "memory", gpuCount, "3")
}
