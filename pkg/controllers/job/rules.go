package job

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// Rules is what the controller must be allowed to do, and no more.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		outcome.May(batchv1alpha1.GroupName, "jobs", "get", "list", "watch", "delete"),
		outcome.May(batchv1alpha1.GroupName, "jobs/status", "patch"),
		outcome.May(batchv1alpha1.GroupName, "jobs/finalizers", "update"),
		outcome.May(busv1alpha1.GroupName, "commands", "get", "list", "watch", "delete"),
		outcome.May(schedulingv1beta1.GroupName, "podgroups", "get", "list", "watch", "create", "patch", "delete"),
		outcome.May(corev1.GroupName, "pods", "get", "list", "watch", "create", "patch", "delete"),
		outcome.May(corev1.GroupName, "persistentvolumeclaims", "get", "list", "watch", "create", "patch"),
		outcome.May(corev1.GroupName, "services", "get", "list", "watch", "create", "patch"),
		outcome.May(corev1.GroupName, "configmaps", "get", "list", "watch", "create", "patch"),
		outcome.May(corev1.GroupName, "secrets", "create"),
		outcome.May(networkingv1.GroupName, "networkpolicies", "get", "list", "watch", "create", "patch"),
		outcome.May(schedulingv1.GroupName, "priorityclasses", "get", "list", "watch"),
		outcome.May(corev1.GroupName, "events", "create", "patch"),
	}
}
