package tasktopology_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/tasktopology"
)

const (
	affinity     = "volcano.sh/task-topology-affinity"
	antiAffinity = "volcano.sh/task-topology-anti-affinity"
	taskOrder    = "volcano.sh/task-topology-task-order"
)

type annotations = map[string]string

// able is what the plugin can do.
type able interface {
	framework.Begins
	framework.OrdersTasks
	framework.JudgesTasks
	framework.Notices
}

func build(t interface{ Fatal(...any) }, args framework.Args) able {
	p, err := tasktopology.New(args, framework.Env{})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := p.(able)
	if !ok {
		t.Fatal("task-topology lacks an ability")
	}
	return a
}

// gang makes a gang of one waiting task for each role, and further tasks of roles on nodes.
func gang(wish annotations, roles []string, placed map[string][]*model.Node) *model.Gang {
	g := &model.Gang{GangSpec: model.GangSpec{Annotations: wish}}
	for _, role := range roles {
		g.Roles = append(g.Roles, model.Role{Name: role})
		g.Tasks = append(g.Tasks, &model.Task{TaskSpec: model.TaskSpec{Role: role}, Gang: g})
		for _, n := range placed[role] {
			g.Tasks = append(g.Tasks, &model.Task{TaskSpec: model.TaskSpec{Role: role}, Gang: g, Bucket: model.Bound, On: n})
		}
	}
	return g
}

func waiting(g *model.Gang, role string) *model.Task {
	return g.Tasks[slices.IndexFunc(g.Tasks, func(t *model.Task) bool { return t.Role == role && t.On == nil })]
}

func nodes(n int) []*model.Node {
	var list []*model.Node
	for i := range n {
		list = append(list, &model.Node{ID: model.NodeID(i), Name: fmt.Sprint("n", i)})
	}
	return list
}

func TestANodeIsScoredByWhoIsThere(t *testing.T) {
	n := nodes(3)
	a, b := n[0], n[1]
	tests := map[string]struct {
		wish   annotations
		placed map[string][]*model.Node
		role   string
		want   [3]int64 // points of the three nodes; all 0 when the role is not judged
	}{
		"nobody is placed yet":                {annotations{affinity: "ps,worker"}, nil, "worker", [3]int64{}},
		"near a role":                         {annotations{affinity: "ps,worker"}, map[string][]*model.Node{"ps": {a}}, "worker", [3]int64{100, 0, 0}},
		"the other way round":                 {annotations{affinity: "ps,worker"}, map[string][]*model.Node{"worker": {a}}, "ps", [3]int64{100, 0, 0}},
		"more of them count more":             {annotations{affinity: "ps,worker"}, map[string][]*model.Node{"worker": {a, a, b}}, "ps", [3]int64{100, 50, 0}},
		"a pair says nothing of each alone":   {annotations{affinity: "ps,worker"}, map[string][]*model.Node{"worker": {a}}, "worker", [3]int64{}},
		"near itself":                         {annotations{affinity: "worker"}, map[string][]*model.Node{"worker": {b}}, "worker", [3]int64{0, 100, 0}},
		"apart from itself":                   {annotations{antiAffinity: "ps"}, map[string][]*model.Node{"ps": {b}}, "ps", [3]int64{0, -100, 0}},
		"near one, apart from another":        {annotations{affinity: "ps,worker", antiAffinity: "worker,chief"}, map[string][]*model.Node{"ps": {a, b}, "chief": {b, b}}, "worker", [3]int64{100, -100, 0}},
		"every pair of a group":               {annotations{affinity: "ps,worker,chief"}, map[string][]*model.Node{"ps": {a}, "chief": {b}}, "worker", [3]int64{100, 100, 0}},
		"a pair wished twice counts twice":    {annotations{affinity: "ps,worker;worker,ps;chief,worker"}, map[string][]*model.Node{"ps": {a}, "chief": {b}}, "worker", [3]int64{100, 50, 0}},
		"together and apart cancel out":       {annotations{affinity: "ps,worker", antiAffinity: "worker,ps"}, map[string][]*model.Node{"ps": {a}}, "worker", [3]int64{}},
		"what is understood counts":           {annotations{affinity: "ps,wroker;ps,worker"}, map[string][]*model.Node{"ps": {a}}, "worker", [3]int64{100, 0, 0}},
		"a remnant of a pair means nothing":   {annotations{affinity: "ps,wroker"}, map[string][]*model.Node{"ps": {a}}, "ps", [3]int64{}},
		"a role without wishes":               {annotations{affinity: "ps,worker"}, map[string][]*model.Node{"ps": {a}}, "chief", [3]int64{}},
		"no wishes at all":                    {annotations{"volcano.sh/other": "x"}, map[string][]*model.Node{"ps": {a}}, "ps", [3]int64{}},
		"blanks and empty groups are ignored": {annotations{affinity: " ps , worker ;; "}, map[string][]*model.Node{"ps": {a}}, "worker", [3]int64{100, 0, 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := build(t, nil)
			task := waiting(gang(tt.wish, []string{"ps", "worker", "chief"}, tt.placed), tt.role)
			var got [3]int64
			if p.Kind(task) != "" {
				j, why, ok := p.Judge(task)
				if !ok {
					t.Fatalf("refused: %s", why)
				}
				for i := range got {
					got[i] = j.Score(n[i]) / framework.Point
				}
			}
			if got != tt.want {
				t.Errorf("scores %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWhatIsPlacedInTheAttemptCounts(t *testing.T) {
	n := nodes(3)
	g := gang(annotations{antiAffinity: "worker"}, []string{"worker"}, nil)
	j, _, _ := build(t, framework.Args{"task-topology.weight": "2"}).Judge(waiting(g, "worker"))
	for i, want := range []int64{0, -200, -200} {
		if got := j.Score(n[0]) / framework.Point; got != want {
			t.Errorf("after %d placements %d points, want %d", i, got, want)
		}
		j.Placed(nil, n[min(i, 1)])
	}
	if got := j.Score(n[2]); got != 0 {
		t.Errorf("a node without any has %d", got)
	}
}

func TestNodesOfADomainScoreAlikeAsTasksArePlaced(t *testing.T) {
	roles := []string{"a", "b", "c"}
	list := rapid.SliceOfN(rapid.SampledFrom(roles), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		n := nodes(4)
		text := func(label string) string {
			var text string
			for _, group := range rapid.SliceOfN(list, 0, 3).Draw(t, label) {
				for _, role := range group {
					text += role + ","
				}
				text += ";"
			}
			return text
		}
		placed := map[string][]*model.Node{}
		for _, role := range roles {
			placed[role] = rapid.SliceOfN(rapid.SampledFrom(n), 0, 5).Draw(t, "nodes of "+role)
		}
		task := waiting(gang(annotations{affinity: text("together"), antiAffinity: text("apart")}, roles, placed), "a")
		p := build(t, nil)
		if p.Kind(task) == "" {
			return
		}
		j, _, _ := p.Judge(task)
		domains := map[string][]*model.Node{}
		for _, node := range n {
			domains[j.Domain(node)] = append(domains[j.Domain(node)], node)
		}
		for range 4 {
			for name, members := range domains {
				for _, node := range members {
					got := j.Score(node)
					if got != j.Score(members[0]) || got < -framework.FullScore || got > framework.FullScore {
						t.Fatalf("domain %s: %s scores %d, %s scores %d", name, node.Name, got, members[0].Name, j.Score(members[0]))
					}
				}
			}
			j.Placed(task, rapid.SampledFrom(n).Draw(t, "placed on"))
		}
	})
}

func TestTasksAreOrderedByRole(t *testing.T) {
	tests := map[string]struct {
		wish annotations
		want []string
	}{
		"as task-order says":                 {annotations{taskOrder: "e,d,c,b,a"}, []string{"e", "d", "c", "b", "a"}},
		"those it names before others":       {annotations{taskOrder: "d"}, []string{"d", "a", "b", "c", "e"}},
		"else those hard to place first":     {annotations{affinity: "b;c,d", antiAffinity: "e;a,b"}, []string{"e", "c", "d", "b", "a"}},
		"the hardest of several counts":      {annotations{affinity: "c", antiAffinity: "c;a,e"}, []string{"c", "a", "e", "b", "d"}},
		"without wishes, as they came":       {nil, []string{"a", "b", "c", "d", "e"}},
		"what is not understood is no order": {annotations{taskOrder: "e,x,e,d"}, []string{"e", "d", "a", "b", "c"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := build(t, nil)
			tasks := slices.Clone(gang(tt.wish, []string{"a", "b", "c", "d", "e"}, nil).Tasks)
			slices.SortStableFunc(tasks, p.CompareTasks)
			var got []string
			for _, task := range tasks {
				got = append(got, task.Role)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTasksOfTwoGangsAreNotCompared(t *testing.T) {
	wish := annotations{taskOrder: "a,b"}
	a, b := gang(wish, []string{"a"}, nil), gang(wish, []string{"b"}, nil)
	if got := build(t, nil).CompareTasks(a.Tasks[0], b.Tasks[0]); got != 0 {
		t.Errorf("compared as %d", got)
	}
}

func TestWhatIsLeftOutIsTold(t *testing.T) {
	tests := map[string]struct {
		wish  annotations
		roles []string
		want  []string
	}{
		"all is well": {annotations{affinity: "ps,worker", antiAffinity: "ps", taskOrder: "ps,worker"}, []string{"ps", "worker"}, nil},
		"an unknown role": {annotations{affinity: "ps,wroker"}, []string{"ps", "worker"}, []string{
			`volcano.sh/task-topology-affinity names role "wroker", which the PodGroup does not have: did you mean "worker"?`,
		}},
		"an unknown role like none": {annotations{taskOrder: "x"}, []string{"ps", "worker"}, []string{
			`volcano.sh/task-topology-task-order names role "x", which the PodGroup does not have: its roles are ps, worker`,
		}},
		"a role twice in a group": {annotations{antiAffinity: "ps,ps"}, []string{"ps"}, []string{
			`volcano.sh/task-topology-anti-affinity names role "ps" twice in "ps,ps": name it once`,
		}},
		"a role in two groups": {annotations{affinity: "ps,worker;ps,chief"}, []string{"ps", "worker", "chief"}, nil},
		"a pair together and apart": {annotations{affinity: "ps,worker;ps", antiAffinity: "worker,ps;ps"}, []string{"ps", "worker"}, []string{
			`volcano.sh/task-topology-affinity and volcano.sh/task-topology-anti-affinity both speak of "ps" with "worker", which cancels out: take it out of one of them`,
			`volcano.sh/task-topology-affinity and volcano.sh/task-topology-anti-affinity both speak of "ps" with itself, which cancels out: take it out of one of them`,
		}},
		"before any role is known": {annotations{affinity: "ps,worker"}, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, build(t, nil).Notices(gang(tt.wish, tt.roles, nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAChangedAnnotationIsReadAnew(t *testing.T) {
	p := build(t, nil)
	g := gang(annotations{taskOrder: "a,b"}, []string{"a", "b"}, nil)
	before := p.CompareTasks(g.Tasks[0], g.Tasks[1])
	g.Annotations = annotations{taskOrder: "b,a"}
	if after := p.CompareTasks(g.Tasks[0], g.Tasks[1]); before != -1 || after != 1 {
		t.Errorf("before %d, after %d, want -1 and 1", before, after)
	}
}

// TestLongAnnotationsAreReadInProportion reads what takes long, and says much, if every pair
// of roles, groups and faults is looked at.
func TestLongAnnotationsAreReadInProportion(t *testing.T) {
	roles := make([]string, 1500)
	for i := range roles {
		roles[i] = "r" + strconv.Itoa(i)
	}
	one, each := strings.Join(roles, ","), strings.Join(roles, ";")
	for name, wish := range map[string]annotations{
		"one large group":   {affinity: one, taskOrder: one},
		"many small groups": {affinity: each, antiAffinity: strings.ReplaceAll(each, "r", "s")},
		"contradictions":    {affinity: one, antiAffinity: one},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, nil)
			g := gang(wish, roles, nil)
			compared := testing.AllocsPerRun(1, func() {
				p.Begin(nil, time.Time{})
				p.CompareTasks(g.Tasks[0], g.Tasks[1])
			})
			if most := float64(20 * len(roles)); compared > most {
				t.Errorf("%v allocations to compare two tasks of %d roles, want at most %v", compared, len(roles), most)
			}
			if said := p.Notices(g); len(said) > 20 { // as many as anybody reads
				t.Errorf("%d notices, of which the first is %s", len(said), said[0])
			}
		})
	}
}

func TestScoringAllocatesNothing(t *testing.T) {
	n := nodes(2)
	j, _, _ := build(t, nil).Judge(waiting(gang(annotations{affinity: "a,b"}, []string{"a", "b"}, map[string][]*model.Node{"b": n[:1]}), "a"))
	if allocated := testing.AllocsPerRun(100, func() { j.Score(n[0]); j.Score(n[1]) }); allocated != 0 {
		t.Errorf("%v allocations for two scores, want none", allocated)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	for _, args := range []framework.Args{{"task-topology.weight": -1}, {"weight": 1}} {
		if _, err := tasktopology.New(args, framework.Env{}); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
