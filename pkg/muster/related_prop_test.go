package muster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/actions"
	"github.com/muster-sh/muster/pkg/scheduler/conf"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/intake"
)

// crowd is a small world of pods that want to be near others, apart from them or spread, in
// books of its own, which brute force can search. The last gang comes when the others run.
type crowd struct {
	engine *engine.Engine
	zones  []string // by node
	room   []int    // pods that still fit, by node
	gangs  []crowdGang
	pods   []crowdPod
}

type crowdGang struct {
	min      int
	priority int32
}

type crowdPod struct {
	gang int
	app  string
	// rule is "near", "apart" or "spread", or empty; of pods of the app to, in domains of key.
	rule, to, key string
	node          int // -1: none
}

const crowdConf = `
actions: "allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}]
`

func newCrowd(t *testing.T) *crowd {
	registry := (&guests{}).registry(t.Context())
	config, err := conf.Parse([]byte(crowdConf), actions.Builtin(), registry)
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{}
	if c.engine, err = engine.New(config, registry); err != nil {
		t.Fatal(err)
	}
	c.engine.Apply(engine.QueueSet{Queue: model.QueueSpec{Name: "q"}})
	return c
}

// add adds a node.
func (c *crowd) add(zone string, room int) {
	c.zones, c.room = append(c.zones, zone), append(c.room, room)
	c.engine.Apply(engine.NodeSet{Node: intake.Node(c.node(len(c.room) - 1))})
}

func drawCrowd(t *rapid.T, c *crowd) *crowd {
	for range rapid.IntRange(1, 3).Draw(t, "nodes") {
		c.add(rapid.SampledFrom([]string{"za", "zb"}).Draw(t, "zone"), rapid.IntRange(1, 3).Draw(t, "room"))
	}
	for range rapid.IntRange(1, 4).Draw(t, "gangs") {
		c.drawRunning(t)
	}
	c.gangs = append(c.gangs, crowdGang{priority: 1})
	first := c.drawPod(t)
	for range rapid.IntRange(1, 3).Draw(t, "tasks") {
		c.gangs[c.taker()].min++
		c.pods = append(c.pods, first)
	}
	for i := range c.gangs {
		c.tell(i)
	}
	return c
}

// drawRunning draws a gang that runs where its pods may.
func (c *crowd) drawRunning(t *rapid.T) {
	c.gangs = append(c.gangs, crowdGang{priority: rapid.Int32Range(0, 1).Draw(t, "priority")})
	size := 0
	for range rapid.IntRange(1, 3).Draw(t, "pods") {
		p, n := c.drawPod(t), rapid.IntRange(0, len(c.zones)-1).Draw(t, "node")
		if c.allows(p, n) {
			size++
			p.node = n
			c.room[n]--
			c.pods = append(c.pods, p)
		}
	}
	c.gangs[len(c.gangs)-1].min = rapid.IntRange(0, size).Draw(t, "min")
}

// drawPod draws a pod of the gang that was drawn last.
func (c *crowd) drawPod(t *rapid.T) crowdPod {
	app := rapid.SampledFrom([]string{"a", "b"})
	p := crowdPod{gang: len(c.gangs) - 1, app: app.Draw(t, "app"), node: -1}
	if p.rule = rapid.SampledFrom([]string{"", "near", "apart", "spread"}).Draw(t, "rule"); p.rule != "" {
		p.to, p.key = app.Draw(t, "to"), rapid.SampledFrom([]string{corev1.LabelHostname, corev1.LabelTopologyZone}).Draw(t, "key")
	}
	return p
}

func (c *crowd) taker() int { return len(c.gangs) - 1 }

func (c *crowd) node(i int) *corev1.Node {
	n := benchNode(0)
	n.Name = fmt.Sprintf("n%d", i)
	n.Labels = map[string]string{corev1.LabelHostname: n.Name, corev1.LabelTopologyZone: c.zones[i]}
	n.Status.Allocatable["cpu"] = *apiresource.NewQuantity(int64(c.room[i]), apiresource.DecimalSI)
	return n
}

// tell tells the engine of a gang.
func (c *crowd) tell(i int) {
	g := c.gangs[i]
	key := fmt.Sprintf("ml/g%d", i)
	c.engine.Apply(engine.GangSet{Gang: model.GangSpec{Key: key, UID: key, Queue: "q", Min: int32(g.min), Priority: g.priority}})
	for k, p := range c.pods {
		if p.gang == i {
			spec, _ := intake.Pod(c.pod(k), func(string) bool { return true })
			c.engine.Apply(engine.TaskSet{Task: spec})
		}
	}
}

func (c *crowd) pod(k int) *corev1.Pod {
	p := c.pods[k]
	name := fmt.Sprintf("p%d", k)
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ml", UID: types.UID(name), Labels: map[string]string{"app": p.app},
		Annotations: map[string]string{schedulingv1beta1.GroupNameAnnotation: fmt.Sprintf("g%d", p.gang)},
	}}
	o.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": apiresource.MustParse("1")}}}}
	if p.node >= 0 {
		o.Spec.NodeName = fmt.Sprintf("n%d", p.node)
	}
	to := &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.to}}
	terms := []corev1.PodAffinityTerm{{LabelSelector: to, TopologyKey: p.key}}
	switch p.rule {
	case "near":
		o.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case "apart":
		o.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case "spread":
		o.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: p.key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: to}}
	}
	return o
}

// domain is where a node is for a topology key.
func (c *crowd) domain(key string, n int) string {
	if key == corev1.LabelTopologyZone {
		return c.zones[n]
	}
	return fmt.Sprint(n)
}

// allows says whether a pod may be placed on a node as things stand.
func (c *crowd) allows(p crowdPod, n int) bool {
	if c.room[n] == 0 || c.shunned(p, n) {
		return false
	}
	there := map[string]int{} // pods that its rule is about, by domain
	for i := range c.zones {
		there[c.domain(p.key, i)] = 0
	}
	all := 0
	for _, other := range c.pods {
		if other.node >= 0 && other.app == p.to {
			there[c.domain(p.key, other.node)]++
			all++
		}
	}
	here, least := there[c.domain(p.key, n)], all
	for _, n := range there {
		least = min(least, n)
	}
	switch p.rule {
	case "near":
		return here > 0 || all == 0 && p.app == p.to
	case "apart":
		return here == 0
	case "spread":
		if p.app == p.to {
			here++
		}
		return here-least <= 1
	}
	return true
}

// shunned says whether a pod that is placed wants to be apart from one on a node.
func (c *crowd) shunned(p crowdPod, n int) bool {
	return slices.ContainsFunc(c.pods, func(other crowdPod) bool {
		return other.node >= 0 && other.rule == "apart" && other.to == p.app && c.domain(other.key, other.node) == c.domain(other.key, n)
	})
}

// places says whether the taker's pods can be placed one after the other as things stand.
func (c *crowd) places() bool {
	k := slices.IndexFunc(c.pods, func(p crowdPod) bool { return p.gang == c.taker() && p.node < 0 })
	if k < 0 {
		return true
	}
	for n := range c.zones {
		if !c.allows(c.pods[k], n) {
			continue
		}
		c.put(k, n)
		ok := c.places()
		c.put(k, -1)
		if ok {
			return true
		}
	}
	return false
}

// put moves a pod to a node, or to none.
func (c *crowd) put(k, n int) {
	if was := c.pods[k].node; was >= 0 {
		c.room[was]++
	}
	if c.pods[k].node = n; n >= 0 {
		c.room[n]--
	}
}

// helps says whether the taker can be placed without the victims.
func (c *crowd) helps(victims []int) bool {
	var at []int
	for _, k := range victims {
		at = append(at, c.pods[k].node)
		c.put(k, -1)
	}
	ok := c.places()
	for i, k := range victims {
		c.put(k, at[i])
	}
	return ok
}

// units are victims as they leave together; nil when they may not be taken.
func (c *crowd) units(victims []int) (units [][]int) {
	for i, g := range c.gangs[:c.taker()] {
		var of []int
		size := 0
		for k, p := range c.pods {
			if p.gang == i {
				size++
				if slices.Contains(victims, k) {
					of = append(of, k)
				}
			}
		}
		switch {
		case len(of) == 0:
		case g.priority >= c.gangs[c.taker()].priority:
			return nil
		case size-len(of) >= g.min:
			for _, k := range of {
				units = append(units, []int{k})
			}
		case len(of) == size:
			units = append(units, of)
		default:
			return nil
		}
	}
	return units
}

// any finds victims that may be taken and would help.
func (c *crowd) any() []int {
	var run []int
	for k, p := range c.pods {
		if p.node >= 0 {
			run = append(run, k)
		}
	}
	for set := 1; set < 1<<len(run); set++ {
		var victims []int
		for b, k := range run {
			if set&(1<<b) != 0 {
				victims = append(victims, k)
			}
		}
		if c.units(victims) != nil && c.helps(victims) {
			return victims
		}
	}
	return nil
}

// run lets the engine decide once.
func (c *crowd) run(now time.Time) (bound int, victims []int) {
	for _, d := range c.engine.Run(now).Decisions {
		switch d := d.(type) { //nolint:gochecksumtype // the others tell why
		case engine.Evict:
			var k int
			_, _ = fmt.Sscanf(d.UID, "p%d", &k)
			victims = append(victims, k)
		case engine.Bind:
			bound++
		}
	}
	return bound, victims
}

func (c *crowd) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "zones %v, room %v", c.zones, c.room)
	for i, g := range c.gangs {
		fmt.Fprintf(&b, "\ngang %d: %+v", i, g)
	}
	for k, p := range c.pods {
		fmt.Fprintf(&b, "\npod %d: %+v", k, p)
	}
	return b.String()
}

// TestVictimsLeaveRoomByAllRulesOfPods has a gang come for which others may give way, while
// pods want to be near others, apart from them, or spread: victims are found where there are
// any, none of them could be spared, and the gang is placed when they are gone.
func TestVictimsLeaveRoomByAllRulesOfPods(t *testing.T) {
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := drawCrowd(rt, newCrowd(t))
		now := time.Unix(1000, 0)
		bound, victims := c.run(now)
		if err := c.engine.World.Check(); err != nil {
			rt.Fatal(err)
		}
		if victims == nil {
			if bound == 0 && c.places() {
				rt.Fatalf("it could be placed, and is not: %v", c)
			}
			if found := c.any(); bound == 0 && found != nil {
				rt.Fatalf("%v could give way, and nobody does: %v", found, c)
			}
			return
		}
		taken++
		units := c.units(victims)
		if units == nil || !c.helps(victims) {
			rt.Fatalf("victims %v: lawful %v, they help %v: %v", victims, units != nil, c.helps(victims), c)
		}
		for i := range units {
			rest := slices.Concat(slices.Delete(slices.Clone(units), i, i+1)...)
			if c.helps(rest) {
				rt.Fatalf("of %v, %v could be spared: %v", victims, units[i], c)
			}
		}
		for _, k := range victims {
			c.engine.Apply(engine.TaskGone{UID: fmt.Sprintf("p%d", k)})
		}
		if bound, more := c.run(now.Add(time.Second)); bound != c.gangs[c.taker()].min || more != nil {
			rt.Fatalf("%d pods are placed when %v are gone, and %v have to go: %v", bound, victims, more, c)
		}
	})
	if taken == 0 {
		t.Error("nobody ever had to go")
	}
}

// TestAGangThatMustBeTogetherGoesWhereThereIsRoomForAll has the first node that would do for
// one of its pods be too small for all.
func TestAGangThatMustBeTogetherGoesWhereThereIsRoomForAll(t *testing.T) {
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		c := newCrowd(t)
		for i, room := range []int{2, 1, 3} {
			c.add(fmt.Sprint("z", i), room)
		}
		c.gangs = []crowdGang{{min: 3}}
		for range 3 {
			c.pods = append(c.pods, crowdPod{app: "a", rule: "near", to: "a", key: key, node: -1})
		}
		c.tell(0)
		if bound, _ := c.run(time.Unix(1000, 0)); bound != 3 {
			t.Errorf("near each other by %s, %d of 3 are placed", key, bound)
		}
	}
}
