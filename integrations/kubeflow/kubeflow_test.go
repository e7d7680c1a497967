package kubeflow_test

import (
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/apis"
	"github.com/muster-sh/muster/integrations/kubeflow"
	"github.com/muster-sh/muster/pkg/workload"
)

func adapter() workload.Adapter {
	return kubeflow.Adapters(func(name string) bool { return name == "volcano" })[0]
}

func replicas(n *int32, scheduler string, gpus int64) *kubeflowv1.ReplicaSpec {
	return &kubeflowv1.ReplicaSpec{Replicas: n, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		SchedulerName: scheduler,
		Containers: []corev1.Container{{Name: "pytorch", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)},
		}}},
	}}}
}

// job has one master and three workers of 8 GPUs; edits come after.
func job(edits ...func(*kubeflowv1.PyTorchJob)) *kubeflowv1.PyTorchJob {
	j := &kubeflowv1.PyTorchJob{
		ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "ml", UID: "u"},
		Spec: kubeflowv1.PyTorchJobSpec{PyTorchReplicaSpecs: map[kubeflowv1.ReplicaType]*kubeflowv1.ReplicaSpec{
			"Master": replicas(nil, "volcano", 8), "Worker": replicas(new(int32(3)), "volcano", 8),
		}},
	}
	for _, edit := range edits {
		edit(j)
	}
	return j
}

func policy(edit func(*kubeflowv1.SchedulingPolicy)) func(*kubeflowv1.PyTorchJob) {
	return func(j *kubeflowv1.PyTorchJob) {
		j.Spec.RunPolicy.SchedulingPolicy = &kubeflowv1.SchedulingPolicy{}
		edit(j.Spec.RunPolicy.SchedulingPolicy)
	}
}

func gpus(n int64) corev1.ResourceList {
	return corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
}

// gang is what job() needs with a master and workers in its minimum, but for changes.
func gang(master, workers int32, changes ...func(*workload.Gang)) []workload.Gang {
	g := workload.Gang{
		Name: "podgroup-u", Min: master + workers,
		Roles:        []workload.Role{{Name: "master", Replicas: 1, Min: master}, {Name: "worker", Replicas: 3, Min: workers}},
		MinResources: gpus(8 * int64(master+workers)),
	}
	for _, change := range changes {
		change(&g)
	}
	return []workload.Gang{g}
}

func TestAPyTorchJobNeedsThisGang(t *testing.T) {
	tests := map[string]struct {
		job  *kubeflowv1.PyTorchJob
		want []workload.Gang
	}{
		"all its pods, when it says nothing": {job(), gang(1, 3)},
		"as few as its policy says, the master first": {
			job(policy(func(p *kubeflowv1.SchedulingPolicy) { p.MinAvailable = new(int32(2)) })),
			gang(1, 1),
		},
		"no more than there are pods": {
			job(policy(func(p *kubeflowv1.SchedulingPolicy) { p.MinAvailable = new(int32(9)) })),
			gang(1, 3, func(g *workload.Gang) {
				g.Problems = []string{"minAvailable is 9, but there are only 4 pods that Muster schedules; 4 is used"}
			}),
		},
		"at least one pod": {
			job(policy(func(p *kubeflowv1.SchedulingPolicy) { p.MinAvailable = new(int32(-1)) })),
			gang(1, 0, func(g *workload.Gang) {
				g.Problems = []string{"minAvailable is -1: it must be at least 1; 1 is used"}
			}),
		},
		"the queue and priority of its policy, before its annotations": {
			job(policy(func(p *kubeflowv1.SchedulingPolicy) { p.Queue, p.PriorityClass = "research", "high" }), func(j *kubeflowv1.PyTorchJob) {
				j.Annotations = map[string]string{"scheduling.volcano.sh/queue-name": "other"}
			}),
			gang(1, 3, func(g *workload.Gang) { g.Queue, g.PriorityClass = "research", "high" }),
		},
		"the queue of its annotation": {
			job(func(j *kubeflowv1.PyTorchJob) {
				j.Annotations = map[string]string{"scheduling.volcano.sh/queue-name": "other", "volcano.sh/preemptable": "true", "example.test/x": "y"}
			}),
			gang(1, 3, func(g *workload.Gang) {
				g.Queue, g.Annotations = "other", map[string]string{"volcano.sh/preemptable": "true"}
			}),
		},
		"the resources of its policy": {
			job(policy(func(p *kubeflowv1.SchedulingPolicy) {
				p.MinResources = &map[corev1.ResourceName]resource.Quantity{"nvidia.com/gpu": resource.MustParse("5")}
			})),
			gang(1, 3, func(g *workload.Gang) { g.MinResources = gpus(5) }),
		},
		"the elastic minimum of workers": {
			job(func(j *kubeflowv1.PyTorchJob) {
				j.Spec.ElasticPolicy = &kubeflowv1.ElasticPolicy{MinReplicas: new(int32(1))}
			}),
			gang(1, 1),
		},
		"only the roles that name our scheduler": {
			job(func(j *kubeflowv1.PyTorchJob) {
				j.Spec.PyTorchReplicaSpecs["Master"] = replicas(nil, "default-scheduler", 8)
			}),
			gang(0, 3, func(g *workload.Gang) { g.Roles = g.Roles[1:] }),
		},
		"role names in any case": {
			job(func(j *kubeflowv1.PyTorchJob) {
				specs := j.Spec.PyTorchReplicaSpecs
				specs["worker"] = specs["Worker"]
				delete(specs, "Worker")
			}),
			gang(1, 3),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := adapter().Gangs(tt.job)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPyTorchJobNeedsNoGang(t *testing.T) {
	tests := map[string]*kubeflowv1.PyTorchJob{
		"while it is suspended": job(func(j *kubeflowv1.PyTorchJob) { j.Spec.RunPolicy.Suspend = new(true) }),
		"once it has ended": job(func(j *kubeflowv1.PyTorchJob) {
			j.Status.Conditions = []kubeflowv1.JobCondition{{Type: kubeflowv1.JobFailed, Status: corev1.ConditionTrue}}
		}),
		"when others manage it": job(func(j *kubeflowv1.PyTorchJob) { j.Spec.RunPolicy.ManagedBy = new("kueue.x-k8s.io/multikueue") }),
		"when Kueue admits it":  job(func(j *kubeflowv1.PyTorchJob) { j.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"} }),
		"without pods":          job(func(j *kubeflowv1.PyTorchJob) { j.Spec.PyTorchReplicaSpecs = nil }),
		"for pods of no container": job(func(j *kubeflowv1.PyTorchJob) {
			j.Spec.PyTorchReplicaSpecs = map[kubeflowv1.ReplicaType]*kubeflowv1.ReplicaSpec{"Worker": nil}
		}),
	}
	for name, j := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := adapter().Gangs(j); err != nil || got != nil {
				t.Errorf("gangs %+v, error %v", got, err)
			}
		})
	}
}

// TestAJobOfAbsurdSizeCostsNothingAndIsNeverHalved would take minutes, or ask for a
// minimum of one, if pods were added up one by one or in 32 bits.
func TestAJobOfAbsurdSizeCostsNothingAndIsNeverHalved(t *testing.T) {
	gangs, err := adapter().Gangs(job(func(j *kubeflowv1.PyTorchJob) {
		j.Spec.PyTorchReplicaSpecs["Worker"].Replicas = new(int32(math.MaxInt32))
	}))
	if err != nil || len(gangs) != 1 {
		t.Fatalf("gangs %v, error %v", gangs, err)
	}
	g := gangs[0]
	want := []workload.Role{{Name: "master", Replicas: 1, Min: 1}, {Name: "worker", Replicas: math.MaxInt32, Min: math.MaxInt32 - 1}}
	if diff := cmp.Diff(want, g.Roles); diff != "" || g.Min != math.MaxInt32 {
		t.Errorf("minimum %d\n%s", g.Min, diff)
	}
	if diff := cmp.Diff([]string{"it asks for 2147483648 pods, more than a PodGroup can count; ask for fewer"}, g.Problems); diff != "" {
		t.Error(diff)
	}
	if q := g.MinResources["nvidia.com/gpu"]; q.Value() != 8*math.MaxInt32 {
		t.Errorf("minResources %v", g.MinResources)
	}
}

func TestTheSeedsPyTorchJobNeedsWhatItSays(t *testing.T) {
	const path = "../../../shared/seed-manifests/30-pytorchjob-schedulingpolicy.yaml"
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("%s is absent", path)
	}
	j := &kubeflowv1.PyTorchJob{}
	if err := yaml.Unmarshal(text, j); err != nil {
		t.Fatal(err)
	}
	j.UID = "u"
	got, err := adapter().Gangs(j)
	if err != nil {
		t.Fatal(err)
	}
	want := gang(1, 3, func(g *workload.Gang) { g.Queue, g.PriorityClass = "ai-training", "high-priority" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnObjectOfAnotherKindIsAnError(t *testing.T) {
	var other apis.Object = &corev1.Pod{}
	if _, err := adapter().Gangs(other); err == nil {
		t.Error("a Pod passed as a PyTorchJob")
	}
}

func TestAPodBelongsToTheJobThatControlsIt(t *testing.T) {
	pod := func(api, kind string, controller bool) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{"training.kubeflow.org/replica-type": "Worker"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: api, Kind: kind, UID: types.UID("u"), Controller: &controller}},
		}}
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"its own":               {pod("kubeflow.org/v1", "PyTorchJob", true), true},
		"of another kind":       {pod("kubeflow.org/v1", "TFJob", true), false},
		"of another group":      {pod("example.test/v1", "PyTorchJob", true), false},
		"owned but not its own": {pod("kubeflow.org/v1", "PyTorchJob", false), false},
		"controlled by no one":  {&corev1.Pod{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			owner, role, ok := adapter().Member(tt.pod)
			if ok != tt.want || (ok && (owner != "u" || role != "worker")) {
				t.Errorf("owner %q role %q %v, want %v", owner, role, ok, tt.want)
			}
		})
	}
}

func TestAnyJobHasAGangThatAddsUp(t *testing.T) {
	number := rapid.Ptr(rapid.Int32Range(-3, 9), true)
	rapid.Check(t, func(t *rapid.T) {
		j := &kubeflowv1.PyTorchJob{}
		j.Spec.PyTorchReplicaSpecs = map[kubeflowv1.ReplicaType]*kubeflowv1.ReplicaSpec{}
		for _, role := range []kubeflowv1.ReplicaType{"Master", "Worker", "worker", "Odd"} {
			if rapid.Bool().Draw(t, string(role)) {
				j.Spec.PyTorchReplicaSpecs[role] = replicas(number.Draw(t, "replicas"), rapid.SampledFrom([]string{"volcano", ""}).Draw(t, "scheduler"), 1)
			}
		}
		if rapid.Bool().Draw(t, "elastic") {
			j.Spec.ElasticPolicy = &kubeflowv1.ElasticPolicy{MinReplicas: number.Draw(t, "min")}
		}
		j.Spec.RunPolicy.SchedulingPolicy = &kubeflowv1.SchedulingPolicy{MinAvailable: number.Draw(t, "minAvailable")}
		gangs, err := adapter().Gangs(j)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range gangs {
			var sum int32
			for _, r := range g.Roles {
				if sum += r.Min; r.Min < 0 || r.Min > r.Replicas {
					t.Fatalf("role %+v", r)
				}
			}
			if sum != g.Min || g.Min < 1 {
				t.Fatalf("roles add up to %d, minimum %d", sum, g.Min)
			}
		}
	})
}
