// Package pdb keeps tasks from being victims while a PodDisruptionBudget of theirs
// allows no disruption.
package pdb

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "pdb"

type plugin struct {
	budgets map[string][]budget // by namespace, in order of name
}

// budget is a PodDisruptionBudget, its selector read.
type budget struct {
	*policyv1.PodDisruptionBudget
	selects labels.Selector
}

var (
	_ framework.Learns        = &plugin{}
	_ framework.ProtectsTasks = &plugin{}
)

// New makes the plugin. It has no arguments.
func New(args framework.Args, _ framework.Env) (framework.Plugin, error) {
	return &plugin{budgets: map[string][]budget{}}, args.Read().Err()
}

func (*plugin) Name() string { return Name }

// Learn keeps PodDisruptionBudgets of policy/v1. One whose selector can't be read,
// which no API server lets in, is taken to speak of all pods of its namespace.
func (p *plugin) Learn(o runtime.Object, gone bool) {
	b, ok := o.(*policyv1.PodDisruptionBudget)
	if !ok {
		return
	}
	list := p.budgets[b.Namespace]
	i, found := slices.BinarySearchFunc(list, b.Name, func(b budget, name string) int { return cmp.Compare(b.Name, name) })
	if found {
		list = slices.Delete(list, i, i+1)
	}
	if !gone {
		selects, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			selects = labels.Everything()
		}
		list = slices.Insert(list, i, budget{b, selects})
	}
	if p.budgets[b.Namespace] = list; len(list) == 0 {
		delete(p.budgets, b.Namespace)
	}
}

// Protects a task when any budget that speaks of its pod allows no disruption now, or
// has not been looked at since it was changed. A pod that is not ready is no loss
// where a budget says so.
func (p *plugin) Protects(t *model.Task, _ time.Time) (string, bool) {
	pod := t.Pod
	if pod == nil {
		return "", false
	}
	for i := range p.budgets[pod.Namespace] {
		if b := &p.budgets[pod.Namespace][i]; b.selects.Matches(labels.Set(pod.Labels)) && b.forbids(pod) {
			return fmt.Sprintf("PodDisruptionBudget %s/%s allows no disruption now", b.Namespace, b.Name), true
		}
	}
	return "", false
}

func (b *budget) forbids(pod *corev1.Pod) bool {
	s := &b.Status
	if _, counted := s.DisruptedPods[pod.Name]; counted {
		return false // it is allowed for already
	}
	if policy := b.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow && !ready(pod) {
		return false
	}
	return s.DisruptionsAllowed <= 0 || s.ObservedGeneration < b.Generation
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
