package outcome

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Again is when an object is looked at again that was written by others meanwhile, so that
// an outcome met a conflict.
const Again = 100 * time.Millisecond

// May is the right to do something with objects of one kind.
func May(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}
