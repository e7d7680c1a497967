// Package kubeflow teaches the workload kinds of Kubeflow's training-operator,
// kubeflow.org/v1. They differ in few facts, so each is a row of [Adapters].
package kubeflow

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-sh/muster/apis"
	"github.com/muster-sh/muster/pkg/workload"
)

// Ours says whether a scheduler name is one that Muster answers to.
type Ours func(schedulerName string) bool

// Adapters lists the kinds.
func Adapters(ours Ours) []workload.Adapter {
	return []workload.Adapter{
		kind("PyTorchJob", "pytorchjobs", ours, pytorch, "Master", "Worker"),
	}
}

func pytorch(j *kubeflowv1.PyTorchJob) spec {
	s := spec{run: &j.Spec.RunPolicy, replicas: j.Spec.PyTorchReplicaSpecs, status: &j.Status}
	if e := j.Spec.ElasticPolicy; e != nil && e.MinReplicas != nil {
		s.elastic = map[string]int32{"worker": *e.MinReplicas}
	}
	return s
}

// spec is what the kinds have in common.
type spec struct {
	run      *kubeflowv1.RunPolicy
	replicas map[kubeflowv1.ReplicaType]*kubeflowv1.ReplicaSpec
	status   *kubeflowv1.JobStatus
	elastic  map[string]int32 // by role in lower case, how many do when not all are there
}

// row is one kind. The type parameters end in this file.
type row[T any, P interface {
	*T
	apis.Object
}] struct {
	kind  workload.Kind
	ours  Ours
	read  func(P) spec
	roles []string // in the order in which a minimum is filled
}

func kind[T any, P interface {
	*T
	apis.Object
}](name, resource string, ours Ours, read func(P) spec, roles ...string) workload.Adapter {
	return row[T, P]{
		kind: workload.Kind{
			GroupVersionKind: schema.GroupVersionKind{Group: kubeflowv1.GroupVersion.Group, Version: kubeflowv1.GroupVersion.Version, Kind: name},
			Resource:         resource,
		},
		ours: ours, read: read, roles: roles,
	}
}

func (r row[T, P]) Kind() workload.Kind { return r.kind }

func (r row[T, P]) New() apis.Object { return P(new(T)) }

// Member reads the labels that training-operator puts on its pods.
func (r row[T, P]) Member(pod *corev1.Pod) (owner, role string, ok bool) {
	c := metav1.GetControllerOf(pod)
	if c == nil || c.Kind != r.kind.Kind || c.APIVersion != r.kind.GroupVersion().String() {
		return "", "", false
	}
	return string(c.UID), strings.ToLower(pod.Labels[kubeflowv1.ReplicaTypeLabel]), true
}

func (r row[T, P]) Gangs(obj apis.Object) ([]workload.Gang, error) {
	job, ok := obj.(P)
	if !ok {
		return nil, fmt.Errorf("%T is no %s", obj, r.kind.Kind)
	}
	s := r.read(job)
	if s.idle() || elsewhere(obj, s.run) {
		return nil, nil
	}
	parts := r.parts(s)
	var least, all int64
	for _, p := range parts {
		n := p.Replicas
		if few, ok := s.elastic[p.Role]; ok {
			n = min(n, max(few, 0))
		}
		least += int64(n)
		all += int64(p.Replicas)
	}
	if all == 0 {
		return nil, nil
	}
	gang := workload.Derive(obj, parts, policyOf(s.run), int32(min(least, math.MaxInt32)))
	return []workload.Gang{gang}, nil
}

// parts returns the roles whose pods we schedule, in fill order, as the operator
// will default them: role names in any case, one replica when none is given.
func (r row[T, P]) parts(s spec) []workload.Part {
	var parts []workload.Part
	for _, role := range r.roles {
		for _, name := range slices.Sorted(maps.Keys(s.replicas)) {
			replica := s.replicas[name]
			if replica == nil || !strings.EqualFold(string(name), role) || !r.ours(replica.Template.Spec.SchedulerName) {
				continue
			}
			n := int32(1)
			if replica.Replicas != nil {
				n = max(*replica.Replicas, 0)
			}
			parts = append(parts, workload.Part{Role: strings.ToLower(role), Replicas: n, Template: &replica.Template})
			break
		}
	}
	return parts
}

// idle reports whether a job wants no pods: it is suspended or has ended.
func (s spec) idle() bool {
	if s.run.Suspend != nil && *s.run.Suspend {
		return true
	}
	for _, c := range s.status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == kubeflowv1.JobSucceeded || c.Type == kubeflowv1.JobFailed) {
			return true
		}
	}
	return false
}

// kueueQueueLabel marks workloads that Kueue admits.
const kueueQueueLabel = "kueue.x-k8s.io/queue-name"

// elsewhere reports whether somebody else runs or admits the job.
func elsewhere(obj apis.Object, run *kubeflowv1.RunPolicy) bool {
	managed := run.ManagedBy != nil && *run.ManagedBy != "" && *run.ManagedBy != kubeflowv1.KubeflowJobsController
	return managed || obj.GetLabels()[kueueQueueLabel] != ""
}

func policyOf(run *kubeflowv1.RunPolicy) workload.Policy {
	p := run.SchedulingPolicy
	if p == nil {
		return workload.Policy{}
	}
	policy := workload.Policy{Min: p.MinAvailable, Queue: p.Queue, PriorityClass: p.PriorityClass}
	if p.MinResources != nil {
		policy.MinResources = corev1.ResourceList(*p.MinResources)
	}
	return policy
}
