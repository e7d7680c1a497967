package podgroup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/apis"
	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/integrations/kubeflow"
	"github.com/muster-sh/muster/pkg/controllers/podgroup"
	"github.com/muster-sh/muster/pkg/outcome"
)

func ours(name string) bool { return name == "volcano" }

// job has two workers of one GPU.
func job(edits ...func(*kubeflowv1.PyTorchJob)) *kubeflowv1.PyTorchJob {
	j := &kubeflowv1.PyTorchJob{
		ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "ml", UID: "u"},
		Spec: kubeflowv1.PyTorchJobSpec{PyTorchReplicaSpecs: map[kubeflowv1.ReplicaType]*kubeflowv1.ReplicaSpec{
			"Worker": {Replicas: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				SchedulerName: "volcano",
				Containers:    []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"gpu": resource.MustParse("1")}}}},
			}}},
		}},
	}
	for _, edit := range edits {
		edit(j)
	}
	return j
}

func owner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "bert", UID: "u", Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}

// group is the PodGroup that job() wants.
func group(edits ...func(*schedulingv1beta1.PodGroup)) *schedulingv1beta1.PodGroup {
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "podgroup-u", Namespace: "ml", OwnerReferences: owner()},
		Spec: schedulingv1beta1.PodGroupSpec{
			MinMember: 2, MinTaskMember: map[string]int32{"worker": 2}, Queue: "default",
			MinResources: &corev1.ResourceList{"gpu": resource.MustParse("2")},
		},
	}
	for _, edit := range edits {
		edit(pg)
	}
	return pg
}

func pod(edits ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "bert-worker-0", Namespace: "ml", OwnerReferences: owner(),
			Labels: map[string]string{"training.kubeflow.org/replica-type": "worker"},
		},
		Spec: corev1.PodSpec{SchedulerName: "volcano"},
	}
	for _, edit := range edits {
		edit(&p)
	}
	return p
}

func tied(p *corev1.Pod) {
	p.Annotations = map[string]string{
		"scheduling.k8s.io/group-name": "podgroup-u", "scheduling.volcano.sh/group-name": "podgroup-u", "volcano.sh/task-spec": "worker",
	}
}

// step is what is seen and what must follow.
type step struct {
	seen podgroup.Observed
	want outcome.Outcome
}

func check(t *testing.T, tests map[string]step) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := podgroup.Step(tt.seen, kubeflow.Adapters(ours)[0], ours)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASuspendedJobGivesItsPodGroupBackWhenNothingRuns(t *testing.T) {
	suspended := job(func(j *kubeflowv1.PyTorchJob) { j.Spec.RunPolicy.Suspend = new(true) })
	check(t, map[string]step{
		"a suspended job gives its PodGroup back": {
			podgroup.Observed{Workload: suspended, PodGroups: []schedulingv1beta1.PodGroup{*group()}},
			outcome.Outcome{Delete: []apis.Object{group()}},
		},
		"but not while pods of it still run": {
			podgroup.Observed{Workload: suspended, PodGroups: []schedulingv1beta1.PodGroup{*group()}, Pods: []corev1.Pod{pod(tied)}},
			outcome.Outcome{},
		},
	})
}

func TestAJobThatIsDeletedKeepsItsPodGroupUntilItsPodsAreGone(t *testing.T) {
	deleted := job(func(j *kubeflowv1.PyTorchJob) { j.DeletionTimestamp = &metav1.Time{} })
	going := pod(tied, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} })
	check(t, map[string]step{
		"they are charged to its queue until then": {
			podgroup.Observed{Workload: deleted, PodGroups: []schedulingv1beta1.PodGroup{*group()}, Pods: []corev1.Pod{going}},
			outcome.Outcome{},
		},
		"and no new one is made": {podgroup.Observed{Workload: deleted, Pods: []corev1.Pod{going}}, outcome.Outcome{}},
		"then it goes": {
			podgroup.Observed{Workload: deleted, PodGroups: []schedulingv1beta1.PodGroup{*group()}},
			outcome.Outcome{Delete: []apis.Object{group()}},
		},
	})
}

func TestEveryGangHasItsOnePodGroup(t *testing.T) {
	foreign := *group(func(pg *schedulingv1beta1.PodGroup) { pg.Name = "bert" })
	free := pod()
	check(t, map[string]step{
		"a new job gets its PodGroup": {
			podgroup.Observed{Workload: job()},
			outcome.Outcome{Apply: []apis.Object{group()}},
		},
		"in its namespace's queue": {
			podgroup.Observed{Workload: job(), NamespaceQueue: "tenant"},
			outcome.Outcome{Apply: []apis.Object{group(func(pg *schedulingv1beta1.PodGroup) { pg.Spec.Queue = "tenant" })}},
		},
		"nothing to do when all is as it should be": {
			podgroup.Observed{Workload: job(), PodGroups: []schedulingv1beta1.PodGroup{*group()}, Pods: []corev1.Pod{pod(tied)}},
			outcome.Outcome{},
		},
		"a pod without a group is tied": {
			podgroup.Observed{Workload: job(), PodGroups: []schedulingv1beta1.PodGroup{*group()}, Pods: []corev1.Pod{free}},
			outcome.Outcome{Annotate: []outcome.Annotation{{Object: &free, Annotations: map[string]string{
				"scheduling.k8s.io/group-name": "podgroup-u", "scheduling.volcano.sh/group-name": "podgroup-u", "volcano.sh/task-spec": "worker",
			}}}},
		},
		"pods that have a node, another group or another scheduler are left alone": {
			podgroup.Observed{Workload: job(), PodGroups: []schedulingv1beta1.PodGroup{*group()}, Pods: []corev1.Pod{
				pod(func(p *corev1.Pod) { p.Spec.NodeName = "n" }),
				pod(func(p *corev1.Pod) { p.Annotations = map[string]string{"scheduling.k8s.io/group-name": "mine"} }),
				pod(func(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" }),
			}},
			outcome.Outcome{},
		},
		"a scaled job changes its PodGroup": {
			podgroup.Observed{
				Workload:  job(func(j *kubeflowv1.PyTorchJob) { j.Spec.PyTorchReplicaSpecs["Worker"].Replicas = new(int32(3)) }),
				PodGroups: []schedulingv1beta1.PodGroup{*group()},
			},
			outcome.Outcome{Apply: []apis.Object{group(func(pg *schedulingv1beta1.PodGroup) {
				pg.Spec.MinMember, pg.Spec.MinTaskMember = 3, map[string]int32{"worker": 3}
				pg.Spec.MinResources = &corev1.ResourceList{"gpu": resource.MustParse("3")}
			})}},
		},
		"what can't be right is said when the PodGroup is written": {
			podgroup.Observed{Workload: job(func(j *kubeflowv1.PyTorchJob) {
				j.Spec.RunPolicy.SchedulingPolicy = &kubeflowv1.SchedulingPolicy{MinAvailable: new(int32(7))}
			})},
			outcome.Outcome{
				Apply: []apis.Object{group()},
				Events: []outcome.Event{{
					On: job(func(j *kubeflowv1.PyTorchJob) {
						j.Spec.RunPolicy.SchedulingPolicy = &kubeflowv1.SchedulingPolicy{MinAvailable: new(int32(7))}
					}),
					Warning: true, Reason: "InvalidGang",
					Message: "minAvailable is 7, but there are only 2 pods that Muster schedules; 2 is used",
				}},
			},
		},
		"the operator's own PodGroup is the only one": {
			podgroup.Observed{Workload: job(), PodGroups: []schedulingv1beta1.PodGroup{foreign, *group()}, Pods: []corev1.Pod{free}},
			outcome.Outcome{Delete: []apis.Object{group()}},
		},
	})
}
