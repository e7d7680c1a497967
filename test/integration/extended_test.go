package integration_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

const (
	extended = "example.com/gpu"
	implied  = corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + driver)
)

// standBehind has the devices stand behind a resource that pods ask for by name.
func (w *world) standBehind(t *testing.T) {
	t.Helper()
	var class resourcev1.DeviceClass
	if err := w.Get(t.Context(), client.ObjectKey{Name: driver}, &class); err != nil {
		t.Fatal(err)
	}
	class.Spec.ExtendedResourceName = new(extended)
	if err := w.Update(t.Context(), &class); err != nil {
		t.Fatal(err)
	}
}

// share is what pods of a gang ask for.
type share struct {
	resource corev1.ResourceName
	each     int64
}

// ask adds so many pods to a gang, each with two containers that ask for a share together.
func (w *world) ask(t *testing.T, ns, gang string, size int, s share) {
	t.Helper()
	for i := range size {
		p := member(ns, gang, i, 0)
		side := p.Spec.Containers[0]
		side.Name = "side"
		p.Spec.Containers = append(p.Spec.Containers, side)
		for c, n := range []int64{s.each - s.each/2, s.each / 2} {
			p.Spec.Containers[c].Resources = corev1.ResourceRequirements{}
			if n > 0 {
				p.Spec.Containers[c].Resources.Limits = corev1.ResourceList{s.resource: *apiresource.NewQuantity(n, apiresource.DecimalSI)}
			}
		}
		w.create(t, ns, p)
	}
}

// given are the devices of a gang's pods, by pod, through the claims that stand for their
// extended resources; an error while any pod lacks one.
func (w *world) given(ctx context.Context, ns, gang string) (map[string][]string, error) {
	nodes, err := w.nodesOf(ctx, ns, gang)
	if err != nil {
		return nil, err
	}
	given := map[string][]string{}
	for name, node := range nodes {
		pod, err := w.core.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		claim, err := w.standsFor(ctx, pod)
		if err != nil {
			return nil, err
		}
		for _, r := range claim.Status.Allocation.Devices.Results {
			if r.Pool != node {
				return nil, fmt.Errorf("pod %s is on %s and has a device of %s", name, node, r.Pool)
			}
			given[name] = append(given[name], r.Pool+"/"+r.Device)
		}
	}
	return given, nil
}

// standsFor is the claim for the extended resources of a pod, as it must be.
func (w *world) standsFor(ctx context.Context, pod *corev1.Pod) (*resourcev1.ResourceClaim, error) {
	status := pod.Status.ExtendedResourceClaimStatus
	if status == nil {
		return nil, fmt.Errorf("pod %s has a node and no claim", pod.Name)
	}
	claim, err := w.core.ResourceV1().ResourceClaims(pod.Namespace).Get(ctx, status.ResourceClaimName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if !slices.Contains(claim.Finalizers, resourcev1.Finalizer) || claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" ||
		!metav1.IsControlledBy(claim, pod) || len(claim.Status.ReservedFor) != 1 || claim.Status.ReservedFor[0].UID != pod.UID {
		return nil, fmt.Errorf("pod %s: its claim is %+v", pod.Name, claim)
	}
	for _, m := range status.RequestMappings {
		if !slices.ContainsFunc(claim.Spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool { return r.Name == m.RequestName }) {
			return nil, fmt.Errorf("pod %s: mapping %+v of requests %+v", pod.Name, m, claim.Spec.Devices.Requests)
		}
	}
	return claim, nil
}

// TestDevicesStandBehindResourcesThatPodsAskFor places gangs that ask for a resource no
// node has, by a name of its class and by that of the class itself, until there are no devices left.
func TestDevicesStandBehindResourcesThatPodsAskFor(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.gpuNodes(t)
	w.standBehind(t)
	w.queue(t, "extended", schedulingv1beta1.QueueSpec{Capability: corev1.ResourceList{extended: apiresource.MustParse("6")}})
	gang := func(name string, size int, resource corev1.ResourceName, each int64) {
		t.Helper()
		w.podGroup(t, ns, name, int32(size), "extended")
		w.ask(t, ns, name, size, share{resource, each})
	}
	gang("three", 3, extended, 2)
	taken := map[string]bool{}
	has := func(name string, each int) {
		t.Helper()
		var given map[string][]string
		eventually(t, func(ctx context.Context) (err error) {
			given, err = w.given(ctx, ns, name)
			return err
		})
		for pod, devices := range given {
			if len(devices) != each {
				t.Errorf("pod %s has %v", pod, devices)
			}
			for _, d := range devices {
				if taken[d] {
					t.Errorf("pod %s has %s, and so has another", pod, d)
				}
				taken[d] = true
			}
		}
	}
	has("three", 2)
	w.allocated(t, "extended", extended, "6")
	gang("over", 1, extended, 1)
	w.saysWhy(t, ns, "over", `queue "extended" would exceed its capability: example.com/gpu needs 1, 6 of 6 used (short 1)`)
	gang("many", 2, implied, 2)
	w.saysWhy(t, ns, "many", "insufficient deviceclass.resource.kubernetes.io/gpu.example.com")
	gang("last", 2, implied, 1)
	has("last", 1)
	for _, pod := range []string{"many-0", "many-1", "three-0", "three-1"} { // what a pod had is free when it is gone
		if err := w.core.CoreV1().Pods(ns).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func(ctx context.Context) error {
		_, err := w.nodesOf(ctx, ns, "over")
		return err
	})
}

// TestATaintedDeviceIsLeftAloneUnlessTolerated taints all devices of one node by a rule.
func TestATaintedDeviceIsLeftAloneUnlessTolerated(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.gpuNodes(t)
	var slices resourcev1.ResourceSliceList
	if err := w.List(t.Context(), &slices); err != nil {
		t.Fatal(err)
	}
	tainted := slices.Items[0].Spec.Pool.Name
	rule := &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: "broken"},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Pool: &tainted},
			Taint:          resourcev1.DeviceTaint{Key: "example.com/broken", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		},
	}
	w.make(t, rule)
	template := func(name string, tolerations ...resourcev1.DeviceToleration) {
		spec := gpuClaim(1, "")
		spec.Devices.Requests[0].Exactly.Tolerations = tolerations
		w.make(t, &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec}})
	}
	template("plain")
	template("tolerant", resourcev1.DeviceToleration{Key: "example.com/broken", Operator: resourcev1.DeviceTolerationOpExists})
	on := func(gang string) map[string]int {
		t.Helper()
		count := map[string]int{}
		eventually(t, func(ctx context.Context) error {
			nodes, err := w.nodesOf(ctx, ns, gang)
			clear(count)
			for _, node := range nodes {
				count[node]++
			}
			return err
		})
		return count
	}
	gang := func(name string, size int, template string) {
		t.Helper()
		w.podGroup(t, ns, name, int32(size), "default")
		w.use(t, ns, name, size, corev1.PodResourceClaim{ResourceClaimTemplateName: &template})
	}
	gang("four", 4, "plain")
	if n := on("four"); n[tainted] != 0 {
		t.Errorf("the devices of %s are tainted, and pods are on %v", tainted, n)
	}
	gang("late", 1, "plain")
	w.saysWhy(t, ns, "late", "cannot allocate all claims")
	gang("tough", 3, "tolerant")
	if n := on("tough"); n[tainted] != 3 {
		t.Errorf("pods that tolerate the taint are on %v, not on %s", n, tainted)
	}
	if err := w.Delete(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	if n := on("late"); n[tainted] != 1 {
		t.Errorf("without the taint the pod is on %v, not on %s", n, tainted)
	}
}

// report says a condition of all devices of a gang's claims, as their driver does.
func (w *world) report(ctx context.Context, ns, claim, condition string) error {
	c, err := w.core.ResourceV1().ResourceClaims(ns).Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c.Status.Allocation == nil {
		return fmt.Errorf("claim %s has no devices", claim)
	}
	c.Status.Devices = nil
	for _, r := range c.Status.Allocation.Devices.Results {
		d := resourcev1.AllocatedDeviceStatus{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
		meta.SetStatusCondition(&d.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: "Test"})
		c.Status.Devices = append(c.Status.Devices, d)
	}
	_, err = w.core.ResourceV1().ResourceClaims(ns).UpdateStatus(ctx, c, metav1.UpdateOptions{})
	return err
}

// TestAGangIsBoundWhenAllItsDevicesAreReady has devices that must be attached first: one
// is, the other can't be at first. Until both are no pod is bound; what could not be
// attached is given up and tried anew.
func TestAGangIsBoundWhenAllItsDevicesAreReady(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.gpuNodes(t)
	var list resourcev1.ResourceSliceList
	if err := w.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		slice := &list.Items[i]
		for d := range slice.Spec.Devices {
			slice.Spec.Devices[d].BindsToNode = new(true)
			slice.Spec.Devices[d].BindingConditions = []string{"example.com/attached"}
			slice.Spec.Devices[d].BindingFailureConditions = []string{"example.com/failed"}
		}
		slice.Spec.Pool.Generation++
		if err := w.Update(t.Context(), slice); err != nil {
			t.Fatal(err)
		}
	}
	w.podGroup(t, ns, "pair", 2, "default")
	for i, name := range []string{"first", "second"} {
		w.make(t, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: gpuClaim(1, "")})
		p := member(ns, "pair", i, 0)
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}
		w.create(t, ns, p)
	}
	eventually(t, func(ctx context.Context) error { return w.report(ctx, ns, "first", "example.com/attached") })
	eventually(t, func(ctx context.Context) error { return w.report(ctx, ns, "second", "example.com/failed") })
	eventually(t, func(ctx context.Context) error { // it is given up
		c, err := w.core.ResourceV1().ResourceClaims(ns).Get(ctx, "second", metav1.GetOptions{})
		if err == nil && len(c.Status.Devices) > 0 {
			err = fmt.Errorf("claim second is still %+v", c.Status)
		}
		return err
	})
	if n, err := w.bound(t.Context(), ns, "pair"); err != nil || n != 0 {
		t.Fatalf("%d pods are bound though a device is not ready (%v)", n, err)
	}
	eventually(t, func(ctx context.Context) error { return w.report(ctx, ns, "second", "example.com/attached") })
	eventually(t, func(ctx context.Context) error {
		_, err := w.nodesOf(ctx, ns, "pair")
		return err
	})
}
