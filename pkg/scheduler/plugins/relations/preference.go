package relations

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// full is the best score, in the unit that plugins' scores add up in: ten
// thousandths of a point.
const full = framework.MaxScore * 10_000

// preference rates nodes for tasks of one kind by the pods there are, and by each
// that is placed. It gives what kube-scheduler's plugins give, with two
// differences: the worst and the best node are estimated from the worst and the
// best of each topology key, and all nodes count, not those alone that pass filters.
type preference struct {
	o     *order
	pod   *corev1.Pod
	info  *podInfo
	ns    labels.Set // labels of the pod's namespace
	seen  int        // of the mirror's changes
	keys  []string   // topology keys, sorted
	near  map[string]*tally
	even  []evenness
	match nodeaffinity.RequiredNodeAffinity
}

// evenness is one constraint of spread.
type evenness struct {
	tally
	key      string
	selector labels.Selector
	any      bool  // the pod's own node selector does not matter
	weight   int64 // of one pod, in 1024ths
	base     int64 // what a larger skew gives everywhere
}

var _ framework.Judge = &preference{}

func newPreference(o *order, p *corev1.Pod) *preference {
	j := &preference{
		o: o, pod: p, info: newPodInfo(p), ns: o.namespaces[p.Namespace], seen: len(o.mirror.changes),
		near: map[string]*tally{}, match: nodeaffinity.GetRequiredNodeAffinity(p),
	}
	if o.even > 0 {
		for _, c := range spreads(p, corev1.ScheduleAnyway) {
			j.even = append(j.even, newEvenness(c, p))
			j.keys = append(j.keys, c.TopologyKey)
		}
	}
	if o.near > 0 {
		for _, t := range slices.Concat(j.info.PreferredAffinityTerms, j.info.PreferredAntiAffinityTerms) {
			j.about(t.TopologyKey)
		}
	}
	for _, c := range o.mirror.cells {
		if !c.known {
			continue
		}
		j.open(c.Node())
		for _, info := range c.GetPods() {
			j.count(c, info, 1)
		}
	}
	for i := range j.even {
		e := &j.even[i]
		e.weight = int64(1024 * math.Log(float64(len(e.n)+2)))
	}
	slices.Sort(j.keys)
	j.keys = slices.Compact(j.keys)
	return j
}

// newEvenness reads a constraint. A selector that can't be read matches nothing.
func newEvenness(c corev1.TopologySpreadConstraint, p *corev1.Pod) evenness {
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		selector = labels.Nothing()
	}
	for _, key := range c.MatchLabelKeys {
		if v, ok := p.Labels[key]; ok {
			also, _ := labels.SelectorFromSet(labels.Set{key: v}).Requirements()
			selector = selector.Add(also...)
		}
	}
	return evenness{
		key: c.TopologyKey, selector: selector, tally: newTally(map[string]int{}), base: int64(c.MaxSkew-1) * 1024,
		any: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
	}
}

// about is the tally of a topology key.
func (j *preference) about(key string) *tally {
	t := j.near[key]
	if t == nil {
		fresh := newTally(map[string]int{})
		t = &fresh
		j.near[key] = t
		j.keys = append(j.keys, key)
		for _, c := range j.o.mirror.cells {
			if v, ok := c.label(key); ok {
				t.open(v)
			}
		}
	}
	return t
}

// label is a known node's value of a label.
func (c *cell) label(key string) (string, bool) {
	if !c.known {
		return "", false
	}
	v, ok := c.Node().Labels[key]
	return v, ok
}

// open makes a node's domains known to constraints of spread.
func (j *preference) open(n *corev1.Node) {
	for i := range j.even {
		if e := &j.even[i]; j.counts(e, n) {
			e.open(n.Labels[e.key])
		}
	}
}

// counts reports whether pods of a node count for a constraint.
func (j *preference) counts(e *evenness, n *corev1.Node) bool {
	for i := range j.even {
		if _, ok := n.Labels[j.even[i].key]; !ok {
			return false
		}
	}
	if e.any {
		return true
	}
	ok, err := j.match.Match(n)
	return ok && err == nil
}

// count adds a pod on a node, or takes it away.
func (j *preference) count(c *cell, other fwk.PodInfo, by int) {
	p := other.GetPod()
	for i := range j.even {
		e := &j.even[i]
		if p.Namespace == j.pod.Namespace && p.DeletionTimestamp == nil && e.selector.Matches(labels.Set(p.Labels)) && j.counts(e, c.Node()) {
			e.add(c.Node().Labels[e.key], by)
		}
	}
	if j.o.near == 0 {
		return
	}
	ns := j.o.namespaces[p.Namespace]
	j.weigh(c, j.info.PreferredAffinityTerms, p, ns, by)
	j.weigh(c, j.info.PreferredAntiAffinityTerms, p, ns, -by)
	j.weigh(c, other.GetPreferredAffinityTerms(), j.pod, j.ns, by)
	j.weigh(c, other.GetPreferredAntiAffinityTerms(), j.pod, j.ns, -by)
	for _, t := range other.GetRequiredAffinityTerms() {
		j.weigh(c, []fwk.WeightedAffinityTerm{{AffinityTerm: t, Weight: 1}}, j.pod, j.ns, by)
	}
}

// weigh adds the weight of the terms that match a pod, with the domains of the node.
func (j *preference) weigh(c *cell, terms []fwk.WeightedAffinityTerm, p *corev1.Pod, ns labels.Set, by int) {
	for i := range terms {
		t := &terms[i]
		if v, ok := c.label(t.TopologyKey); ok && t.Matches(p, ns) {
			j.about(t.TopologyKey).add(v, by*int(t.Weight))
		}
	}
}

func (j *preference) follow() {
	m := &j.o.mirror
	m.follow()
	for ; j.seen < len(m.changes); j.seen++ {
		c := m.changes[j.seen]
		j.count(c.cell, c.info, c.by)
	}
}

func (j *preference) Domain(n *model.Node) string { return domain(n, j.keys) }

func (*preference) Fits(*model.Node) (string, bool) { return "", true }

func (j *preference) Placed(*model.Task, *model.Node) { j.follow() }

func (j *preference) Score(n *model.Node) int64 {
	return j.o.near*j.nearness(n) + j.o.even*j.evenness(n)
}

// nearness is between 0 at the least liked node and a full score at the most liked.
func (j *preference) nearness(n *model.Node) int64 {
	var sum, least, best int64
	//muster:anyorder a sum
	for key, t := range j.near {
		if v, ok := n.Labels[key]; ok {
			sum += int64(t.n[v])
		}
		least += int64(min(t.least.n, 0))
		best += int64(max(t.best.n, 0))
	}
	if best == least {
		return 0
	}
	return full * (sum - least) / (best - least)
}

// evenness is a full score where fewest of the pods are, less the more there are,
// and 0 at nodes that a constraint does not reach.
func (j *preference) evenness(n *model.Node) int64 {
	if len(j.even) == 0 {
		return 0
	}
	var sum, least, best int64
	for i := range j.even {
		e := &j.even[i]
		v, ok := n.Labels[e.key]
		if !ok || len(e.n) == 0 {
			return 0
		}
		sum += int64(e.n[v])*e.weight + e.base
		least += int64(e.least.n)*e.weight + e.base
		best += int64(e.best.n)*e.weight + e.base
	}
	if best == 0 {
		return full
	}
	return full * (best + least - sum) / best
}
