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
	keys   []string         // topology keys of the constraints
	counts []map[string]int // matching pods by value of the key, per constraint; the plugin's own
	least  []reflect.Value  // where the plugin reads the minimum, per constraint
	min    []minimum
	was    []int
}

// minimum is the least count, and how many domains have it.
type minimum struct{ n, domains int }

// newSpread returns nil when the plugin has no state for the pod.
func newSpread(state fwk.CycleState, p *corev1.Pod) *spread {
	data, err := state.Read("PreFilter" + spreadName)
	if err != nil {
		return nil
	}
	fields := reflect.ValueOf(data).Elem()
	counts, ok := fields.FieldByName("TpValueToMatchNum").Interface().([]map[string]int)
	if !ok {
		panic("kube-scheduler keeps topology spread in another form than this version was built for")
	}
	s := &spread{counts: counts, was: make([]int, len(counts)), min: make([]minimum, len(counts))}
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			s.keys = append(s.keys, c.TopologyKey)
		}
	}
	paths := fields.FieldByName("CriticalPaths")
	for i := range counts {
		s.least = append(s.least, paths.Index(i).Elem().Index(0).FieldByName("MatchNum"))
		s.find(i)
	}
	return s
}

// find looks for the minimum of a constraint in all its domains.
func (s *spread) find(i int) {
	m := minimum{n: math.MaxInt32}
	//muster:anyorder a minimum and how often it occurs
	for _, n := range s.counts[i] {
		switch {
		case n < m.n:
			m = minimum{n, 1}
		case n == m.n:
			m.domains++
		}
	}
	s.min[i] = m
}

// before notes how full the domains of a node are, after compares once the plugin
// counted a pod there.
func (s *spread) before(n *corev1.Node) {
	for i, key := range s.keys {
		s.was[i] = s.counts[i][n.Labels[key]]
	}
}

func (s *spread) after(n *corev1.Node) {
	for i, key := range s.keys {
		m := &s.min[i]
		is := s.counts[i][n.Labels[key]]
		if is != s.was[i] {
			if s.was[i] == m.n {
				m.domains--
			}
			switch {
			case is < m.n:
				*m = minimum{is, 1}
			case is == m.n:
				m.domains++
			}
			if m.domains == 0 {
				s.find(i)
			}
		}
		s.least[i].SetInt(int64(m.n))
	}
}
