package live

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/plugins"
	"github.com/muster-sh/muster/pkg/scheduler/record"
)

func TestTimeGoesOnWhateverTheClockSays(t *testing.T) {
	noon := time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		now    time.Time
		passed time.Duration
		clock  time.Time
		want   time.Time
	}{
		"at the start":                  {time.Time{}, 0, noon, noon},
		"as the clock goes":             {noon, time.Second, noon.Add(time.Second), noon.Add(time.Second)},
		"the clock is set an hour on":   {noon, time.Second, noon.Add(time.Hour), noon.Add(time.Hour)},
		"the clock is set an hour back": {noon, time.Second, noon.Add(-time.Hour), noon.Add(time.Second)},
	} {
		if got := later(tt.now, tt.passed, tt.clock); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestAnObjectMadeAnewUnderItsNameIsAnother(t *testing.T) {
	pod := func(uid string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: types.UID(uid)}}
	}
	if !replaced(pod("1"), pod("2")) || replaced(pod("1"), pod("1")) {
		t.Error("pods are told apart by their UID")
	}
}

func TestOnlyNewsIsLogged(t *testing.T) {
	s := &Scheduler{waiting: map[string]reason.Reason{}}
	s.binder, s.statuses, s.announcer, s.nominator = newBinder(s), newStatusWriter(s), newAnnouncer(s), newNominator(s)
	status := func(phase model.Phase, held, running int32, waits bool) engine.Decision {
		return engine.Status{Gang: "ml/a", UID: "u", Phase: phase, Held: held, Min: 2, Running: running, Waits: waits}
	}
	refuse := func(code reason.Code, short int64) engine.Decision {
		return engine.Refuse{Gang: "ml/a", UID: "u", Why: reason.Reason{Code: code, Need: short}}
	}
	for _, step := range []struct {
		said []engine.Decision
		want []string // at the level of news
	}{
		{[]engine.Decision{refuse(reason.NotEnoughNodes, 2), status(model.Pending, 0, 0, true)}, []string{"PodGroup ml/a is pending reason: insufficient resources", "PodGroup ml/a is pending"}},
		{[]engine.Decision{refuse(reason.NotEnoughNodes, 1)}, nil},
		{[]engine.Decision{status(model.Pending, 1, 0, true)}, nil},
		{[]engine.Decision{refuse(reason.QueueClosed, 1)}, []string{"PodGroup ml/a is pending reason: QueueClosed"}},
		{[]engine.Decision{status(model.Running, 2, 1, false)}, []string{"PodGroup ml/a is running"}},
		{[]engine.Decision{status(model.Running, 2, 2, false), status(model.Running, 3, 2, true)}, nil},
		{[]engine.Decision{engine.Refuse{Task: "ml/p", UID: "p", Why: reason.Reason{Code: reason.NoGang}}}, []string{"pod has no PodGroup"}},
		{[]engine.Decision{engine.Refuse{Task: "ml/p", UID: "p", Gang: "ml/a", Why: reason.Reason{Code: reason.GangFound}}}, nil},
	} {
		var got []string
		log := funcr.NewJSON(func(text string) { got = append(got, text) }, funcr.Options{})
		s.dispatch(logr.NewContext(t.Context(), log), engine.Report{Decisions: step.said})
		for i := range got {
			_, rest, _ := strings.Cut(got[i], `"msg":"`)
			got[i], _, _ = strings.Cut(rest, `"`)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%+v: logged %q, want %q", step.said, got, step.want)
		}
	}
}

// TestGangsAndPodsAreTimed: how long gangs wait, and how long they and their pods took, as
// far as that was seen.
func TestGangsAndPodsAreTimed(t *testing.T) {
	s := offline(t)
	s.known = map[types.UID]*schedulingv1beta1.PodGroup{}
	s.options.SchedulerNames = []string{"volcano"}
	var took []string
	s.options.Took = func(span Span, of string, d time.Duration) {
		took = append(took, fmt.Sprint(span, of, " ", d.Round(time.Minute)))
	}
	made := metav1.NewTime(time.Now().Add(-time.Hour))
	job := metav1.OwnerReference{Kind: "Job", Name: "bert", Controller: new(true)}
	for _, uid := range []types.UID{"new", "old"} {
		s.known[uid] = &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: string(uid), UID: uid, CreationTimestamp: made, OwnerReferences: []metav1.OwnerReference{job}},
			Spec:       schedulingv1beta1.PodGroupSpec{Queue: "q"},
		}
	}
	status := func(uid string, phase model.Phase, running int32, whole bool) engine.Decision {
		return engine.Status{Gang: "ml/" + uid, UID: uid, Phase: phase, Min: 2, Waiting: 3, Running: running, Whole: whole, Waits: !whole}
	}
	tell := func(said ...engine.Decision) { s.dispatch(t.Context(), engine.Report{Decisions: said}) }
	stand := func(want ...GangUse) {
		t.Helper()
		got := s.gangs(time.Now())
		slices.SortFunc(got, func(a, b GangUse) int { return strings.Compare(a.Name, b.Name) })
		for i := range got {
			got[i].Pending, got[i].Placed = got[i].Pending.Round(time.Minute), got[i].Placed.Round(time.Minute)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: "p", CreationTimestamp: made}, Spec: corev1.PodSpec{SchedulerName: "volcano"}}
	bound := engine.Bind{UID: "p", Name: "ml/p", Gang: "ml/new", Node: "n"}
	s.pod(pod, false)
	s.pod(pod, false) // it was seen before
	tell(engine.Refuse{Gang: "ml/new", UID: "new", Why: reason.Reason{Code: reason.NotEnoughNodes}}, status("new", model.Pending, 0, false), status("old", model.Running, 2, true))
	old := GangUse{Namespace: "ml", Name: "old", Queue: "q", Job: "bert"}
	stand(GangUse{Namespace: "ml", Name: "new", Queue: "q", Job: "bert", Pending: time.Hour, Waiting: 3, Told: 1}, old)
	tell(bound, status("new", model.Inqueue, 0, true))
	tell(status("new", model.Running, 2, true))
	tell(status("new", model.Unknown, 1, false), status("new", model.Unknown, 1, true)) // how long it took to be whole again is another thing
	stand(GangUse{Namespace: "ml", Name: "new", Queue: "q", Job: "bert", Told: 1, Placed: time.Hour}, old)
	pod.Spec.NodeName = "n"
	s.pod(pod, false) // the watch may be faster than the answer
	s.announcer.bound(bound)
	s.announcer.bound(bound) // it is not followed any more
	var want []string
	for _, span := range []Span{Watched, Assumed, Placing, Bound} {
		want = append(want, fmt.Sprint(span, " ", time.Hour))
	}
	if diff := cmp.Diff(want, took); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestACycleIsTimed in all and in its parts, which are all done.
func TestACycleIsTimed(t *testing.T) {
	s := offline(t)
	told := map[string]int{}
	s.options.Took = func(span Span, of string, _ time.Duration) { told[fmt.Sprint(span, of)]++ }
	s.cycle(t.Context(), nil, time.Now())
	want := map[string]int{fmt.Sprint(Opening): 1}
	for _, name := range []string{"overcommit", "drf", "proportion", "network-topology-aware"} {
		want[fmt.Sprint(Beginning, name)] = 1
	}
	for _, name := range []string{"enqueue", "allocate", "backfill"} {
		want[fmt.Sprint(Acting, name)] = 1
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTransactionsAreCountedOnceForEachGang: however many pods had to go for it.
func TestTransactionsAreCountedOnceForEachGang(t *testing.T) {
	evict := func(by string, code reason.Code) engine.Decision {
		return engine.Evict{For: by, Why: reason.Reason{Code: code}}
	}
	var s Snapshot
	s.transacted([]engine.Decision{evict("a", reason.Preempted), evict("a", reason.Preempted), evict("a", reason.Reclaimed)})
	before := s
	s.transacted([]engine.Decision{evict("a", reason.Swapped), evict("", reason.Shuffled), evict("b", reason.Unrepaired)})
	want := map[string]int64{"preempt": 2, "reclaim": 1, "shuffle": 1, "repair": 1}
	if diff := cmp.Diff(want, s.Transactions); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if before.Transactions["preempt"] != 1 {
		t.Errorf("a snapshot that was handed out has changed: %v", before.Transactions)
	}
}

// TestNodesAndPodsAreChosen by the labels and the names of schedulers that were given.
func TestNodesAndPodsAreChosen(t *testing.T) {
	labels := map[string]string{"pool": "ai", "zone": "a"}
	for _, tt := range []struct {
		selectors []string
		uses      bool
	}{
		{nil, true},
		{[]string{"pool:ai"}, true},
		{[]string{"pool:web", "zone:a"}, true}, // any will do
		{[]string{"pool:web"}, false},
		{[]string{"gpu:"}, false}, // it has no such label
	} {
		s := &Scheduler{options: Options{Nodes: tt.selectors}}
		if got := s.uses(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}); got != tt.uses {
			t.Errorf("%q: used: %v, want %v", tt.selectors, got, tt.uses)
		}
	}
	s := &Scheduler{options: Options{SchedulerNames: []string{"volcano", "muster"}}}
	if !s.answersTo("volcano") || !s.answersTo("muster") || s.answersTo("default-scheduler") {
		t.Error("it answers to others, or not to both of its names")
	}
}

// TestFiguresAreMadeForWhoLooks, in the next cycle, and not for nobody.
func TestFiguresAreMadeForWhoLooks(t *testing.T) {
	s := offline(t)
	var snapshot Snapshot
	told := append(pods(3, 1), engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, fourGPUs(), group(3))
	s.cycle(t.Context(), told, time.Now())
	if s.publish(&snapshot); len(snapshot.Figures.Shares) != 0 {
		t.Errorf("figures for nobody: %+v", snapshot.Figures)
	}
	s.Last()
	if s.publish(&snapshot); len(snapshot.Figures.Shares) != 1 || snapshot.Figures.Shares[0].Share != 0.75 {
		t.Errorf("%+v", snapshot.Figures)
	}
	if got := s.Last(); len(got.Figures.Shares) != 1 {
		t.Errorf("the last snapshot says %+v", got.Figures)
	}
}

func fourGPUs() engine.Event {
	return engine.NodeSet{Node: model.NodeSpec{Name: "n", Allocatable: resource.ListOf(map[string]int64{"nvidia.com/gpu": 4})}}
}

// TestWhatIsDumpedIsARecording, which tells another engine all that this one knows.
func TestWhatIsDumpedIsARecording(t *testing.T) {
	s := offline(t)
	told := append(pods(2, 3), engine.QueueSet{Queue: model.QueueSpec{Name: "q"}}, fourGPUs(), group(3))
	s.cycle(t.Context(), told, time.Now())
	dumped := make(chan []byte)
	s.dump(t.Context(), func(text []byte) { dumped <- text })
	text := <-dumped
	parse := func(text string) (engine.Config, error) {
		return conf.Parse([]byte(text), actions.Builtin(), plugins.Builtin())
	}
	got, err := record.Replay(bytes.NewReader(text), parse, plugins.Builtin())
	if err != nil || got.Events != len(told) {
		t.Errorf("%+v, %v; want %d events, in\n%s", got, err, len(told), text)
	}
}
