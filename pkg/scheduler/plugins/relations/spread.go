package relations

import (
	"math"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const (
	spreadName   = names.PodTopologySpread
	affinityName = names.InterPodAffinity
)

// spread puts right what kube-scheduler's plugin for topology spread keeps of the
// least populated domain. The plugin remembers two domains only, which is enough
// for the one node that a preemption touches, and says of itself that it must not
// be used for pods on several nodes. Its counts per domain are right; so the
// minimum is taken from those. Both are exported fields of a type that is not,
// hence the reflection; a test compares with the plugin's own first result.
type spread struct {
	keys  []string        // topology keys of the constraints
	pods  []tally         // matching pods by value of the key, per constraint; the counts are the plugin's own
	least []reflect.Value // where the plugin reads the minimum, per constraint
	was   []int
	// anew: a constraint selects pods of any label. The plugin counts none for it at
	// first, but each that comes; so it has to count from the beginning each time.
	anew bool
}

// newSpread returns nil when the plugin has no state for the pod.
func newSpread(state fwk.CycleState, p *corev1.Pod) *spread {
	data, err := state.Read("PreFilter" + spreadName)
	if err != nil {
		return nil
	}
	fields := reflect.ValueOf(data).Elem()
	counts, ok := reflect.TypeAssert[[]map[string]int](fields.FieldByName("TpValueToMatchNum"))
	if !ok {
		panic("kube-scheduler keeps topology spread in another form than this version was built for")
	}
	s := &spread{was: make([]int, len(counts))}
	for _, c := range spreads(p, corev1.DoNotSchedule) {
		s.keys = append(s.keys, c.TopologyKey)
		l := c.LabelSelector
		s.anew = s.anew || l != nil && len(l.MatchLabels)+len(l.MatchExpressions) == 0
	}
	paths := fields.FieldByName("CriticalPaths")
	for i, n := range counts {
		s.least = append(s.least, paths.Index(i).Elem().Index(0).FieldByName("MatchNum"))
		s.pods = append(s.pods, newTally(n))
	}
	return s
}

// before notes how full the domains of a node are, after compares once the plugin
// counted a pod there.
func (s *spread) before(n *corev1.Node) {
	for i, key := range s.keys {
		s.was[i] = s.pods[i].n[n.Labels[key]]
	}
}

func (s *spread) after(n *corev1.Node) {
	for i, key := range s.keys {
		t := &s.pods[i]
		t.changed(s.was[i], t.n[n.Labels[key]])
		s.least[i].SetInt(int64(t.least.n))
	}
}

// tally counts by value, and knows the least and the best count without looking at
// all of them each time.
type tally struct {
	n           map[string]int
	least, best extreme
}

// extreme is a count that none is beyond, and how many values have it.
type extreme struct{ n, values int }

// newTally looks at counts, which may be those of somebody else.
func newTally(n map[string]int) tally {
	t := tally{n: n}
	t.recount()
	return t
}

func (t *tally) recount() {
	t.least, t.best = extreme{n: math.MaxInt32}, extreme{n: math.MinInt32}
	//muster:anyorder extremes and how often they occur
	for _, n := range t.n {
		t.enter(n)
	}
}

// open makes a value known; it counts 0 so far.
func (t *tally) open(v string) {
	if _, ok := t.n[v]; !ok {
		t.n[v] = 0
		t.enter(0)
	}
}

// add counts by more of a value, which may be less than none.
func (t *tally) add(v string, by int) {
	t.open(v)
	old := t.n[v]
	t.n[v] = old + by
	t.changed(old, old+by)
}

// changed tells that a value's count is another now.
func (t *tally) changed(old, now int) {
	if old == now {
		return
	}
	if old == t.least.n {
		t.least.values--
	}
	if old == t.best.n {
		t.best.values--
	}
	t.enter(now)
	if t.least.values == 0 || t.best.values == 0 {
		t.recount()
	}
}

// enter notes a count that a value now has.
func (t *tally) enter(n int) {
	switch {
	case n < t.least.n:
		t.least = extreme{n, 1}
	case n == t.least.n:
		t.least.values++
	}
	switch {
	case n > t.best.n:
		t.best = extreme{n, 1}
	case n == t.best.n:
		t.best.values++
	}
}
