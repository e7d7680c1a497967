package job

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1alpha1 "github.com/muster-sh/muster/apis/batch/v1alpha1"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/workload"
)

// groupName is what the PodGroup of a job is called.
func groupName(job *batchv1alpha1.Job) string { return job.Name + "-" + string(job.UID) }

// ownerOf makes a job the controller of an object.
func ownerOf(job *batchv1alpha1.Job) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1alpha1.GroupVersion().WithKind("Job"))}
}

// gang is the PodGroup that a job needs.
func (s *sight) gang() *schedulingv1beta1.PodGroup {
	job := s.job
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Name: groupName(job), Namespace: job.Namespace, OwnerReferences: ownerOf(job),
			Annotations: map[string]string{}, Labels: job.Labels,
		},
		Spec: schedulingv1beta1.PodGroupSpec{
			MinMember: job.Spec.MinAvailable, MinTaskMember: map[string]int32{},
			Queue: job.Spec.Queue, PriorityClassName: job.Spec.PriorityClassName,
			NetworkTopology: topology(job.Spec.NetworkTopology),
		},
	}
	//muster:anyorder a copy from map to map
	for key, value := range job.Annotations {
		if hint(key) {
			pg.Annotations[key] = value
		}
	}
	maps.Copy(pg.Annotations, batchv1alpha1.EstimateAnnotation(&job.Spec))
	near, _ := batchv1alpha1.TopologyAnnotations(job.Spec.Tasks)
	maps.Copy(pg.Annotations, near)
	if resources := s.minResources(); len(resources) > 0 {
		pg.Spec.MinResources = &resources
	}
	for _, t := range s.tasks {
		if *t.MinAvailable > 0 {
			pg.Spec.MinTaskMember[t.Name] = *t.MinAvailable
		}
		if t.PartitionPolicy != nil {
			pg.Spec.SubGroupPolicy = append(pg.Spec.SubGroupPolicy, partitions(t.TaskSpec))
		}
	}
	return pg
}

// hint reports whether an annotation or label is one of those that Muster reads.
func hint(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "volcano.sh" || strings.HasSuffix(domain, ".volcano.sh") || key == "sla-waiting-time"
}

// partitions are the sub-groups of a task that is divided.
func partitions(t *batchv1alpha1.TaskSpec) schedulingv1beta1.SubGroupPolicySpec {
	return schedulingv1beta1.SubGroupPolicySpec{
		Name: t.Name, NetworkTopology: topology(t.PartitionPolicy.NetworkTopology),
		SubGroupSize: &t.PartitionPolicy.PartitionSize, MinSubGroups: &t.PartitionPolicy.MinPartitions,
		LabelSelector:  &metav1.LabelSelector{MatchLabels: map[string]string{schedulingv1beta1.TaskSpecAnnotation: t.Name}},
		MatchLabelKeys: []string{batchv1alpha1.PartitionIDKey},
	}
}

func topology(t *batchv1alpha1.NetworkTopologySpec) *schedulingv1beta1.NetworkTopologySpec {
	if t == nil {
		return nil
	}
	return &schedulingv1beta1.NetworkTopologySpec{
		Mode:               cmp.Or(schedulingv1beta1.NetworkTopologyMode(t.Mode), schedulingv1beta1.HardNetworkTopologyMode),
		HighestTierAllowed: t.HighestTierAllowed, HighestTierName: t.HighestTierName,
	}
}

// minResources is what the pods ask for that must run together: of each task as many as it
// needs, those of higher priority first, then others until there are minAvailable.
func (s *sight) minResources() corev1.ResourceList {
	tasks := slices.Clone(s.tasks)
	slices.SortStableFunc(tasks, func(a, b taskSight) int { return cmp.Compare(s.priority(b), s.priority(a)) })
	left, sum := s.job.Spec.MinAvailable, corev1.ResourceList{}
	taken := make([]int32, len(tasks))
	for i, t := range tasks {
		taken[i] = min(*t.MinAvailable, t.Replicas, left)
		left -= taken[i]
	}
	for i, t := range tasks {
		more := min(t.Replicas-taken[i], left)
		taken[i], left = taken[i]+more, left-more
		if taken[i] <= 0 {
			continue
		}
		//muster:anyorder a sum per name
		for name, q := range workload.Requests(&t.Template) {
			q.Mul(int64(taken[i]))
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	return sum
}

func (s *sight) priority(t taskSight) int32 {
	return s.Priorities[cmp.Or(t.Template.Spec.PriorityClassName, s.job.Spec.PriorityClassName)]
}

// says reports whether a PodGroup says what it should. Annotations and labels of others do not matter.
func says(have, want *schedulingv1beta1.PodGroup) bool {
	if have == nil {
		return false
	}
	//muster:anyorder a question about each
	for key, value := range want.Annotations {
		if have.Annotations[key] != value {
			return false
		}
	}
	//muster:anyorder a question about each
	for key, value := range want.Labels {
		if have.Labels[key] != value {
			return false
		}
	}
	return equality.Semantic.DeepEqual(have.Spec, want.Spec)
}
