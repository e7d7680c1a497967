package resourcequota_test

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/resourcequota"
)

type abilities interface {
	framework.Learns
	framework.VotesOnGangs
}

func build(t interface{ Fatal(...any) }, w *model.World) abilities {
	p, err := resourcequota.New(nil, framework.Env{Dim: w.Resources.Dim})
	if err != nil {
		t.Fatal(err)
	}
	able, ok := p.(abilities)
	if !ok {
		t.Fatal("resourcequota lacks abilities")
	}
	return able
}

// quota bounds namespace ml. Its lists are names and quantities in turn.
func quota(name string, hard, used []string, edits ...func(*corev1.ResourceQuota)) *corev1.ResourceQuota {
	list := func(pairs []string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			l[corev1.ResourceName(pairs[i])] = apiresource.MustParse(pairs[i+1])
		}
		return l
	}
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ml"},
		Spec:       corev1.ResourceQuotaSpec{Hard: list(hard)},
		Status:     corev1.ResourceQuotaStatus{Hard: list(hard), Used: list(used)},
	}
	for _, edit := range edits {
		edit(q)
	}
	return q
}

func gang(w *model.World, key string, least int32, need map[string]int64) (*model.Gang, resource.Vector) {
	w.SetQueue(model.QueueSpec{Name: "default"})
	w.SetGang(model.GangSpec{Key: key, Queue: "default", Min: least, MinResources: resource.ListOf(need)})
	g := w.GangOf(key)
	return g, w.Resources.Vector(g.MinResources)
}

type list = []string

// quotaTest is one gang in a world of quotas.
type quotaTest struct {
	quotas []*corev1.ResourceQuota
	key    string // default: ml/g
	need   map[string]int64
	least  int32
	want   string // empty: no opinion
}

func (tt quotaTest) run(t *testing.T) {
	w := model.New()
	p := build(t, w)
	for _, q := range tt.quotas {
		p.Learn(q, false)
	}
	g, need := gang(w, cmp.Or(tt.key, "ml/g"), tt.least, tt.need)
	vote, why := p.VoteOnGang(g, need)
	if tt.want == "" {
		if vote != framework.Abstain {
			t.Errorf("vote %d: %s", vote, why)
		}
	} else if vote != framework.Refuse || why.String() != tt.want {
		t.Errorf("vote %d\ngot  %s\nwant %s", vote, why, tt.want)
	}
}

func TestWhatAQuotaLeavesBoundsAdmission(t *testing.T) {
	for name, tt := range map[string]quotaTest{
		"no quota": {nil, "", map[string]int64{"cpu": 1 << 40}, 1, ""},
		"just enough is left": {
			[]*corev1.ResourceQuota{quota("q", list{"requests.cpu", "4"}, list{"requests.cpu", "2500m"})},
			"",
			map[string]int64{"cpu": 1500},
			1, "",
		},
		"a thousandth of a core too much": {
			[]*corev1.ResourceQuota{quota("q", list{"requests.cpu", "4"}, list{"requests.cpu", "2500m"})},
			"",
			map[string]int64{"cpu": 1501},
			1, "minResources exceed what ResourceQuota ml/q leaves: requests.cpu needs 1501m, 2500m of 4 used (short 1m)",
		},
		"the short name": {
			[]*corev1.ResourceQuota{quota("q", list{"memory", "4Gi"}, nil)},
			"",
			map[string]int64{"memory": 5 << 30},
			1, "minResources exceed what ResourceQuota ml/q leaves: memory needs 5Gi, 0 of 4Gi used (short 1Gi; more than it ever has)",
		},
		"GPUs": {
			[]*corev1.ResourceQuota{quota("q", list{"requests.nvidia.com/gpu", "8"}, list{"requests.nvidia.com/gpu", "6"})},
			"",
			map[string]int64{"nvidia.com/gpu": 4},
			1, "minResources exceed what ResourceQuota ml/q leaves: requests.nvidia.com/gpu needs 4, 6 of 8 used (short 2)",
		},
		"pods are counted by the minimum": {
			[]*corev1.ResourceQuota{quota("q", list{"pods", "5", "count/pods", "6"}, list{"pods", "2"})},
			"",
			nil, 4, "minResources exceed what ResourceQuota ml/q leaves: pods needs 4, 2 of 5 used (short 1)",
		},
		"what it does not ask for may be used up": {
			[]*corev1.ResourceQuota{quota("q", list{"requests.cpu", "4"}, list{"requests.cpu", "9"})},
			"",
			map[string]int64{"nvidia.com/gpu": 4},
			1, "",
		},
		"limits, claims and other objects are left to the API server": {
			[]*corev1.ResourceQuota{quota("q", list{"limits.cpu", "0", "requests.storage", "0", "count/services", "0", "gold.storageclass.storage.k8s.io/requests.storage", "0"}, nil)},
			"",
			map[string]int64{"cpu": 1000, "storage": 1},
			1, "",
		},
		"another namespace": {
			[]*corev1.ResourceQuota{quota("q", list{"cpu", "0"}, nil)}, "web/g", map[string]int64{"cpu": 1000}, 1, "",
		},
	} {
		t.Run(name, tt.run)
	}
}

func TestOfSeveralQuotasOrOddOnes(t *testing.T) {
	for name, tt := range map[string]quotaTest{
		"the first by name of several, with all it lacks": {
			[]*corev1.ResourceQuota{
				quota("c", list{"cpu", "0"}, nil), quota("b", list{"requests.memory", "1", "cpu", "500m"}, nil), quota("a", list{"cpu", "9"}, nil),
			},
			"",
			map[string]int64{"cpu": 1000, "memory": 2},
			1,
			"minResources exceed what ResourceQuota ml/b leaves: cpu needs 1, 0 of 500m used (short 500m; more than it ever has); requests.memory needs 2, 0 of 1 used (short 1; more than it ever has)",
		},
		"what the owner wants now": {
			[]*corev1.ResourceQuota{quota("q", list{"cpu", "2"}, nil, func(q *corev1.ResourceQuota) { q.Status.Hard = nil })},
			"",
			map[string]int64{"cpu": 3000},
			1, "minResources exceed what ResourceQuota ml/q leaves: cpu needs 3, 0 of 2 used (short 1; more than it ever has)",
		},
		"amounts beyond their range": {
			[]*corev1.ResourceQuota{quota("q", list{"memory", "16Ei"}, list{"memory", "16Ei"})},
			"",
			map[string]int64{"memory": 1 << 62},
			1, "",
		},
	} {
		t.Run(name, tt.run)
	}
}

func TestQuotasComeChangeAndGo(t *testing.T) {
	w := model.New()
	p := build(t, w)
	g, need := gang(w, "ml/g", 1, map[string]int64{"cpu": 4000})
	steps := []struct {
		name  string
		learn func()
		want  framework.Vote
	}{
		{"too small", func() { p.Learn(quota("q", []string{"cpu", "3"}, nil), false) }, framework.Refuse},
		{"a pod is not a quota", func() { p.Learn(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ml"}}, true) }, framework.Refuse},
		{"raised", func() { p.Learn(quota("q", []string{"cpu", "4"}, nil), false) }, framework.Abstain},
		{"used", func() { p.Learn(quota("q", []string{"cpu", "4"}, []string{"cpu", "1"}), false) }, framework.Refuse},
		{"gone", func() { p.Learn(quota("q", nil, nil), true) }, framework.Abstain},
		{"gone again", func() { p.Learn(quota("q", nil, nil), true) }, framework.Abstain},
		{"back", func() { p.Learn(quota("q", []string{"pods", "0"}, nil), false) }, framework.Refuse},
		{"given scopes", func() {
			p.Learn(quota("q", []string{"pods", "0"}, nil, func(q *corev1.ResourceQuota) {
				q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
			}), false)
		}, framework.Abstain},
	}
	for _, s := range steps {
		s.learn()
		if vote, why := p.VoteOnGang(g, need); vote != s.want {
			t.Fatalf("%s: vote %d (%s), want %d", s.name, vote, why, s.want)
		}
	}
}

func TestAQuotaWithScopesIsLeftToTheAPIServer(t *testing.T) {
	for name, edit := range map[string]func(*corev1.ResourceQuota){
		"scopes": func(q *corev1.ResourceQuota) {
			q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
		},
		"scope selector": func(q *corev1.ResourceQuota) { q.Spec.ScopeSelector = &corev1.ScopeSelector{} },
	} {
		w := model.New()
		p := build(t, w)
		p.Learn(quota("q", []string{"cpu", "0"}, nil, edit), false)
		g, need := gang(w, "ml/g", 1, map[string]int64{"cpu": 1000})
		if vote, why := p.VoteOnGang(g, need); vote != framework.Abstain {
			t.Errorf("%s: vote %d: %s", name, vote, why)
		}
	}
}

func TestPodsThatExistAreNotCountedTwice(t *testing.T) {
	w := model.New()
	p := build(t, w)
	p.Learn(quota("q", []string{"cpu", "4", "pods", "4"}, []string{"cpu", "3", "pods", "3"}), false)
	g, need := gang(w, "ml/g", 4, map[string]int64{"cpu": 4000})
	if vote, _ := p.VoteOnGang(g, need); vote != framework.Refuse {
		t.Fatal("four pods were let in where one has room")
	}
	one := model.Shape{Key: "one", Requests: resource.ListOf(map[string]int64{"cpu": 1000, "pods": 1})}
	for _, uid := range []string{"a", "b", "c"} {
		w.SetTask(model.TaskSpec{UID: uid, Gang: "ml/g", Shape: one})
	}
	if vote, why := p.VoteOnGang(g, need); vote != framework.Abstain {
		t.Fatalf("the last pod was refused: %s", why)
	}
	w.SetTask(model.TaskSpec{UID: "c", Gang: "ml/g", Shape: one, Ended: model.Failed})
	if vote, _ := p.VoteOnGang(g, need); vote != framework.Refuse {
		t.Fatal("a pod that ended counts as one that is still to come")
	}
}

func TestWhatWasLetThroughIsNotGivenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := model.New()
		p := build(t, w)
		hard := rapid.Int64Range(0, 20).Draw(t, "hard")
		p.Learn(quota("q", []string{"x/y", "0", "requests.x/y", apiresource.NewQuantity(hard, apiresource.DecimalSI).String()}, nil), false)
		held := map[*model.Gang]int64{}
		sum := func() (n int64) {
			for _, v := range held {
				n += v
			}
			return n
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			want := rapid.Int64Range(0, 8).Draw(t, "need")
			g, need := gang(w, "ml/"+rapid.StringMatching("[a-f]").Draw(t, "gang"), 1, map[string]int64{"x/y": want})
			w.Promise(g, nil)
			delete(held, g)
			vote, _ := p.VoteOnGang(g, need)
			if fits := want == 0 || sum()+want <= hard; fits != (vote == framework.Abstain) {
				t.Fatalf("vote %d with %d of %d promised, for %d", vote, sum(), hard, want)
			}
			if vote == framework.Abstain && rapid.Bool().Draw(t, "nobody else objects") {
				w.Promise(g, need)
				held[g] = want
			}
		}
	})
}

func TestItHasNoArguments(t *testing.T) {
	if _, err := resourcequota.New(framework.Args{"hard": 1}, framework.Env{}); err == nil {
		t.Error("an argument was accepted")
	}
}
