package live

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
)

// ConfigMaps are the names under which the configuration is looked for in other
// places; for them the right to read is there. Another name needs a role of its own.
func ConfigMaps() []string {
	return []string{"volcano-scheduler-configmap", "volcano-scheduler-config"}
}

// Rules is what a Scheduler must be allowed to do, and no more. ConfigMaps may be
// listed and watched by name, since that is how they are asked for.
func Rules() []rbacv1.PolicyRule {
	rule := func(group string, resources, verbs []string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		rule(corev1.GroupName, []string{"nodes", "pods"}, read),
		rule(corev1.GroupName, []string{"pods"}, []string{"patch"}), // gates of those that wait for quota
		rule(corev1.GroupName, []string{"pods/binding", "pods/eviction"}, []string{"create"}),
		rule(corev1.GroupName, []string{"pods/status"}, []string{"patch"}),
		rule(corev1.GroupName, []string{"events"}, []string{"create", "patch"}),
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"configmaps"}, ResourceNames: ConfigMaps(), Verbs: read},
		rule(corev1.GroupName, []string{"namespaces", "resourcequotas"}, read),
		rule(corev1.GroupName, []string{"persistentvolumeclaims", "persistentvolumes"}, append([]string{"update"}, read...)),
		rule(storagev1.GroupName, []string{"storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"}, read),
		rule(resourcev1.GroupName, []string{"resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses", "devicetaintrules"}, read),
		rule(resourcev1.GroupName, []string{"resourceclaims"}, []string{"create", "delete", "update"}), // those for extended resources are ours
		rule(resourcev1.GroupName, []string{"resourceclaims/status", "resourceclaims/" + resourcev1.SubresourceBinding}, []string{"update"}),
		rule("custom.metrics.k8s.io", []string{"nodes/node_cpu_usage_avg", "nodes/node_memory_usage_avg"}, []string{"get", "list"}),
		rule("policy", []string{"poddisruptionbudgets"}, read),
		rule("scheduling.k8s.io", []string{"priorityclasses"}, read),
		rule(schedulingv1beta1.GroupName, []string{"podgroups"}, append([]string{"patch"}, read...)),
		rule(schedulingv1beta1.GroupName, []string{"queues"}, append([]string{"create"}, read...)),
		rule(schedulingv1beta1.GroupName, []string{"queues/status"}, []string{"patch"}),
		rule(topologyv1alpha1.GroupName, []string{"hypernodes"}, read),
	}
}

func sink(c kubernetes.Interface) record.EventSink {
	return &corev1client.EventSinkImpl{Interface: c.CoreV1().Events("")}
}
