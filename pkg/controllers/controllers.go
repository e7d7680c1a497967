// Package controllers is the list of all controllers. It holds the list, what
// each must be allowed to do, and the types they speak.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	busv1alpha1 "github.com/muster-sh/muster/apis/bus/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/integrations"
	"github.com/muster-sh/muster/pkg/controllers/cronjob"
	"github.com/muster-sh/muster/pkg/controllers/job"
	"github.com/muster-sh/muster/pkg/controllers/podgroup"
	"github.com/muster-sh/muster/pkg/controllers/queue"
	"github.com/muster-sh/muster/pkg/controllers/vcjob"
	"github.com/muster-sh/muster/pkg/workload"
)

// Options are the settings of all controllers.
type Options struct {
	SchedulerNames []string // the pod.spec.schedulerName values that are ours
}

// Controller is one entry of the list.
type Controller struct {
	Name  string
	Setup func(context.Context, manager.Manager, Options) error
	Rules []rbacv1.PolicyRule
}

// All lists the controllers.
func All() []Controller {
	return []Controller{
		{Name: "cronjob", Setup: setupCronJob, Rules: cronjob.Rules()},
		{Name: "job", Setup: setupJob, Rules: job.Rules()},
		{Name: "podgroup", Setup: setupPodGroup, Rules: podGroupRules()},
		{Name: "queue", Setup: setupQueue, Rules: queue.Rules()},
		{Name: "vcjob", Setup: setupVCJob, Rules: vcjob.Rules()},
	}
}

// Scheme knows every type that controllers read or write.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), schedulingv1beta1.AddToScheme(s), batchv1alpha1.AddToScheme(s), busv1alpha1.AddToScheme(s), kubeflowv1.AddToScheme(s)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return s, nil
}

func setupCronJob(ctx context.Context, mgr manager.Manager, _ Options) error {
	return cronjob.Setup(ctx, mgr)
}

func setupJob(ctx context.Context, mgr manager.Manager, _ Options) error {
	return job.Setup(ctx, mgr)
}

func setupPodGroup(ctx context.Context, mgr manager.Manager, o Options) error {
	registry, err := workload.NewRegistry(integrations.Adapters(o.SchedulerNames)...)
	if err != nil {
		return err
	}
	ours := func(name string) bool { return slices.Contains(o.SchedulerNames, name) }
	return podgroup.Setup(ctx, mgr, registry.Adapters(), ours)
}

func setupQueue(ctx context.Context, mgr manager.Manager, _ Options) error {
	return queue.Setup(ctx, mgr)
}

func setupVCJob(_ context.Context, mgr manager.Manager, _ Options) error { return vcjob.Setup(mgr) }

func podGroupRules() []rbacv1.PolicyRule {
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	rules := []rbacv1.PolicyRule{
		rule(corev1.GroupName, []string{"pods"}, "get", "list", "watch", "patch"),
		rule(corev1.GroupName, []string{"namespaces"}, "get", "list", "watch"),
		rule(corev1.GroupName, []string{"events"}, "create", "patch"),
		rule(schedulingv1beta1.GroupName, []string{"podgroups"}, "get", "list", "watch", "create", "patch", "delete"),
	}
	for _, a := range integrations.Adapters(nil) {
		if a.Kind().Group != corev1.GroupName { // pods it may read anyway
			rules = append(rules, rule(a.Kind().Group, []string{a.Kind().Resource}, "get", "list", "watch"))
		}
	}
	return rules
}
