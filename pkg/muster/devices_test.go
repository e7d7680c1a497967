package muster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// floor is an engine with nodes that have devices, and what an API server would say of its claims.
type floor struct {
	*testing.T
	engine  *engine.Engine
	now     time.Time
	claims  map[string]*resourcev1.ResourceClaim
	version int
}

// newFloor has two nodes of two devices each.
func newFloor(t *testing.T, config string) *floor {
	t.Helper()
	registry := (&guests{}).registry(t.Context())
	c, err := conf.Parse([]byte(config), actions.Builtin(), registry)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(c, registry)
	if err != nil {
		t.Fatal(err)
	}
	f := &floor{T: t, engine: e, now: time.Unix(1000, 0), claims: map[string]*resourcev1.ResourceClaim{}}
	e.Apply(engine.ObjectSet{Object: &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}})
	for _, name := range []string{"n1", "n2"} {
		o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
		e.Apply(engine.NodeSet{Node: model.NodeSpec{Name: name, Labels: o.Labels, Object: o, Allocatable: resource.ListOf(map[string]int64{"cpu": 64_000, "pods": 100})}})
		e.Apply(engine.ObjectSet{Object: &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "d", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "0"}, {Name: "1"}},
		}}})
	}
	return f
}

func (f *floor) tell(c *resourcev1.ResourceClaim) {
	f.version++
	c.ResourceVersion = fmt.Sprint(f.version)
	f.claims[c.Name] = c
	f.engine.Apply(engine.ObjectSet{Object: c.DeepCopy()})
}

// gang has so many pods, each with a claim of its own for so many devices.
func (f *floor) gang(name, queue string, size int, each int64) {
	f.engine.Apply(engine.GangSet{Gang: model.GangSpec{Key: "ns/" + name, UID: name, Queue: queue, Min: int32(size), Created: f.now}})
	for i := range size {
		pod := fmt.Sprintf("%s-%d", name, i)
		f.tell(&resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pod, UID: types.UID("claim-" + pod)},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
				Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: each},
			}}}},
		})
		f.pod(pod, name, "")
	}
}

func (f *floor) pod(name, gang, node string) {
	f.engine.Apply(engine.TaskSet{Task: model.TaskSpec{
		UID: name, Name: "ns/" + name, Gang: "ns/" + gang, Node: node, Running: node != "", Ours: true,
		Shape:  model.Shape{Key: "k", Requests: resource.ListOf(map[string]int64{"cpu": 1000, "pods": 1}), Related: true},
		Claims: &model.Claims{Refs: []model.ClaimRef{{Key: "ns/" + name}}},
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}},
		}},
	}})
}

// run runs a cycle; what is decided is done. It lists what was bound and who was told to go.
func (f *floor) run() (bound, evicted []string) {
	f.Helper()
	for _, d := range f.engine.Run(f.now).Decisions {
		switch d := d.(type) { //nolint:gochecksumtype // the others are words
		case engine.Bind:
			name := d.UID
			bound = append(bound, name+" "+d.Node)
			for _, w := range d.Before.Writes {
				claim, _ := w.Object.(*resourcev1.ResourceClaim)
				f.tell(claim.DeepCopy())
			}
			f.pod(name, name[:len(name)-2], d.Node)
		case engine.Evict:
			evicted = append(evicted, d.UID)
		}
	}
	if err := f.engine.World.Check(); err != nil {
		f.Fatal(err)
	}
	slices.Sort(evicted)
	return bound, evicted
}

// gone has a pod go. Its claim is given back later.
func (f *floor) gone(pod string) { f.engine.Apply(engine.TaskGone{UID: pod}) }

func (f *floor) giveBack(claim string) {
	c := f.claims[claim].DeepCopy()
	c.Status = resourcev1.ResourceClaimStatus{}
	f.tell(c)
}

func (f *floor) want(what string, got, want []string) {
	f.Helper()
	if !slices.Equal(got, want) {
		f.Errorf("%s: %v, want %v", what, got, want)
	}
}

const floorConf = `
actions: "%s"
tiers:
- plugins:
  - name: gang
  - name: sla
    arguments: {sla-waiting-time: 1m}
- plugins:
  - name: predicates
  - name: capacity
`

// TestDevicesOnNodesAreSetAsideForWhoWaitedLong has a gang that needs all devices, while
// others that need few of them come and go: after a minute no more of those are let in,
// where it will be; and when it is done they go on.
func TestDevicesOnNodesAreSetAsideForWhoWaitedLong(t *testing.T) {
	f := newFloor(t, fmt.Sprintf(floorConf, "allocate"))
	f.engine.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
	f.gang("a", "q", 1, 2)
	f.gang("b", "q", 1, 2)
	bound, _ := f.run()
	f.want("the first two", bound, []string{"a-0 n1", "b-0 n2"})
	f.gang("big", "q", 2, 2)
	f.run()
	f.now = f.now.Add(time.Minute)
	f.run()
	f.gone("a-0")
	f.giveBack("a-0")
	f.gang("c", "q", 1, 1)
	f.now = f.now.Add(10 * time.Second)
	bound, _ = f.run()
	f.want("with a node free", bound, nil)
	f.gone("b-0")
	f.giveBack("b-0")
	f.now = f.now.Add(10 * time.Second)
	bound, _ = f.run()
	f.want("with both free", bound, []string{"big-0 n1", "big-1 n2"})
	for _, pod := range []string{"big-0", "big-1"} {
		f.gone(pod)
		f.giveBack(pod)
	}
	f.engine.Apply(engine.GangGone{Key: "ns/big", UID: "big"})
	f.now = f.now.Add(10 * time.Second)
	bound, _ = f.run()
	f.want("when it is done", bound, []string{"c-0 n1"})
}

// TestDevicesOnNodesAreTakenBack has a queue take devices back, on the very nodes: as few
// as it lacks; and nobody else has to go while their claims are yet to be given back.
func TestDevicesOnNodesAreTakenBack(t *testing.T) {
	f := newFloor(t, fmt.Sprintf(floorConf, "allocate, reclaim"))
	f.engine.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "lender", Reclaimable: true}})
	f.engine.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "owner", Deserved: resource.ListOf(map[string]int64{"deviceclass/gpu": 2})}})
	for _, name := range []string{"a", "b", "c", "d"} {
		f.gang(name, "lender", 1, 1)
	}
	bound, _ := f.run()
	if len(bound) != 4 {
		t.Fatalf("bound are %v", bound)
	}
	f.gang("mine", "owner", 1, 2)
	_, evicted := f.run()
	if len(evicted) != 2 {
		t.Fatalf("%v have to go, want two of one node", evicted)
	}
	for _, pod := range evicted {
		f.gone(pod)
	}
	f.now = f.now.Add(20 * time.Second)
	bound, more := f.run()
	f.want("with the claims not given back, others", more, nil)
	f.want("with the claims not given back, bound", bound, nil)
	for _, pod := range evicted {
		f.giveBack(pod)
	}
	f.now = f.now.Add(time.Second)
	bound, more = f.run()
	f.want("in the end others", more, nil)
	if len(bound) != 1 {
		t.Errorf("bound are %v, want mine-0", bound)
	}
}
