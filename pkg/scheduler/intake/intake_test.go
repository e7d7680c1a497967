package intake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
)

func ours(name string) bool { return name == "volcano" }

func pod(edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ml", UID: "u"},
		Spec: corev1.PodSpec{SchedulerName: "volcano", Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": apiresource.MustParse("1500m"), "memory": apiresource.MustParse("1Gi")}},
		}}},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func TestAPodIsReadAsATask(t *testing.T) {
	plain := model.TaskSpec{UID: "u", Name: "ml/p", Ours: true}
	with := func(edit func(*model.TaskSpec)) model.TaskSpec {
		s := plain
		edit(&s)
		return s
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want model.TaskSpec
	}{
		"with no more than it must have": {pod(), plain},
		"with a group and role": {
			pod(func(p *corev1.Pod) {
				p.Annotations = map[string]string{"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "worker"}
			}),
			with(func(s *model.TaskSpec) { s.Gang, s.Role = "ml/g", "worker" }),
		},
		"with the other spelling of a group, and the role as a label": {
			pod(func(p *corev1.Pod) {
				p.Annotations = map[string]string{"scheduling.volcano.sh/group-name": "g"}
				p.Labels = map[string]string{"volcano.sh/task-spec": "ps"}
			}),
			with(func(s *model.TaskSpec) { s.Gang, s.Role = "ml/g", "ps" }),
		},
		"for which room is made": {
			pod(func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }),
			with(func(s *model.TaskSpec) { s.Nominated = "n" }),
		},
		"that runs": {
			pod(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning }),
			with(func(s *model.TaskSpec) { s.Node, s.Running = "n", true }),
		},
		"that succeeded": {
			pod(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n", corev1.PodSucceeded }),
			with(func(s *model.TaskSpec) { s.Node, s.Ended = "n", model.Succeeded }),
		},
		"that succeeded when its last container did": {
			pod(func(p *corev1.Pod) {
				p.Spec.NodeName, p.Status.Phase = "n", corev1.PodSucceeded
				for _, second := range []int64{300, 500, 400} {
					p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{
						Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Unix(second, 0)},
					}})
				}
			}),
			with(func(s *model.TaskSpec) { s.Node, s.Ended, s.Finished = "n", model.Succeeded, time.Unix(500, 0) }),
		},
		"behind a gate, of a priority": {
			pod(func(p *corev1.Pod) {
				p.Spec.SchedulingGates, p.Spec.Priority = []corev1.PodSchedulingGate{{Name: "x"}}, new(int32(7))
			}),
			with(func(s *model.TaskSpec) { s.Gated, s.Priority = true, 7 }),
		},
		"of another scheduler, that takes room": {
			pod(func(p *corev1.Pod) {
				p.Spec.SchedulerName, p.Spec.NodeName = "default-scheduler", "n"
				p.Annotations = map[string]string{"scheduling.k8s.io/group-name": "g"}
			}),
			with(func(s *model.TaskSpec) { s.Ours, s.Node = false, "n" }),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := intake.Pod(tt.pod, ours)
			if !ok {
				t.Fatal("it concerns nobody")
			}
			if got.Pod != tt.pod {
				t.Error("the pod itself is not handed on")
			}
			got.Shape, got.Pod = model.Shape{}, nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAPodsOwnWordIsItsPriority among the tasks of its gang, but not one of the cluster's own.
func TestAPodsOwnWordIsItsPriority(t *testing.T) {
	for said, want := range map[string]int32{"9": 9, "-1": -1, "2000001000": 1_000_000_000, "high": 7, "": 7} {
		p := pod(func(p *corev1.Pod) {
			p.Spec.Priority = new(int32(7))
			p.Annotations = map[string]string{"volcano.sh/task-priority": said}
		})
		if got, _ := intake.Pod(p, ours); got.Priority != want {
			t.Errorf("%q: %d, want %d", said, got.Priority, want)
		}
	}
}

func TestAWaitingPodOfAnotherSchedulerConcernsNobody(t *testing.T) {
	if _, ok := intake.Pod(pod(func(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" }), ours); ok {
		t.Error("it was taken in")
	}
}

func TestEqualPodsShareAShapeAndOthersDoNot(t *testing.T) {
	key := func(edits ...func(*corev1.Pod)) string {
		task, _ := intake.Pod(pod(edits...), ours)
		return task.Shape.Key
	}
	base := key()
	if other := key(func(p *corev1.Pod) { p.Name, p.UID, p.Labels = "q", "v", map[string]string{"a": "b"} }); other != base {
		t.Errorf("equal pods differ: %s, %s", base, other)
	}
	for name, edit := range map[string]func(*corev1.Pod){
		"requests":    func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": apiresource.MustParse("1")} },
		"selector":    func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} },
		"tolerations": func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "a"}} },
		"affinity":    func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}} },
	} {
		if key(edit) == base {
			t.Errorf("pods of other %s share a shape", name)
		}
	}
}

func TestRequestsCountThePodItself(t *testing.T) {
	task, _ := intake.Pod(pod(), ours)
	want := resource.ListOf(map[string]int64{"cpu": 1500, "memory": 1 << 30, "pods": 1})
	if diff := cmp.Diff(want, task.Shape.Requests); diff != "" {
		t.Error(diff)
	}
}

// TestRequestsAreWhatKubeletCounts: what a pod asks for beside its containers, and what they
// have until they have become smaller in place.
func TestRequestsAreWhatKubeletCounts(t *testing.T) {
	cpu := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": apiresource.MustParse(amount), "memory": apiresource.MustParse("1Gi")}
	}
	for name, tt := range map[string]struct {
		edit func(*corev1.Pod)
		want int64 // thousandths of a core
	}{
		"an init container that asks for more": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: cpu("4")}}}
		}, 4000},
		"a sidecar runs beside": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Requests: cpu("500m")}}}
		}, 2000},
		"overhead":               {func(p *corev1.Pod) { p.Spec.Overhead = cpu("250m") }, 1750},
		"the pod says it itself": {func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu("3")} }, 3000},
		"not yet smaller": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Name = "c"
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResources: cpu("2"), Resources: &corev1.ResourceRequirements{Requests: cpu("2")}}}
		}, 2000},
	} {
		task, _ := intake.Pod(pod(tt.edit), ours)
		if got, _ := task.Shape.Requests.Get("cpu"); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestWhatDependsOnMoreThanTheNodeIsSaid(t *testing.T) {
	terms := []corev1.PodAffinityTerm{{TopologyKey: "zone"}}
	for what, edit := range map[string]func(*corev1.Pod){
		"affinity": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		},
		"anti-affinity": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		},
		"spread": func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.DoNotSchedule}}
		},
		"devices": func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c"}} },
		"a port":  func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} },
		"a volume": func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
		},
		"an own volume": func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
		},
		"a sidecar's port": func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Ports: []corev1.ContainerPort{{HostPort: 81}}}}
		},
	} {
		if task, _ := intake.Pod(pod(edit), ours); !task.Shape.Related {
			t.Errorf("a pod with %s depends on nothing", what)
		}
	}
	if task, _ := intake.Pod(pod(func(*corev1.Pod) {}), ours); task.Shape.Related {
		t.Error("a plain pod depends on others")
	}
}

func TestAPodsClaimsAreReadAsFarAsTheyAreKnown(t *testing.T) {
	claims := func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{
			{Name: "shared", ResourceClaimName: new("c")},
			{Name: "again", ResourceClaimName: new("c")},
			{Name: "own", ResourceClaimTemplateName: new("t")},
			{Name: "none", ResourceClaimTemplateName: new("u")},
		}
	}
	made := func(p *corev1.Pod) {
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "own", ResourceClaimName: new("p-own-1")}, {Name: "none"}}
	}
	tests := map[string]struct {
		edits []func(*corev1.Pod)
		want  []model.ClaimRef
	}{
		"none": {},
		"before they are made": {[]func(*corev1.Pod){claims}, []model.ClaimRef{
			{Key: "ml/c"}, {Key: "pod/u/own", Template: "ml/t"}, {Key: "pod/u/none", Template: "ml/u"},
		}},
		"once they are made, or need not be": {[]func(*corev1.Pod){claims, made}, []model.ClaimRef{
			{Key: "ml/c"}, {Key: "ml/p-own-1", Template: "ml/t"},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			task, _ := intake.Pod(pod(tt.edits...), ours)
			if diff := cmp.Diff(tt.want, task.Claims.All()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPodGroupIsReadAsAGang(t *testing.T) {
	created := metav1.NewTime(time.Unix(1000, 0))
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "ml", UID: "u", CreationTimestamp: created},
		Spec: schedulingv1beta1.PodGroupSpec{
			MinMember: 3, MinTaskMember: map[string]int32{"worker": 2, "master": 1},
			MinResources: &corev1.ResourceList{"cpu": apiresource.MustParse("-1")},
		},
		Status: schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupInqueue},
	}
	got := intake.PodGroup(pg, 5)
	if got.Problem == nil || got.Problem.String() != "spec.minResources[cpu] is -1: set it to 0 or more" {
		t.Errorf("problem %v", got.Problem)
	}
	got.Problem = nil
	want := model.GangSpec{
		Key: "ml/g", UID: "u", Queue: "default", Priority: 5, Min: 3, Phase: model.Inqueue, Created: created.Time,
		RoleMin:      []model.RoleMin{{Role: "master", Min: 1}, {Role: "worker", Min: 2}},
		MinResources: resource.ListOf(map[string]int64{"cpu": -1000}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAQueueIsReadWithItsPlaceInTheTree(t *testing.T) {
	tests := map[string]struct {
		queue schedulingv1beta1.Queue
		want  model.QueueSpec
	}{
		"below root by default": {
			schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			model.QueueSpec{Name: "a", Parent: "root", Guarantee: resource.List{}, Deserved: resource.List{}, Capability: resource.List{}, Reclaimable: true},
		},
		"root above all": {
			schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "root"}},
			model.QueueSpec{Name: "root", Guarantee: resource.List{}, Deserved: resource.List{}, Capability: resource.List{}, Reclaimable: true},
		},
		"with all that it may say": {
			schedulingv1beta1.Queue{
				ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"volcano.sh/hierarchy": "root/a", "other/key": "x"}},
				Spec: schedulingv1beta1.QueueSpec{
					Weight: 3, Priority: 5, Parent: "b", DequeueStrategy: schedulingv1beta1.DequeueStrategyFIFO, Reclaimable: new(false),
					Affinity: &schedulingv1beta1.Affinity{
						NodeGroupAffinity:     &schedulingv1beta1.NodeGroupAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []string{"g1"}, PreferredDuringSchedulingIgnoredDuringExecution: []string{"g2"}},
						NodeGroupAntiAffinity: &schedulingv1beta1.NodeGroupAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []string{"g3"}, PreferredDuringSchedulingIgnoredDuringExecution: []string{"g4"}},
					},
				},
			},
			model.QueueSpec{
				Name: "a", Parent: "b", Weight: 3, Priority: 5, Strict: true, Guarantee: resource.List{}, Deserved: resource.List{}, Capability: resource.List{},
				Groups:      model.NodeGroups{Required: []string{"g1"}, Preferred: []string{"g2"}, AntiRequired: []string{"g3"}, AntiPreferred: []string{"g4"}},
				Annotations: map[string]string{"volcano.sh/hierarchy": "root/a"},
			},
		},
		"closing": {
			schedulingv1beta1.Queue{
				ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: schedulingv1beta1.QueueSpec{Parent: "b"},
				Status: schedulingv1beta1.QueueStatus{State: schedulingv1beta1.QueueStateClosing},
			},
			model.QueueSpec{Name: "a", Parent: "b", Guarantee: resource.List{}, Deserved: resource.List{}, Capability: resource.List{}, Reclaimable: true, Closed: "Closing"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, intake.Queue(&tt.queue)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRolesCountAsFarAsTheGangNeedsThem: upstream's own example has 6 replicas, of which 3
// may begin.
func TestRolesCountAsFarAsTheGangNeedsThem(t *testing.T) {
	for name, tt := range map[string]struct {
		least int32
		roles map[string]int32
		want  []model.RoleMin
	}{
		"as many as it needs": {3, map[string]int32{"ps": 1, "worker": 2}, []model.RoleMin{{Role: "ps", Min: 1}, {Role: "worker", Min: 2}}},
		"fewer":               {3, map[string]int32{"ps": 1}, []model.RoleMin{{Role: "ps", Min: 1}}},
		"more":                {3, map[string]int32{"nginx": 6}, []model.RoleMin{{Role: "nginx"}}},
		"more together":       {3, map[string]int32{"ps": 2, "worker": 2}, []model.RoleMin{{Role: "ps"}, {Role: "worker"}}},
		"no gang":             {0, map[string]int32{"ps": 1}, []model.RoleMin{{Role: "ps"}}},
	} {
		got := intake.PodGroup(&schedulingv1beta1.PodGroup{Spec: schedulingv1beta1.PodGroupSpec{MinMember: tt.least, MinTaskMember: tt.roles}}, 0)
		if diff := cmp.Diff(tt.want, got.RoleMin); diff != "" || got.Problem != nil {
			t.Errorf("%s: %s%+v", name, diff, got.Problem)
		}
	}
}

func TestHowNearPodsMustBeIsRead(t *testing.T) {
	two, below := 2, -1
	group := func(n schedulingv1beta1.NetworkTopologySpec) schedulingv1beta1.PodGroupSpec {
		return schedulingv1beta1.PodGroupSpec{NetworkTopology: &n}
	}
	const field = "spec.networkTopology"
	tests := map[string]struct {
		spec schedulingv1beta1.PodGroupSpec
		want *model.Near
		bad  string // the field that can't be right
	}{
		"anywhere":         {schedulingv1beta1.PodGroupSpec{}, nil, ""},
		"hard":             {group(schedulingv1beta1.NetworkTopologySpec{Mode: "hard"}), &model.Near{Field: field, Hard: true}, ""},
		"hard by default":  {group(schedulingv1beta1.NetworkTopologySpec{}), &model.Near{Field: field, Hard: true}, ""},
		"hard to a tier":   {group(schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &two}), &model.Near{Field: field, Hard: true, Tier: &two}, ""},
		"by its name":      {group(schedulingv1beta1.NetworkTopologySpec{HighestTierName: "rack"}), &model.Near{Field: field, Hard: true, TierName: "rack"}, ""},
		"soft":             {group(schedulingv1beta1.NetworkTopologySpec{Mode: "soft"}), &model.Near{Field: field}, ""},
		"an unknown mode":  {group(schedulingv1beta1.NetworkTopologySpec{Mode: "firm"}), nil, field + ".mode"},
		"both bounds":      {group(schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &two, HighestTierName: "rack"}), nil, field + ".highestTierName"},
		"a tier below all": {group(schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &below}), nil, field + ".highestTierAllowed"},
		"a sub-group's bad one": {schedulingv1beta1.PodGroupSpec{SubGroupPolicy: []schedulingv1beta1.SubGroupPolicySpec{
			{Name: "s", NetworkTopology: &schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &below}},
		}}, nil, "spec.subGroupPolicy[s].networkTopology.highestTierAllowed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := intake.PodGroup(&schedulingv1beta1.PodGroup{Spec: tt.spec}, 0)
			if (got.Problem == nil) != (tt.bad == "") || (got.Problem != nil && got.Problem.Field != tt.bad) {
				t.Errorf("problem %+v, want one about %q", got.Problem, tt.bad)
			}
			if diff := cmp.Diff(tt.want, got.Near); diff != "" {
				t.Error(diff)
			}
		})
	}
	of := intake.PodGroup(&schedulingv1beta1.PodGroup{Spec: schedulingv1beta1.PodGroupSpec{SubGroupPolicy: []schedulingv1beta1.SubGroupPolicySpec{
		{Name: "s", NetworkTopology: &schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &two}},
	}}}, 0)
	if diff := cmp.Diff(&model.Near{Field: "spec.subGroupPolicy[s].networkTopology", Hard: true, Tier: &two}, of.SubGroups[0].Near); diff != "" {
		t.Error(diff)
	}
}

func TestWhatSaysMoreThanAnybodyNeedsIsNotTakenIn(t *testing.T) {
	roles := map[string]int32{}
	for i := range 1001 {
		roles[fmt.Sprint("r", i)] = 1
	}
	label := func(n int) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: make([]string, n)},
		}}
	}
	for want, spec := range map[string]schedulingv1beta1.PodGroupSpec{
		"spec.minTaskMember is a list of 1001 roles: give at most 1000":                          {MinTaskMember: roles},
		"spec.subGroupPolicy is a list of 251 policies, labels and values: give at most 250":     {SubGroupPolicy: make([]schedulingv1beta1.SubGroupPolicySpec, 251)},
		"spec.subGroupPolicy is a list of 1000002 policies, labels and values: give at most 250": {SubGroupPolicy: []schedulingv1beta1.SubGroupPolicySpec{{LabelSelector: label(1_000_000)}}},
		"spec.subGroupPolicy is a list of 2001 policies, labels and values: give at most 250":    {SubGroupPolicy: []schedulingv1beta1.SubGroupPolicySpec{{MatchLabelKeys: make([]string, 2000)}}},
	} {
		got := intake.PodGroup(&schedulingv1beta1.PodGroup{Spec: spec}, 0)
		if got.Problem == nil || got.Problem.String() != want {
			t.Errorf("problem %v, want %s", got.Problem, want)
		}
		if len(got.RoleMin)+len(got.SubGroups) > 0 {
			t.Errorf("%d roles and %d sub-groups are taken in all the same", len(got.RoleMin), len(got.SubGroups))
		}
	}
}

func TestHintsThatCountForNothingAreSaid(t *testing.T) {
	const long = "volcano.sh/task-topology-affinity"
	hints := map[string]string{
		long:                             strings.Repeat("a,", 3000),
		"volcano.sh/jdb-min-available":   "half",
		"volcano.sh/jdb-max-unavailable": "-1",
		"volcano.sh/preemptable":         "no",
		"example.com/x":                  strings.Repeat("a", 10_000), // nobody's
		"volcano.sh/sla-waiting-time":    "x",                         // for a plugin to say
	}
	want := []string{
		`annotation volcano.sh/jdb-max-unavailable is "-1" and counts as not given: give a whole number of pods such as 2, or a percentage such as 50%`,
		`annotation volcano.sh/jdb-min-available is "half" and counts as not given: give a whole number of pods such as 2, or a percentage such as 50%`,
		`annotation volcano.sh/preemptable is "no" and counts as not given: give true or false`,
		`annotation volcano.sh/task-topology-affinity has 6000 bytes and counts as not given: give at most 4096`,
	}
	gang := intake.PodGroup(&schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Annotations: hints}}, 0)
	if diff := cmp.Diff(want, gang.Unread); diff != "" {
		t.Error(diff)
	}
	if _, kept := gang.Annotations[long]; kept {
		t.Error("what is too long is kept")
	}
	queue := intake.Queue(&schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"volcano.sh/hierarchy": strings.Repeat("root/", 1000)}}})
	if want := []string{"annotation volcano.sh/hierarchy has 5000 bytes and counts as not given: give at most 4096"}; !slices.Equal(queue.Unread, want) {
		t.Errorf("of a queue it says %q, want %q", queue.Unread, want)
	}
}
