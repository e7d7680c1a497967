package relations_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/relations"
)

const (
	notApart  = "didn't match pod anti-affinity rules"
	keptAway  = "didn't satisfy existing pods anti-affinity rules"
	notNear   = "didn't match pod affinity rules"
	notSpread = "didn't match pod topology spread constraints"
	noPort    = "didn't have free ports for the requested pod ports"
)

func TestOtherPodsDecideWhereAPodMayRun(t *testing.T) {
	all := map[string]string{"x1": "", "x2": "", "y1": "", "none": ""}
	tests := map[string]struct {
		off     string // the switch after which it may run anywhere
		running *corev1.Pod
		pod     *corev1.Pod
		want    map[string]string
	}{
		"apart on hosts": {"predicate.PodAffinityEnable", pod("r", "b"), pod("p", "a", apart("b", host)), map[string]string{"x1": notApart, "x2": "", "y1": "", "none": ""}},
		"apart by zone":  {"predicate.PodAffinityEnable", pod("r", "b"), pod("p", "a", apart("b", zone)), map[string]string{"x1": notApart, "x2": notApart, "y1": "", "none": ""}},
		"kept away by another, though it asks for nothing": {
			"predicate.PodAffinityEnable", pod("r", "b", apart("a", zone)), pod("p", "a"),
			map[string]string{"x1": keptAway, "x2": keptAway, "y1": "", "none": ""},
		},
		"near":                     {"predicate.PodAffinityEnable", pod("r", "b"), pod("p", "a", near("b", zone)), map[string]string{"x1": "", "x2": "", "y1": notNear, "none": notNear}},
		"near its like, the first": {"predicate.PodAffinityEnable", pod("r", "b"), pod("p", "a", near("a", zone)), map[string]string{"x1": "", "x2": "", "y1": "", "none": notNear}},
		"near nobody that exists":  {"predicate.PodAffinityEnable", pod("r", "b"), pod("p", "a", near("c", zone)), map[string]string{"x1": notNear, "y1": notNear}},
		"spread": {
			"predicate.PodTopologySpreadEnable", pod("r", "a"), pod("p", "a", spread("a", zone, 1)),
			map[string]string{"x1": notSpread, "x2": notSpread, "y1": "", "none": notSpread + " (missing required label)"},
		},
		"a port that is taken": {"predicate.NodePortsEnable", pod("r", "b", port(80)), pod("p", "a", port(80)), map[string]string{"x1": noPort, "x2": "", "y1": ""}},
		"another port":         {"", pod("r", "b", port(81)), pod("p", "a", port(80)), all},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			judged := func(args framework.Args) (*world, framework.Judge, string) {
				w := newWorld(t, args)
				for name, zone := range map[string]string{"x1": "x", "x2": "x", "y1": "y", "none": ""} {
					w.node(name, zone)
				}
				w.task(tt.running, "", "x1")
				task := w.task(tt.pod, "ns/g", "")
				return w, w.judge(task), w.plugin.Kind(task)
			}
			w, j, kind := judged(nil)
			if kind == "" {
				t.Error("the pod is of no kind")
			}
			expect(t, w, j, tt.want)
			if tt.off == "" {
				return
			}
			w, j, kind = judged(framework.Args{tt.off: "false"})
			if kind != "" {
				t.Errorf("with %s off it is still of a kind: %q", tt.off, kind)
			}
			expect(t, w, j, all)
		})
	}
}

func TestTasksAreOfOneKindWhenNobodyCouldTellThemApart(t *testing.T) {
	numbered := func(n string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels["index"] = n }
	}
	tests := map[string]struct {
		running *corev1.Pod // nil: none
		a, b    *corev1.Pod
		want    string // none, one, two
	}{
		"plain pods":                         {nil, pod("p", "a"), pod("q", "b"), "none"},
		"equal pods":                         {nil, pod("p", "a", apart("a", host)), pod("q", "a", apart("a", host)), "one"},
		"labels that nobody looks at":        {nil, pod("p", "a", numbered("1"), port(80)), pod("q", "a", numbered("2"), port(80)), "one"},
		"labels that a selector looks at":    {nil, pod("p", "a", apart("a", host)), pod("q", "b", apart("a", host)), "two"},
		"plain pods, one of them kept away":  {pod("r", "r", apart("a", host)), pod("p", "a"), pod("q", "b"), "two"},
		"plain pods that nobody keeps away":  {pod("r", "r", apart("c", host)), pod("p", "a"), pod("q", "b"), "none"},
		"another of the gang keeps it away":  {nil, pod("p", "a"), pod("q", "b", apart("a", host)), "two"},
		"different rules":                    {nil, pod("p", "a", apart("a", host)), pod("q", "a", apart("a", zone)), "two"},
		"different ports":                    {nil, pod("p", "a", port(80)), pod("q", "a", port(81)), "two"},
		"one claim for both":                 {nil, pod("p", "a", mount("c")), pod("q", "a", mount("c")), "one"},
		"a claim each":                       {nil, pod("p", "a", mount("c")), pod("q", "a", mount("d")), "two"},
		"a claim each, named after the pods": {nil, pod("p", "a", ephemeral), pod("q", "a", ephemeral), "two"},
		"a claim for devices each":           {nil, pod("p", "a", device("c")), pod("q", "a", device("d")), "two"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.node("x1", "x")
			if tt.running != nil {
				w.task(tt.running, "", "x1")
			}
			ta, tb := w.task(tt.a, "ns/g", ""), w.task(tt.b, "ns/g", "")
			got := "two"
			switch a, b := w.plugin.Kind(ta), w.plugin.Kind(tb); {
			case a == "" && b == "":
				got = "none"
			case a == b:
				got = "one"
			}
			if got != tt.want {
				t.Errorf("kinds %q and %q: %s, want %s", w.plugin.Kind(ta), w.plugin.Kind(tb), got, tt.want)
			}
		})
	}
}

func ephemeral(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "own", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
}

func TestANamespaceIsSelectedByItsLabels(t *testing.T) {
	w := newWorld(t, nil)
	w.node("x1", "x")
	w.task(pod("r", "r", func(p *corev1.Pod) {
		apart("a", host)(p)
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "ml"}}
		p.Namespace = "other"
	}), "", "x1")
	task := w.task(pod("p", "a"), "ns/g", "")
	if kind := w.plugin.Kind(task); kind != "" {
		t.Errorf("a pod of an unknown namespace is kept away: %q", kind)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"team": "ml"}}}
	w.plugin.Learn(ns, false)
	expect(t, w, w.judge(task), map[string]string{"x1": keptAway})
	w.plugin.Learn(ns, true)
	expect(t, w, w.judge(task), map[string]string{"x1": ""})
}

func TestAJudgeSeesWhatOthersPlaceMeanwhile(t *testing.T) {
	w := newWorld(t, nil)
	x, y := w.node("x1", "x"), w.node("y1", "y")
	task := w.task(pod("p", "a"), "ns/g", "")
	j := w.judge(task)
	expect(t, w, j, map[string]string{"x1": "", "y1": ""})
	mark := w.Mark()
	w.Place(w.task(pod("q", "b", apart("a", zone)), "ns/h", ""), x)
	expect(t, w, j, map[string]string{"x1": keptAway, "y1": ""})
	w.Place(w.task(pod("r", "b", apart("a", zone)), "ns/h", ""), y)
	expect(t, w, j, map[string]string{"x1": keptAway, "y1": keptAway})
	w.Rollback(mark)
	expect(t, w, j, map[string]string{"x1": "", "y1": ""})
}

func TestANodeThatChangesIsSeenAnew(t *testing.T) {
	w := newWorld(t, nil)
	n := w.node("x1", "x")
	w.task(pod("r", "b"), "", "x1")
	task := w.task(pod("p", "a", near("b", zone)), "ns/g", "")
	expect(t, w, w.judge(task), map[string]string{"x1": ""})

	w.node("x1", "")
	w.plugin.Begin(w.World, time.Time{})
	expect(t, w, w.judge(task), map[string]string{"x1": notNear})

	w.node("x1", "y")
	w.node("y2", "y")
	w.task(pod("r", "c"), "", "x1")
	w.plugin.Begin(w.World, time.Time{})
	expect(t, w, w.judge(task), map[string]string{"x1": notNear, "y2": notNear})

	w.task(pod("r", "b"), "", "x1")
	expect(t, w, w.judge(task), map[string]string{"x1": "", "y2": ""})

	w.DropTask("r")
	w.DropNode(n.Name)
	expect(t, w, w.judge(task), map[string]string{"y2": notNear})
}

func TestEverythingThatIsWrongWithArgumentsIsSaid(t *testing.T) {
	_, err := relations.New(framework.Args{"predicate.NodePortEnable": true, "predicate.PodAffinityEnable": 3}, framework.Env{})
	want := `argument predicate.PodAffinityEnable is "3": give true or false
argument "predicate.NodePortEnable" is unknown; did you mean "predicate.NodePortsEnable"?`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestTheFixedTraitsAreLookedAtToo(t *testing.T) {
	w := newWorld(t, nil)
	n := w.node("x1", "x")
	shape := model.Shape{NodeSelector: map[string]string{zone: "y"}}
	if cause, fits := w.plugin.FilterNodes(&model.Class{Shape: shape})(n); fits {
		t.Errorf("a node of another zone fits: %s", cause)
	}
}
