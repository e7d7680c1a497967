package framework

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
)

// Object is an API object of any kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Learned returns an empty object of each kind of the API that plugins are told of; see [Learns].
func Learned() []Object {
	return []Object{
		&corev1.Namespace{}, &corev1.ResourceQuota{}, &policyv1.PodDisruptionBudget{},
		&corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}, &storagev1.StorageClass{},
		&storagev1.CSINode{}, &storagev1.CSIDriver{}, &storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{},
		&resourcev1.ResourceClaim{}, &resourcev1.ResourceClaimTemplate{}, &resourcev1.ResourceSlice{}, &resourcev1.DeviceClass{},
		&resourcev1.DeviceTaintRule{},
		&topologyv1alpha1.HyperNode{},
	}
}

// Usage is how busy nodes are, as a source of metrics said; plugins learn of it like of
// an object of the API, see [Learns], and of all nodes at once.
type Usage struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	At    time.Time // when the source said so
	Nodes []NodeUsage
}

// UsageName is the name of the one Usage there is.
const UsageName = "nodes"

// UsageFor is how long what a source said of nodes counts.
const UsageFor = 5 * time.Minute

// NodeUsage is how busy one node is, on average over ten minutes, in percent of what it has.
type NodeUsage struct {
	Name        string
	CPU, Memory int32
}

// DeepCopyObject implements [runtime.Object].
func (u *Usage) DeepCopyObject() runtime.Object {
	c := &Usage{TypeMeta: u.TypeMeta, At: u.At, Nodes: slices.Clone(u.Nodes)}
	u.DeepCopyInto(&c.ObjectMeta)
	return c
}

// Metrics says where it is read how busy nodes are, and how often. Nobody who decides
// looks at it: what was read comes as [Usage].
type Metrics struct {
	Type     string // prometheus, prometheus_adaptor or elasticsearch; empty: nowhere
	Address  string
	Interval time.Duration
	Insecure bool // a certificate that can't be verified is taken
	// The rest is for elasticsearch.
	Index, Username, Password, HostField string
}
