package predicates_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
)

func affinity(operator corev1.NodeSelectorOperator, values ...string) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: operator, Values: values}}}},
	}}
}

func TestANodeIsFilteredByItsTraits(t *testing.T) {
	gpu := model.Node{Name: "n", Labels: map[string]string{"pool": "gpu", "cores": "64"}}
	with := func(edit func(*model.Node)) model.Node {
		n := gpu
		edit(&n)
		return n
	}
	dedicated := with(func(n *model.Node) {
		n.Taints = []corev1.Taint{{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule}}
	})
	cordoned := with(func(n *model.Node) { n.Unschedulable = true })
	tests := map[string]struct {
		shape model.Shape
		node  model.Node
		want  string // the cause; empty: it fits
	}{
		"nothing asked for":                  {model.Shape{}, gpu, ""},
		"a selector that matches":            {model.Shape{NodeSelector: map[string]string{"pool": "gpu"}}, gpu, ""},
		"a selector that does not":           {model.Shape{NodeSelector: map[string]string{"pool": "cpu"}}, gpu, "node selector pool=cpu not matched"},
		"several labels of which two do not": {model.Shape{NodeSelector: map[string]string{"pool": "cpu", "cores": "64", "disk": "ssd"}}, gpu, "node selector disk=ssd not matched and node selector pool=cpu not matched"},
		"an affinity that matches":           {model.Shape{Affinity: affinity(corev1.NodeSelectorOpIn, "a", "gpu")}, gpu, ""},
		"an affinity that does not":          {model.Shape{Affinity: affinity(corev1.NodeSelectorOpNotIn, "gpu")}, gpu, "node affinity (pool NotIn gpu) not matched"},
		"an affinity that can't be read":     {model.Shape{Affinity: affinity("Odd")}, gpu, "node affinity (pool Odd) not matched"},
		"a long affinity":                    {model.Shape{Affinity: affinity(corev1.NodeSelectorOpIn, strings.Repeat("ä", 80))}, gpu, "node affinity (pool In " + strings.Repeat("ä", 56) + "…) not matched"},
		"a cordoned node":                    {model.Shape{}, cordoned, "cordoned"},
		"a cordon that is tolerated":         {model.Shape{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}, cordoned, ""},
		"a taint":                            {model.Shape{}, dedicated, "untolerated taint dedicated=ml:NoSchedule"},
		"a taint that is tolerated":          {model.Shape{Tolerations: []corev1.Toleration{{Key: "dedicated", Value: "ml"}}}, dedicated, ""},
		"a taint of another value tolerated": {model.Shape{Tolerations: []corev1.Toleration{{Key: "dedicated", Value: "web"}}}, dedicated, "untolerated taint dedicated=ml:NoSchedule"},
		"all that is wrong, at once": {
			model.Shape{NodeSelector: map[string]string{"pool": "cpu"}},
			with(func(n *model.Node) {
				n.Unschedulable = true
				n.Taints = []corev1.Taint{
					{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}, // comes with the cordon
					{Key: "a", Effect: corev1.TaintEffectNoSchedule},
					{Key: "b", Value: "c", Effect: corev1.TaintEffectNoExecute},
				}
			}),
			"cordoned and untolerated taint a:NoSchedule and untolerated taint b=c:NoExecute and node selector pool=cpu not matched",
		},
		"a taint that only asks": {model.Shape{}, with(func(n *model.Node) {
			n.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
		}), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := predicates.New(nil, framework.Env{})
			if err != nil {
				t.Fatal(err)
			}
			filters, ok := p.(framework.FiltersNodes)
			if !ok {
				t.Fatal("predicates filters no nodes")
			}
			cause, fits := filters.FilterNodes(&model.Class{Shape: tt.shape})(&tt.node)
			if cause != tt.want || fits != (tt.want == "") {
				t.Errorf("cause %q fits %v, want %q", cause, fits, tt.want)
			}
		})
	}
}

func TestASwitchThatIsOffIsNotLookedAt(t *testing.T) {
	node := &model.Node{Name: "n", Labels: map[string]string{"pool": "cpu"}, Taints: []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}}
	shape := model.Shape{NodeSelector: map[string]string{"pool": "gpu"}}
	tests := map[string]struct {
		args framework.Args
		want string
	}{
		"both on":        {nil, "untolerated taint dedicated:NoSchedule and node selector pool=gpu not matched"},
		"no taints":      {framework.Args{"predicate.TaintTolerationEnable": false}, "node selector pool=gpu not matched"},
		"no affinity":    {framework.Args{"predicate.NodeAffinityEnable": "false"}, "untolerated taint dedicated:NoSchedule"},
		"neither of two": {framework.Args{"predicate.TaintTolerationEnable": false, "predicate.NodeAffinityEnable": false}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := predicates.New(tt.args, framework.Env{})
			if err != nil {
				t.Fatal(err)
			}
			filters, ok := p.(framework.FiltersNodes)
			if !ok {
				t.Fatal("predicates filters no nodes")
			}
			if cause, _ := filters.FilterNodes(&model.Class{Shape: shape})(node); cause != tt.want {
				t.Errorf("cause %q, want %q", cause, tt.want)
			}
		})
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	_, err := predicates.New(framework.Args{"predicate.NodePortEnable": true, "predicate.CacheEnable": "perhaps"}, framework.Env{})
	want := `argument predicate.CacheEnable is "perhaps": give true or false
argument "predicate.NodePortEnable" is unknown; did you mean "predicate.NodePortsEnable"?`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestWhatTheLightPluginCanNotCheckItRefuses(t *testing.T) {
	required := []corev1.PodAffinityTerm{{TopologyKey: "zone"}}
	tests := map[string]struct {
		off  string // the switch that makes it let the pod pass
		edit func(*corev1.PodSpec)
		want string // the field; empty: it may pass
	}{
		"nothing special": {"", func(*corev1.PodSpec) {}, ""},
		"affinity that must hold": {"predicate.PodAffinityEnable", func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
		}, "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
		"anti-affinity that must hold": {"predicate.PodAffinityEnable", func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
		}, "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
		"affinity that is only preferred": {"", func(p *corev1.PodSpec) {
			p.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1}}}}
		}, ""},
		"spread that must hold": {"predicate.PodTopologySpreadEnable", func(p *corev1.PodSpec) {
			p.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.DoNotSchedule}}
		}, "spec.topologySpreadConstraints"},
		"spread that is only preferred": {"", func(p *corev1.PodSpec) {
			p.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.ScheduleAnyway}}
		}, ""},
		"devices": {"predicate.DynamicResourceAllocationEnable", func(p *corev1.PodSpec) {
			p.ResourceClaims = []corev1.PodResourceClaim{{Name: "c"}}
		}, "spec.resourceClaims"},
		"a port": {"predicate.NodePortsEnable", func(p *corev1.PodSpec) {
			p.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		}, "hostPort 80"},
		"a sidecar's port": {"predicate.NodePortsEnable", func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: 81}}}}
		}, "hostPort 81"},
		"a claim": {"predicate.VolumeBindingEnable", func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
		}, "spec.volumes[].persistentVolumeClaim"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			tt.edit(&pod.Spec)
			task := &model.Task{TaskSpec: model.TaskSpec{Pod: pod, Shape: model.Shape{Related: true}}}
			judges := judging(t, nil)
			kind := judges.Kind(task)
			if kind != tt.want {
				t.Errorf("kind %q, want %q", kind, tt.want)
			}
			if kind == "" {
				return
			}
			if _, why, ok := judges.Judge(task); ok || why.Code != reason.Unsupported || why.Field != tt.want {
				t.Errorf("reason %+v, want one about %s", why, tt.want)
			}
			if kind := judging(t, framework.Args{tt.off: false}).Kind(task); kind != "" {
				t.Errorf("with %s off it is still looked at: %s", tt.off, kind)
			}
		})
	}
}

func judging(t *testing.T, args framework.Args) framework.JudgesTasks {
	t.Helper()
	p, err := predicates.New(args, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	judges, ok := p.(framework.JudgesTasks)
	if !ok {
		t.Fatal("predicates judges no tasks")
	}
	return judges
}
