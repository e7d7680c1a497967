package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/test/cluster"
)

// nodesOf returns the nodes of a gang's pods, by pod; it fails while one has none.
func (w *world) nodesOf(ctx context.Context, ns, gang string) (map[string]string, error) {
	pods, err := w.core.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes := map[string]string{}
	for _, p := range pods.Items {
		if p.Annotations[schedulingv1beta1.GroupNameAnnotation] != gang {
			continue
		}
		if nodes[p.Name] = p.Spec.NodeName; p.Spec.NodeName == "" {
			return nil, fmt.Errorf("pod %s has no node", p.Name)
		}
	}
	return nodes, nil
}

func (w *world) create(t *testing.T, ns string, pods ...*corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		if _, err := w.core.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) saysWhy(t *testing.T, ns, gang, words string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		message, err := w.unschedulable(ctx, ns, gang)
		if err == nil && !strings.Contains(message, words) {
			err = fmt.Errorf("it says %q, not %q", message, words)
		}
		return err
	})
}

// TestPodsThatKeepApartGetANodeEachOrNone places gangs whose pods keep apart: one fits, one has more pods than there are nodes.
func TestPodsThatKeepApartGetANodeEachOrNone(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	apart := func(gang string, size int) {
		w.podGroup(t, ns, gang, int32(size), "default")
		for i := range size {
			p := member(ns, gang, i, 1)
			p.Labels = map[string]string{"gang": gang}
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}, TopologyKey: corev1.LabelHostname,
				}},
			}}
			w.create(t, ns, p)
		}
	}
	apart("four", 4)
	eventually(t, func(ctx context.Context) error {
		nodes, err := w.nodesOf(ctx, ns, "four")
		taken := map[string]bool{}
		for _, node := range nodes {
			taken[node] = true
		}
		if err == nil && len(taken) != 4 {
			err = fmt.Errorf("four pods that keep apart are on %v", nodes)
		}
		return err
	})
	apart("many", 26)
	w.saysWhy(t, ns, "many", "anti-affinity")
	if n, err := w.bound(t.Context(), ns, "many"); err != nil || n != 0 {
		t.Errorf("%d pods of a gang that can't be whole are bound (%v)", n, err)
	}
}

// TestAPodGoesWhereItsVolumeIsOnceItHasOne has a claim that does not exist at first, then waits for its first consumer, with a volume on one node.
func TestAPodGoesWhereItsVolumeIsOnceItHasOne(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.podGroup(t, ns, "data", 1, "default")
	p := member(ns, "data", 0, 1)
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	w.create(t, ns, p)
	w.saysWhy(t, ns, "data", "not found")
	node := w.localClaim(t, ns, "data")
	eventually(t, func(ctx context.Context) error {
		nodes, err := w.nodesOf(ctx, ns, "data")
		if err == nil && nodes["data-0"] != node {
			err = fmt.Errorf("the pod is on %v, its volume on %s", nodes, node)
		}
		return err
	})
}

// TestGatesOfPodsThatWaitForQuotaOpenTogether has two gangs behind gates and a queue for one of them.
func TestGatesOfPodsThatWaitForQuotaOpenTogether(t *testing.T) {
	w := newWorld(t, cluster.Config{Nodes: 25})
	ns := w.Namespace(t)
	w.queue(t, "gated", schedulingv1beta1.QueueSpec{Capability: corev1.ResourceList{"nvidia.com/gpu": apiresource.MustParse("4")}})
	for _, gang := range []string{"first", "second"} {
		w.podGroup(t, ns, gang, 2, "gated")
		for i := range 2 {
			p := member(ns, gang, i, 2)
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: schedulingv1beta1.QueueAllocationGate}}
			w.create(t, ns, p)
		}
		if gang == "first" {
			eventually(t, func(ctx context.Context) error {
				_, err := w.nodesOf(ctx, ns, gang)
				return err
			})
		}
	}
	w.saysWhy(t, ns, "second", "would exceed its capability")
	second, err := w.core.CoreV1().Pods(ns).Get(t.Context(), "second-0", metav1.GetOptions{})
	if err != nil || len(second.Spec.SchedulingGates) != 1 {
		t.Errorf("a gate opened without room behind it: %v (%v)", second.Spec.SchedulingGates, err)
	}
	for i := range 2 {
		if err := w.core.CoreV1().Pods(ns).Delete(t.Context(), fmt.Sprintf("first-%d", i), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func(ctx context.Context) error {
		_, err := w.nodesOf(ctx, ns, "second")
		return err
	})
}

// localClaim makes a claim that waits for its first consumer, and a volume for it on
// one node, which it names. The volume controller binds the two once Muster has chosen.
func (w *world) localClaim(t *testing.T, ns, name string) string {
	t.Helper()
	nodes, err := w.core.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node := &nodes.Items[len(nodes.Items)-1]
	size := corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: ns}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class.Name,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[corev1.LabelHostname]},
				}},
			}}}},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: new(class.Name), Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	for _, o := range []client.Object{class, volume, claim} {
		if err := w.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Delete(context.WithoutCancel(t.Context()), o) })
	}
	return node.Name
}
