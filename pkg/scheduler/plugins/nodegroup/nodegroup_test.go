package nodegroup_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/nodegroup"
)

// judges is what the plugin can do.
type judges interface {
	framework.Begins
	framework.JudgesTasks
}

func build(t interface{ Fatal(...any) }, args framework.Args, queues ...model.QueueSpec) (judges, *model.World) {
	p, err := nodegroup.New(args, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	j, ok := p.(judges)
	if !ok {
		t.Fatal("nodegroup judges no tasks")
	}
	w := model.New()
	for _, q := range queues {
		w.SetQueue(q)
	}
	j.Begin(w, time.Time{})
	return j, w
}

func node(group string) *model.Node {
	if group == "" {
		return &model.Node{}
	}
	return &model.Node{Labels: map[string]string{"volcano.sh/nodegroup-name": group}}
}

func TestAQueueRunsWhereItsAffinitySays(t *testing.T) {
	soft := framework.Args{"strict": "false"}
	ordered := framework.Args{"enablePreferredOrder": true}
	must, should := model.NodeGroups{Required: []string{"a", "b"}}, model.NodeGroups{Preferred: []string{"a", "b", "c", "d"}}
	mustNot, shouldNot := model.NodeGroups{AntiRequired: []string{"a"}}, model.NodeGroups{AntiPreferred: []string{"a"}}
	const no = -1 << 40
	tests := map[string]struct {
		args   framework.Args
		groups model.NodeGroups
		node   string
		score  int64  // in points; no when it does not fit
		cause  string // why not
	}{
		"a group it must be in":                       {nil, must, "a", 100, ""},
		"a group it does not name":                    {nil, must, "x", no, "in node group x (queue q does not name it)"},
		"a node in no group":                          {nil, must, "", no, "in no node group (queue q needs one)"},
		"a node in no group, when it must be in one":  {soft, must, "", no, "in no node group (queue q needs one)"},
		"a group it should be in":                     {nil, should, "c", 50, ""},
		"the first it should be in":                   {ordered, should, "a", 50, ""},
		"a later one it should be in":                 {ordered, should, "c", 25, ""},
		"beside those it should be in":                {nil, should, "x", no, "in node group x (queue q does not name it)"},
		"soft wishes, and a node in no group":         {soft, should, "", 0, ""},
		"strict, soft wishes and a node in no group":  {nil, should, "", no, "in no node group (queue q needs one)"},
		"a group it must not be in":                   {nil, mustNot, "a", no, "in node group a (queue q must not use it)"},
		"any other than those it must not be in":      {nil, mustNot, "x", 0, ""},
		"a group it should not be in":                 {nil, shouldNot, "a", -1, ""},
		"any other than those it should not be in":    {nil, shouldNot, "x", 0, ""},
		"must and should add up":                      {nil, model.NodeGroups{Required: []string{"a"}, Preferred: []string{"a"}}, "a", 150, ""},
		"should does not widen must":                  {nil, model.NodeGroups{Required: []string{"a"}, Preferred: []string{"b"}}, "b", no, "in node group b (queue q does not name it)"},
		"must not wins over must":                     {nil, model.NodeGroups{Required: []string{"a", "b"}, AntiRequired: []string{"a"}}, "a", no, "in node group a (queue q must not use it)"},
		"should not does not soften must not":         {nil, model.NodeGroups{AntiRequired: []string{"a"}, AntiPreferred: []string{"a"}}, "a", no, "in node group a (queue q must not use it)"},
		"a last resort beside what it should be in":   {nil, model.NodeGroups{Preferred: []string{"a"}, AntiPreferred: []string{"b"}}, "b", -1, ""},
		"no affinity, and a node in no group":         {soft, model.NodeGroups{}, "", 0, ""},
		"no affinity, and a node in somebody's group": {soft, model.NodeGroups{}, "a", no, "in node group a (queue q does not name it)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, w := build(t, tt.args, model.QueueSpec{Name: "q", Groups: tt.groups})
			task := &model.Task{Gang: &model.Gang{Queue: w.QueueNamed("q")}}
			j, why, ok := p.Judge(task)
			if !ok {
				t.Fatalf("no node would do: %s", why)
			}
			n := node(tt.node)
			cause, fits := j.Fits(n)
			if cause != tt.cause || fits != (tt.score != no) {
				t.Fatalf("fits %v, cause %q, want %q", fits, cause, tt.cause)
			}
			if got := j.Score(n); fits && got != tt.score*framework.Point {
				t.Errorf("score %d, want %d points", got, tt.score)
			}
		})
	}
}

func TestAQueueTakesOverWhatIsSaidAboveIt(t *testing.T) {
	in := func(name, parent string, groups ...string) model.QueueSpec {
		return model.QueueSpec{Name: name, Parent: parent, Groups: model.NodeGroups{Required: groups}}
	}
	tests := map[string]struct {
		args   framework.Args
		queues []model.QueueSpec
		want   string // the one group of "q"; empty: it is refused
	}{
		"its own counts first":           {framework.Args{"enableHierarchy": true}, []model.QueueSpec{in("root", "", "r"), in("q", "root", "a")}, "a"},
		"then the nearest one's":         {framework.Args{"enableHierarchy": true}, []model.QueueSpec{in("root", "", "r"), in("mid", "root", "m"), in("low", "mid"), in("q", "low")}, "m"},
		"up to the top":                  {framework.Args{"enableHierarchy": true}, []model.QueueSpec{in("root", "", "r"), in("q", "root")}, "r"},
		"not unless it is switched on":   {nil, []model.QueueSpec{in("root", "", "r"), in("q", "root")}, ""},
		"nobody names any":               {framework.Args{"enableHierarchy": true}, []model.QueueSpec{in("root", ""), in("q", "root")}, ""},
		"a circle ends":                  {framework.Args{"enableHierarchy": true}, []model.QueueSpec{in("p", "q"), in("q", "p")}, ""},
		"a parent that is not there yet": {framework.Args{"enableHierarchy": true}, []model.QueueSpec{in("q", "p")}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, w := build(t, tt.args, tt.queues...)
			j, why, ok := p.Judge(&model.Task{Gang: &model.Gang{Queue: w.QueueNamed("q")}})
			if ok != (tt.want != "") {
				t.Fatalf("judged %v: %s", ok, why)
			}
			const words = `Queue "q": spec.affinity is unset: name the groups of nodes that it may use, or give the plugin nodegroup the argument strict: false`
			if !ok && why.String() != words {
				t.Errorf("told %q, want %q", why, words)
			}
			for _, group := range []string{"a", "m", "r", "x", ""} {
				if !ok {
					break
				}
				if _, fits := j.Fits(node(group)); fits != (group == tt.want) {
					t.Errorf("group %q fits: %v", group, fits)
				}
			}
		})
	}
}

func TestHardWishesHoldWhateverElseIsWished(t *testing.T) {
	names := []string{"a", "b", "c"}
	some := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		groups := model.NodeGroups{
			Required: some.Draw(t, "required"), Preferred: some.Draw(t, "preferred"),
			AntiRequired: some.Draw(t, "not required"), AntiPreferred: some.Draw(t, "not preferred"),
		}
		args := framework.Args{"strict": rapid.Bool().Draw(t, "strict"), "enablePreferredOrder": rapid.Bool().Draw(t, "ordered")}
		p, w := build(t, args, model.QueueSpec{Name: "q", Groups: groups})
		j, _, ok := p.Judge(&model.Task{Gang: &model.Gang{Queue: w.QueueNamed("q")}})
		if !ok {
			return
		}
		for _, group := range append(names, "") {
			_, fits := j.Fits(node(group))
			must, mustNot := slices.Contains(groups.Required, group), slices.Contains(groups.AntiRequired, group)
			if fits && (mustNot || (len(groups.Required) > 0 && !must)) {
				t.Errorf("group %q is open", group)
			}
			if !fits && must && !mustNot {
				t.Errorf("group %q is closed", group)
			}
		}
	})
}

func TestNodesOfAGroupAreOneDomain(t *testing.T) {
	p, w := build(t, nil, model.QueueSpec{Name: "q", Groups: model.NodeGroups{Required: []string{"a"}}})
	j, _, ok := p.Judge(&model.Task{Gang: &model.Gang{Queue: w.QueueNamed("q")}})
	one, other := node("a"), node("a")
	if !ok || j.Domain(one) != j.Domain(other) || j.Domain(one) == j.Domain(node("")) {
		t.Error("domains are not the groups")
	}
}

func TestTasksWithoutAQueueAreNotJudged(t *testing.T) {
	p, _ := build(t, nil)
	if kind := p.Kind(&model.Task{}) + p.Kind(&model.Task{Gang: &model.Gang{}}); kind != "" {
		t.Errorf("kind %q, want none", kind)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for _, args := range []framework.Args{{"strict": "perhaps"}, {"strikt": true}} {
		if _, err := nodegroup.New(args, framework.Env{}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
