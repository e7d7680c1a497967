package relations

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typedresourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// notepad stands where kube-scheduler's plugins expect a client. It reaches
// nothing: it notes what they want written, for the edge to write.
type notepad struct {
	kubernetes.Interface // all else; nil
	pod                  *corev1.Pod
	now                  metav1.Time
	writes               []framework.Write
}

// begin opens a new page, for what is written for a pod.
func (n *notepad) begin(pod *corev1.Pod) { n.pod, n.writes = pod, nil }

// take returns what was noted, and begins anew.
func (n *notepad) take() []framework.Write {
	writes := n.writes
	n.writes = nil
	return writes
}

func (n *notepad) note(w framework.Write) { n.writes = append(n.writes, w) }

func (n *notepad) CoreV1() typedcorev1.CoreV1Interface { return core{pad: n} }

func (n *notepad) ResourceV1() typedresourcev1.ResourceV1Interface { return resources{pad: n} }

type core struct {
	typedcorev1.CoreV1Interface
	pad *notepad
}

func (c core) PersistentVolumes() typedcorev1.PersistentVolumeInterface { return volumes{pad: c.pad} }

func (c core) PersistentVolumeClaims(string) typedcorev1.PersistentVolumeClaimInterface {
	return volumeClaims{pad: c.pad}
}

func (c core) Pods(string) typedcorev1.PodInterface { return pods{pad: c.pad} }

type volumes struct {
	typedcorev1.PersistentVolumeInterface
	pad *notepad
}

func (v volumes) Update(_ context.Context, pv *corev1.PersistentVolume, _ metav1.UpdateOptions) (*corev1.PersistentVolume, error) {
	v.pad.note(framework.Write{Object: pv})
	return pv, nil
}

type volumeClaims struct {
	typedcorev1.PersistentVolumeClaimInterface
	pad *notepad
}

func (v volumeClaims) Update(_ context.Context, pvc *corev1.PersistentVolumeClaim, _ metav1.UpdateOptions) (*corev1.PersistentVolumeClaim, error) {
	v.pad.note(framework.Write{Object: pvc})
	return pvc, nil
}

type pods struct {
	typedcorev1.PodInterface
	pad *notepad
}

// Patch notes which claim stands for the extended resources of a pod.
//
//nolint:revive // its parameters are those of client-go
func (p pods) Patch(_ context.Context, _ string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	says := &corev1.Pod{}
	if err := json.Unmarshal(data, says); err != nil {
		return nil, err
	}
	says.ObjectMeta = metav1.ObjectMeta{Namespace: p.pad.pod.Namespace, Name: p.pad.pod.Name, UID: p.pad.pod.UID}
	p.pad.note(framework.Write{Object: says, Status: true})
	return says, nil
}

type resources struct {
	typedresourcev1.ResourceV1Interface
	pad *notepad
}

func (r resources) ResourceClaims(string) typedresourcev1.ResourceClaimInterface {
	return resourceClaims{pad: r.pad}
}

// resourceClaims notes claims once: as they are to be in the end.
type resourceClaims struct {
	typedresourcev1.ResourceClaimInterface
	pad *notepad
}

// Create gives a claim for extended resources its owner, and a name: kube-scheduler
// works it out once for pods that are alike, and leaves the name to the API server.
func (c resourceClaims) Create(_ context.Context, claim *resourcev1.ResourceClaim, _ metav1.CreateOptions) (*resourcev1.ResourceClaim, error) {
	pod := c.pad.pod
	claim = claim.DeepCopy()
	claim.Name, claim.GenerateName = extendedName(pod), ""
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}}
	return claim, nil
}

// extendedName is how the claim for a pod's extended resources is called: after the pod,
// with something of its UID, since another of its name may come.
func extendedName(pod *corev1.Pod) string {
	sum := fnv.New32a()
	sum.Write([]byte(pod.UID))
	name := pod.Name
	if most := 200; len(name) > most {
		name = name[:most]
	}
	return name + "-extended-resources-" + strconv.FormatUint(uint64(sum.Sum32()), 36)
}

func (c resourceClaims) Update(_ context.Context, claim *resourcev1.ResourceClaim, _ metav1.UpdateOptions) (*resourcev1.ResourceClaim, error) {
	return claim, nil // what follows says it again: its status, or that it has to go
}

func (c resourceClaims) UpdateStatus(_ context.Context, claim *resourcev1.ResourceClaim, _ metav1.UpdateOptions) (*resourcev1.ResourceClaim, error) {
	if a := claim.Status.Allocation; a != nil && a.AllocationTimestamp == nil {
		a.AllocationTimestamp = &c.pad.now
	}
	c.pad.note(framework.Write{Object: claim, Status: true})
	return claim, nil
}

func (c resourceClaims) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	c.pad.note(framework.Write{Object: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.pad.pod.Namespace, Name: name}}, Gone: true})
	return nil
}
