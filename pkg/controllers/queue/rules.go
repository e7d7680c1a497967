package queue

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/outcome"
)

// Rules is what the controller must be allowed to do, and no more.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		outcome.May(corev1.GroupName, "events", "create", "patch"),
		outcome.May(busv1alpha1.GroupName, "commands", "get", "list", "watch", "delete"),
		outcome.May(schedulingv1beta1.GroupName, "podgroups", "get", "list", "watch"),
		outcome.May(schedulingv1beta1.GroupName, "queues", "get", "list", "watch", "patch"),
		outcome.May(schedulingv1beta1.GroupName, "queues/status", "patch"),
	}
}
