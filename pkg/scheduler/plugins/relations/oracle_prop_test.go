package relations_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
)

// kube is kube-scheduler's plugins as that scheduler makes them: anew, and over all pods.
type kube struct {
	fwk.Handle
	snapshot  *cache.Snapshot
	informers informers.SharedInformerFactory
}

func (k kube) SnapshotSharedLister() fwk.SharedLister                 { return k.snapshot }
func (k kube) SharedInformerFactory() informers.SharedInformerFactory { return k.informers }
func (k kube) Parallelizer() fwk.Parallelizer                         { return one{} }

// one does the pieces one after the other.
type one struct{}

func (one) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		do(i)
	}
}

// kubeOf shows kube-scheduler's plugins all pods that have a node.
func kubeOf(t fataler, w *world) (kube, []fwk.NodeInfo) {
	var pods []*corev1.Pod
	var nodes []*corev1.Node
	for _, n := range w.Nodes() {
		nodes = append(nodes, n.Object)
		for _, task := range n.Tasks {
			p := task.Pod.DeepCopy()
			p.Spec.NodeName = n.Name
			pods = append(pods, p)
		}
	}
	k := kube{snapshot: cache.NewSnapshot(pods, nodes), informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}
	infos, err := k.snapshot.NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	return k, infos
}

func defaults() feature.Features {
	return feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
}

// theirs is the nodes that kube-scheduler would put a pod on.
func theirs(t fataler, w *world, pod *corev1.Pod) []string {
	k, infos := kubeOf(t, w)
	ctx, state := context.Background(), framework.NewCycleState()
	var filters []fwk.FilterPlugin
	for _, p := range []struct {
		args runtime.Object
		make func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	}{
		{nil, nodeports.New},
		{&config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}, podtopologyspread.New},
		{&config.InterPodAffinityArgs{HardPodAffinityWeight: 1}, interpodaffinity.New},
	} {
		made, err := p.make(ctx, p.args, k, defaults())
		if err != nil {
			t.Fatal(err)
		}
		if _, s := made.(fwk.PreFilterPlugin).PreFilter(ctx, state, pod, infos); s.IsSkip() {
			continue
		} else if !s.IsSuccess() {
			return nil
		}
		filters = append(filters, made.(fwk.FilterPlugin))
	}
	var fit []string
	for _, info := range infos {
		if !slices.ContainsFunc(filters, func(f fwk.FilterPlugin) bool { return !f.Filter(ctx, state, pod, info).IsSuccess() }) {
			fit = append(fit, info.Node().Name)
		}
	}
	slices.Sort(fit)
	return fit
}

// ours is the nodes that the judge would put the next task on. It is asked about
// one node of each of its domains, as the engine does.
func ours(w *world, j interface {
	Domain(*model.Node) string
	Fits(*model.Node) (string, bool)
},
) []string {
	verdict := map[string]bool{}
	var fit []string
	for _, n := range w.Nodes() {
		d := j.Domain(n)
		if _, asked := verdict[d]; !asked {
			_, verdict[d] = j.Fits(n)
		}
		if verdict[d] {
			fit = append(fit, n.Name)
		}
	}
	slices.Sort(fit)
	return fit
}

func app(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app") }

func key(t *rapid.T) string { return rapid.SampledFrom([]string{zone, host}).Draw(t, "key") }

// others draws whom a pod's terms are about; see selects.
func others(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "a", "b", "a|b", "b|c", "!a", "?", "*", "-"}).Draw(t, "others")
}

// drawAsks draws what a pod asks of others.
func drawAsks(t *rapid.T) []func(*corev1.Pod) {
	var edits []func(*corev1.Pod)
	for _, ask := range []func() func(*corev1.Pod){
		func() func(*corev1.Pod) { return near(others(t), key(t)) },
		func() func(*corev1.Pod) { return apart(others(t), key(t)) },
		func() func(*corev1.Pod) { return apart(others(t), key(t)) },
		func() func(*corev1.Pod) { return spread(others(t), key(t), rapid.Int32Range(1, 2).Draw(t, "skew")) },
		func() func(*corev1.Pod) { return spread(others(t), key(t), 1) },
		func() func(*corev1.Pod) { return port(rapid.Int32Range(1, 2).Draw(t, "port")) },
	} {
		if rapid.IntRange(0, 3).Draw(t, "asks") == 0 {
			edits = append(edits, ask())
		}
	}
	return edits
}

// drawWorld draws nodes in three zones, or in none, with pods on them.
func drawWorld(t *rapid.T) *world {
	w := newWorld(t, nil)
	for i := range rapid.IntRange(1, 7).Draw(t, "nodes") {
		w.node(fmt.Sprintf("n%d", i), rapid.SampledFrom([]string{"x", "y", "z", ""}).Draw(t, "zone"))
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "running") {
		n := rapid.SampledFrom(w.Nodes()).Draw(t, "on")
		w.task(pod(fmt.Sprintf("running-%d", i), app(t), drawAsks(t)...), "", n.Name)
	}
	return w
}

func TestEveryNextPodGoesExactlyWhereKubeSchedulerWouldPutIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for role := range rapid.IntRange(1, 3).Draw(t, "roles") {
			label, asks := app(t), drawAsks(t)
			var tasks []*model.Task
			for i := range rapid.IntRange(1, 6).Draw(t, "tasks") {
				tasks = append(tasks, w.task(pod(fmt.Sprintf("r%d-%d", role, i), label, asks...), "ns/g", ""))
			}
			placeAll(t, w, tasks)
		}
	})
}

// placeAll places tasks of one kind one after the other and compares every step;
// sometimes it takes all back and begins again.
func placeAll(t *rapid.T, w *world, tasks []*model.Task) {
	kind := w.plugin.Kind(tasks[0])
	for _, task := range tasks {
		if k := w.plugin.Kind(task); k != kind {
			t.Fatalf("task %s is of kind %q, the first of %q", task.Name, k, kind)
		}
	}
	if kind == "" {
		if they, all := theirs(t, w, tasks[0].Pod), len(w.Nodes()); len(they) != all {
			t.Fatalf("the task is of no kind, but kube-scheduler puts it on %v only", they)
		}
	}
	for again := true; again; {
		mark := w.Mark()
		j := w.judge(tasks[0])
		for _, task := range tasks {
			they, we := theirs(t, w, task.Pod), ours(w, j)
			if !slices.Equal(they, we) {
				t.Fatalf("kube-scheduler puts %s on %v, we on %v", task.Name, they, we)
			}
			if len(we) == 0 {
				break
			}
			w.put(j, task, w.NodeNamed(rapid.SampledFrom(we).Draw(t, "node")))
		}
		if again = rapid.IntRange(0, 3).Draw(t, "again") == 0; again {
			w.Rollback(mark)
		} else {
			w.Commit()
		}
	}
}

func TestWhatIsPlacedHoldsByPlainCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		before := placed(w)
		label, asks := app(t), drawAsks(t)
		var tasks []*model.Task
		for i := range rapid.IntRange(1, 8).Draw(t, "tasks") {
			tasks = append(tasks, w.task(pod(fmt.Sprintf("t%d", i), label, asks...), "ns/g", ""))
		}
		j := w.judge(tasks[0])
		for _, task := range tasks {
			if fit := ours(w, j); len(fit) > 0 {
				w.put(j, task, w.NodeNamed(fit[0]))
			}
		}
		for task := range maps.Keys(placed(w)) {
			if !before[task] {
				check(t, w, task)
			}
		}
	})
}

func placed(w *world) map[*model.Task]bool {
	set := map[*model.Task]bool{}
	for _, n := range w.Nodes() {
		for _, task := range n.Tasks {
			set[task] = true
		}
	}
	return set
}

func isAbout(term corev1.PodAffinityTerm, p *corev1.Pod) bool {
	s, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	return err == nil && s.Matches(labels.Set(p.Labels))
}

// check recounts everything that a placed task and all others ask of each other.
func check(t *rapid.T, w *world, task *model.Task) {
	together := func(a, b *model.Task, key string) bool {
		v, ok := a.On.Labels[key]
		return ok && b.On.Labels[key] == v
	}
	a := task.Pod.Spec.Affinity
	for other := range placed(w) {
		if other == task {
			continue
		}
		for _, pair := range [][2]*model.Task{{task, other}, {other, task}} {
			for _, term := range fwk.GetPodAntiAffinityTerms(pair[0].Pod.Spec.Affinity) {
				if isAbout(term, pair[1].Pod) && together(pair[0], pair[1], term.TopologyKey) {
					t.Fatalf("%s keeps %s away, both are in one %s", pair[0].Name, pair[1].Name, term.TopologyKey)
				}
			}
		}
		for _, c := range task.Pod.Spec.Containers {
			for _, d := range other.Pod.Spec.Containers {
				if task.On == other.On && c.Ports[0].HostPort == d.Ports[0].HostPort {
					t.Fatalf("%s and %s share a port of node %s", task.Name, other.Name, task.On.Name)
				}
			}
		}
	}
	for _, term := range fwk.GetPodAffinityTerms(a) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(placed(w))), func(o *model.Task) bool {
			return isAbout(term, o.Pod) && together(task, o, term.TopologyKey)
		}) {
			t.Fatalf("%s is not near any %s", task.Name, metav1.FormatLabelSelector(term.LabelSelector))
		}
	}
}

func TestSpreadOverManyDomainsHoldsAfterEveryPlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, nil)
		zones, skew := rapid.IntRange(2, 6).Draw(t, "zones"), rapid.Int32Range(1, 3).Draw(t, "skew")
		for i := range zones * 2 {
			w.node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%zones))
		}
		var tasks []*model.Task
		for i := range 20 {
			tasks = append(tasks, w.task(pod(fmt.Sprintf("t%d", i), "a", spread("a", zone, skew)), "ns/g", ""))
		}
		j := w.judge(tasks[0])
		count := make([]int, zones)
		for i, task := range tasks {
			n := w.NodeNamed(rapid.SampledFrom(ours(w, j)).Draw(t, "node"))
			w.put(j, task, n)
			count[int(n.ID)%zones]++
			if got := slices.Max(count) - slices.Min(count); got > int(skew) {
				t.Fatalf("after %d tasks the zones hold %v, more than %d apart", i+1, count, skew)
			}
		}
	})
}
