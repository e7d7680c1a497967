package relations_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Annotations that the volume controllers read and write.
const (
	boundBy      = "pv.kubernetes.io/bind-completed"
	selectedNode = "volume.kubernetes.io/selected-node"
)

// class is a StorageClass; volumes are made by the provisioner, or by nobody.
func class(name, provisioner string, edits ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	c := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner,
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

// claim is a PersistentVolumeClaim; bound to the volume unless that is empty.
func claim(name, class, volume string, edits ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), ResourceVersion: "1"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeName: volume, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")}},
		},
	}
	if volume != "" {
		c.Annotations = map[string]string{boundBy: "yes"}
		c.Status.Phase = corev1.ClaimBound
	}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

// volume is a PersistentVolume of a CSI driver that only nodes of a zone reach; all when that is empty.
func volume(name, zoneName string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "c", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk", VolumeHandle: name}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	if zoneName != "" {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{zoneName}}},
		}}}}
	}
	return v
}

// labelled gives a volume the label of a zone, as old drivers do.
func labelled(v *corev1.PersistentVolume, zoneName string) *corev1.PersistentVolume {
	v.Labels = map[string]string{zone: zoneName}
	return v
}

// disks says how many volumes of the driver a node can attach.
func disks(node string, most int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "disk", NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &most}},
	}}}
}

func onlyIn(zoneName string) func(*storagev1.StorageClass) {
	return func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: zone, Values: []string{zoneName}}}}}
	}
}

func once(c *corev1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
}

func at(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Annotations = map[string]string{selectedNode: name} }
}

const (
	wrongZone = "didn't match PersistentVolume's node affinity"
	noVolume  = "didn't find available persistent volumes to bind"
)

func TestVolumesDecideWhereAPodMayRun(t *testing.T) {
	all := map[string]string{"x1": "", "y1": ""}
	tests := map[string]struct {
		off     string // the switch after which it may run anywhere
		objects []runtime.Object
		running []*corev1.Pod // on x1
		want    map[string]string
	}{
		"a claim whose volume is anywhere":    {"", []runtime.Object{claim("data", "c", "v"), volume("v", "")}, nil, all},
		"a claim whose volume is in one zone": {"predicate.VolumeBindingEnable", []runtime.Object{claim("data", "c", "v"), volume("v", "x")}, nil, map[string]string{"x1": "", "y1": wrongZone}},
		"a volume that bears a zone's label": {
			"predicate.VolumeZoneEnable",
			[]runtime.Object{claim("data", "c", "v"), labelled(volume("v", ""), "y")},
			nil,
			map[string]string{"x1": "had no available volume zone", "y1": ""},
		},
		"a volume to be made anywhere":    {"", []runtime.Object{class("c", "disk"), claim("data", "c", "")}, nil, all},
		"a volume to be made in one zone": {"predicate.VolumeBindingEnable", []runtime.Object{class("c", "disk", onlyIn("y")), claim("data", "c", "")}, nil, map[string]string{"x1": noVolume, "y1": ""}},
		"a volume that is being made for a node": {
			"predicate.VolumeBindingEnable",
			[]runtime.Object{class("c", "disk"), claim("data", "c", "", at("y1"))},
			nil,
			map[string]string{"x1": noVolume, "y1": ""},
		},
		"a volume that waits in one zone": {
			"predicate.VolumeBindingEnable",
			[]runtime.Object{class("c", "kubernetes.io/no-provisioner"), claim("data", "c", ""), volume("v", "x")},
			nil,
			map[string]string{"x1": "", "y1": noVolume},
		},
		"a node that has enough disks": {
			"predicate.NodeVolumeLimitsEnable",
			[]runtime.Object{claim("data", "c", "v"), volume("v", ""), claim("other", "c", "w"), volume("w", ""), disks("x1", 1), disks("y1", 1)},
			[]*corev1.Pod{pod("other", "b", mount("other"))},
			map[string]string{"x1": "exceed max volume count", "y1": ""},
		},
		"a claim for one pod that another has": {
			"predicate.VolumeBindingEnable",
			[]runtime.Object{claim("data", "c", "v", once), volume("v", "")},
			[]*corev1.Pod{pod("other", "b", mount("data"))},
			map[string]string{"x1": "unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			judged := func(args framework.Args) (*world, framework.Judge) {
				w := newWorld(t, args)
				w.node("x1", "x")
				w.node("y1", "y")
				for _, o := range tt.objects {
					w.plugin.Learn(o, false)
				}
				for _, p := range tt.running {
					w.task(p, "", "x1")
				}
				return w, w.judge(w.task(pod("p", "a", mount("data")), "ns/g", ""))
			}
			w, j := judged(nil)
			expect(t, w, j, tt.want)
			if tt.off != "" {
				w, j = judged(framework.Args{tt.off: false})
				expect(t, w, j, all)
			}
		})
	}
}

func TestAPodWhosePrerequisitesAreMissingIsRefusedWithTheReason(t *testing.T) {
	immediate := class("now", "disk", func(c *storagev1.StorageClass) { c.VolumeBindingMode = new(storagev1.VolumeBindingImmediate) })
	tests := map[string]struct {
		pod     *corev1.Pod
		objects []runtime.Object
		want    string
	}{
		"no claim":                        {pod("p", "a", mount("data")), nil, `persistentvolumeclaim "data" not found`},
		"a claim that is not bound":       {pod("p", "a", mount("data")), []runtime.Object{immediate, claim("data", "now", "")}, "pod has unbound immediate PersistentVolumeClaims"},
		"a claim for devices that is not": {pod("p", "a", device("gpu")), nil, `could not find ResourceClaim "ns/gpu"`},
		"devices of an unknown class":     {pod("p", "a", device("gpu")), []runtime.Object{deviceClaim("gpu")}, "request one: device class gpu does not exist"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.node("x1", "x")
			for _, o := range tt.objects {
				w.plugin.Learn(o, false)
			}
			_, why, ok := w.plugin.Judge(w.task(tt.pod, "ns/g", ""))
			want := reason.Reason{Code: reason.Unplaceable, Object: "ns/p", Value: tt.want}
			if ok || !why.Equal(want) {
				t.Errorf("reason %+v, want %+v", why, want)
			}
		})
	}
}

func TestAVolumeIsGivenToOneOnlyAndComesBack(t *testing.T) {
	w := newWorld(t, nil)
	n := w.node("x1", "x")
	for _, o := range []runtime.Object{class("c", "kubernetes.io/no-provisioner"), claim("one", "c", ""), claim("two", "c", ""), volume("v", "")} {
		w.plugin.Learn(o, false)
	}
	first, second := w.task(pod("p1", "a", mount("one")), "ns/g", ""), w.task(pod("p2", "a", mount("two")), "ns/g", "")
	if w.plugin.Kind(first) == w.plugin.Kind(second) {
		t.Error("pods with different claims are of one kind")
	}
	mark := w.Mark()
	j := w.judge(first)
	expect(t, w, j, map[string]string{"x1": ""})
	w.put(j, first, n)
	expect(t, w, w.judge(second), map[string]string{"x1": noVolume})

	w.Rollback(mark)
	j = w.judge(second)
	expect(t, w, j, map[string]string{"x1": ""})
	w.put(j, second, n)
	w.Commit()
	if writes := w.plugin.Prepare(first, n); writes != nil {
		t.Errorf("what was taken back is written: %+v", writes)
	}
	writes := w.plugin.Prepare(second, n)
	if len(writes) != 1 {
		t.Fatalf("%d objects are written, want the volume", len(writes))
	}
	v, ok := writes[0].Object.(*corev1.PersistentVolume)
	if !ok || v.Name != "v" || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.Name != "two" || writes[0].Status {
		t.Errorf("written is %+v", writes[0])
	}
}

func TestAVolumeToBeMadeIsAskedForOnTheNode(t *testing.T) {
	w := newWorld(t, nil)
	w.node("x1", "x")
	n := w.node("x2", "x")
	w.plugin.Learn(class("c", "disk"), false)
	w.plugin.Learn(claim("data", "c", ""), false)
	task := w.task(pod("p", "a", mount("data")), "ns/g", "")
	j := w.judge(task)
	w.fits(j)
	w.put(j, task, n)
	expect(t, w, j, map[string]string{"x1": noVolume, "x2": ""})
	writes := w.plugin.Prepare(task, n)
	if len(writes) != 1 {
		t.Fatalf("%d objects are written, want the claim", len(writes))
	}
	c, ok := writes[0].Object.(*corev1.PersistentVolumeClaim)
	if !ok || c.Annotations[selectedNode] != "x2" {
		t.Errorf("written is %+v", writes[0].Object)
	}
}

func device(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
}

func deviceClaim(name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), ResourceVersion: "1"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
		}}}},
	}
}

// gpus is so many devices on a node.
func gpus(node string, n int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
	}}
	for i := range n {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu%d", i)})
	}
	return s
}

func TestDevicesAreGivenOnceAndComeBack(t *testing.T) {
	w := newWorld(t, nil)
	n := w.node("x1", "x")
	w.node("y1", "y")
	objects := []runtime.Object{&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}, gpus("x1", 2)}
	for _, o := range append(objects, deviceClaim("a"), deviceClaim("b"), deviceClaim("c")) {
		w.plugin.Learn(o, false)
	}
	mark := w.Mark()
	const none = "cannot allocate all claims"
	for _, name := range []string{"a", "b"} {
		task := w.task(pod("p"+name, "a", device(name)), "ns/g", "")
		j := w.judge(task)
		expect(t, w, j, map[string]string{"x1": "", "y1": none})
		w.put(j, task, n)
	}
	third := w.task(pod("pc", "a", device("c")), "ns/g", "")
	expect(t, w, w.judge(third), map[string]string{"x1": none})
	shares := w.task(pod("pd", "a", device("a")), "ns/g", "")
	expect(t, w, w.judge(shares), map[string]string{"x1": "", "y1": "resourceclaim not available on the node"})

	w.Rollback(mark)
	j := w.judge(third)
	expect(t, w, j, map[string]string{"x1": ""})
	w.put(j, third, n)
	w.Commit()
	writes := w.plugin.Prepare(third, n)
	if len(writes) != 1 {
		t.Fatalf("%d objects are written, want the claim", len(writes))
	}
	c, ok := writes[0].Object.(*resourcev1.ResourceClaim)
	if !ok || !writes[0].Status || c.Status.Allocation == nil || len(c.Status.ReservedFor) != 1 || c.Status.ReservedFor[0].UID != "pc" {
		t.Fatalf("written is %+v", writes[0])
	}
	w.plugin.Learn(c, false)
	w.DropTask("pc")
	w.plugin.Learn(deviceClaim("c"), false)
	expect(t, w, w.judge(w.TaskOf("pa")), map[string]string{"x1": ""})
}
