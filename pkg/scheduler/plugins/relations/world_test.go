package relations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/relations"
)

const (
	zone = corev1.LabelTopologyZone
	host = corev1.LabelHostname
)

// fataler is what tests, properties and benchmarks have in common.
type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// world is a model with a plugin that looks at it.
type world struct {
	fataler
	*model.World
	plugin abilities
}

// abilities are what the engine asks of the plugin in each cycle, or tells it.
type abilities interface {
	framework.JudgesTasks
	framework.FiltersNodes
	framework.Begins
	framework.Learns
	framework.Prepares
}

func newWorld(f fataler, args framework.Args) *world {
	w := &world{fataler: f, World: model.New()}
	w.plugin = w.made(args)
	w.plugin.Begin(w.World, time.Time{})
	return w
}

// made is a new plugin.
func (w *world) made(args framework.Args) abilities {
	p, err := relations.New(args, framework.Env{Dim: w.Resources.Dim})
	if err != nil {
		w.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		w.Fatal("the plugin lacks an ability")
	}
	return able
}

// node adds a node of a zone; an empty zone is none.
func (w *world) node(name, zoneName string) *model.Node {
	labels := map[string]string{host: name}
	if zoneName != "" {
		labels[zone] = zoneName
	}
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	n, _ := w.SetNode(model.NodeSpec{Name: name, Labels: labels, Allocatable: resource.ListOf(map[string]int64{"pods": 1000}), Object: o})
	return n
}

// pod makes a pod of the app; edits say what else it is.
func pod(name, app string, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Labels: map[string]string{"app": app}}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// task adds a pod to the world, as a task of a gang, on a node unless that is empty.
func (w *world) task(p *corev1.Pod, gang, node string) *model.Task {
	w.SetTask(model.TaskSpec{
		UID: string(p.UID), Name: p.Namespace + "/" + p.Name, Gang: gang, Node: node, Ours: true, Pod: p,
		Shape: model.Shape{Key: fmt.Sprint(related(p)), Requests: resource.ListOf(map[string]int64{"pods": 1}), Related: related(p)},
	})
	return w.TaskOf(string(p.UID))
}

func related(p *corev1.Pod) bool {
	return p.Spec.Affinity != nil || len(p.Spec.TopologySpreadConstraints)+len(p.Spec.Containers)+len(p.Spec.Volumes)+len(p.Spec.ResourceClaims) > 0
}

// judge prepares to place a task.
func (w *world) judge(t *model.Task) framework.Judge {
	j, why, ok := w.plugin.Judge(t)
	if !ok {
		w.Fatalf("task %s: %s", t.Name, why)
	}
	return j
}

// fits is on which nodes a judge lets the next task, or why not.
func (w *world) fits(j framework.Judge) map[string]string {
	fits := map[string]string{}
	for _, n := range w.Nodes() {
		cause, ok := j.Fits(n)
		if ok != (cause == "") {
			w.Fatalf("node %s: cause %q, fits %v", n.Name, cause, ok)
		}
		fits[n.Name] = cause
	}
	return fits
}

// put places a task as the engine does.
func (w *world) put(j framework.Judge, t *model.Task, n *model.Node) {
	w.Place(t, n)
	j.Placed(t, n)
}

// selects selects pods by app: "a", "a|b" for one of several, "!a" for others, "?"
// for any, "*" for all pods, and "-" for none.
func selects(app string) *metav1.LabelSelector {
	by := func(op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: op, Values: values}}}
	}
	switch {
	case app == "-":
		return nil
	case app == "*":
		return &metav1.LabelSelector{}
	case app == "?":
		return by(metav1.LabelSelectorOpExists)
	case app[0] == '!':
		return by(metav1.LabelSelectorOpNotIn, app[1:])
	case strings.Contains(app, "|"):
		return by(metav1.LabelSelectorOpIn, strings.Split(app, "|")...)
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func affine(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}
	}
	return p.Spec.Affinity
}

func near(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		a := affine(p).PodAffinity
		a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution,
			corev1.PodAffinityTerm{LabelSelector: selects(app), TopologyKey: key})
	}
}

func apart(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		a := affine(p).PodAntiAffinity
		a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution,
			corev1.PodAffinityTerm{LabelSelector: selects(app), TopologyKey: key})
	}
}

func spread(app, key string, skew int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selects(app),
		})
	}
}

func port(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{HostPort: n, Protocol: corev1.ProtocolTCP}}})
	}
}

func mount(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
}

// expect compares what a judge says of nodes with what is wanted of those named.
func expect(t *testing.T, w *world, j framework.Judge, want map[string]string) {
	t.Helper()
	got := w.fits(j)
	for name, cause := range want {
		if got[name] != cause {
			t.Errorf("node %s: %q, want %q", name, got[name], cause)
		}
	}
}
