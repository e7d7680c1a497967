package predicates

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Switches says what is checked. What is off is not looked at, as if pods did not ask for it.
type Switches struct {
	NodeAffinity, Taints                    bool
	Ports, PodAffinity, Spread              bool
	VolumeBinding, VolumeZone, VolumeLimits bool
	Devices                                 bool
	// DeviceTimeout is how long one node may take to be searched for devices; 0: any time.
	DeviceTimeout time.Duration
}

// Read reads the arguments, in Volcano's spelling. All are true or false, and true
// when they are not given: predicate.NodeAffinityEnable,
// predicate.TaintTolerationEnable, predicate.NodePortsEnable,
// predicate.PodAffinityEnable, predicate.PodTopologySpreadEnable,
// predicate.VolumeBindingEnable, predicate.VolumeZoneEnable,
// predicate.NodeVolumeLimitsEnable, predicate.DynamicResourceAllocationEnable;
// and dynamicresources.filterTimeoutSeconds (10). Known, and without meaning here,
// since verdicts are remembered anyway, volumes wait at the edge and their fill is
// not rated, are predicate.CacheEnable, volumebinding.bindTimeoutSeconds,
// volumebinding.weight and volumebinding.shape.
func Read(args framework.Args, env framework.Env) (Switches, error) {
	r := args.Read()
	s := Switches{
		NodeAffinity:  r.Bool("predicate.NodeAffinityEnable", true),
		Taints:        r.Bool("predicate.TaintTolerationEnable", true),
		Ports:         r.Bool("predicate.NodePortsEnable", true),
		PodAffinity:   r.Bool("predicate.PodAffinityEnable", true),
		Spread:        r.Bool("predicate.PodTopologySpreadEnable", true),
		VolumeBinding: r.Bool("predicate.VolumeBindingEnable", true),
		VolumeZone:    r.Bool("predicate.VolumeZoneEnable", true),
		VolumeLimits:  r.Bool("predicate.NodeVolumeLimitsEnable", true),
		Devices:       r.Bool("predicate.DynamicResourceAllocationEnable", true),
		DeviceTimeout: time.Duration(r.Int("dynamicresources.filterTimeoutSeconds", 10, 0)) * time.Second,
	}
	r.Bool("predicate.CacheEnable", false)
	r.Int("volumebinding.bindTimeoutSeconds", 600, 0)
	r.Int("volumebinding.weight", 1, 0)
	r.Idle(env, "predicate.CacheEnable", "verdicts are remembered in any case, until what they depend on changes")
	r.Idle(env, "volumebinding.bindTimeoutSeconds", "no cycle waits for a volume: the pod's turn comes again until it is bound")
	for _, key := range []string{"volumebinding.weight", "volumebinding.shape"} {
		r.Idle(env, key, "how full volumes are rates no node")
	}
	return s, r.Err()
}

// Unchecked names the first field of a pod that must be honoured and depends on
// more than the node, and what to do instead; empty when there is none, or when
// what checks it is switched off.
func (s Switches) Unchecked(p *corev1.Pod) (field, remedy string) {
	if field := requiredAffinity(p); s.PodAffinity && field != "" {
		return field, "prefer it instead of requiring it, or use a node label"
	}
	if s.Spread && slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	}) {
		return "spec.topologySpreadConstraints", "use whenUnsatisfiable: ScheduleAnyway"
	}
	if s.Devices && len(p.Spec.ResourceClaims) > 0 {
		return "spec.resourceClaims", "ask for an extended resource"
	}
	if port := hostPort(p); s.Ports && port > 0 {
		return fmt.Sprintf("hostPort %d", port), "expose it through a Service"
	}
	if s.VolumeBinding && slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	}) {
		return "spec.volumes[].persistentVolumeClaim", "use a volume that needs no claim"
	}
	return "", ""
}

// requiredAffinity is the field with a pod's terms about other pods that must hold; empty when there is none.
func requiredAffinity(p *corev1.Pod) string {
	a := p.Spec.Affinity
	switch {
	case a == nil:
		return ""
	case a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0:
		return "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	case a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0:
		return "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	default:
		return ""
	}
}

// hostPort is the first port of the node that a pod takes, 0 when it takes none.
func hostPort(p *corev1.Pod) int32 {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				return port.HostPort
			}
		}
	}
	return 0
}
