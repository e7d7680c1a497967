package relations

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/muster-sh/muster/pkg/model"
)

// repellents is the required anti-affinity of all placed tasks: who keeps whom
// away. It follows the model's log by itself, since every task is held against it,
// also in clusters where nothing else is ever asked.
type repellents struct {
	world *model.World
	at    int
	nodes []repelling // by NodeID
	// by are the terms by the namespaces they name; open those that select namespaces by labels.
	by   map[string][]*repellent
	open []*repellent
	all  map[string]*repellent
	// labels are the keys of pods' labels that any of them looks at.
	labels []string
}

// repelling is the tasks on a node that keep others away, as last seen.
type repelling struct {
	epoch uint64
	facts []*facts
}

// repellent is the terms that several tasks share, and how many do.
type repellent struct {
	tasks  int
	terms  []fwk.AffinityTerm
	labels []string
}

func (r *repellents) begin(w *model.World) {
	if r.world != w {
		*r = repellents{world: w, at: -1, by: map[string][]*repellent{}, all: map[string]*repellent{}}
	}
}

// follow brings the terms up to the present state of the world.
func (r *repellents) follow(p *plugin) {
	log := &r.world.Log
	nodes := r.world.Nodes()
	if r.at == log.End() {
		return
	}
	for len(r.nodes) < len(nodes) {
		r.nodes = append(r.nodes, repelling{})
	}
	if !p.on.PodAffinity {
		r.at = log.End()
		return
	}
	if r.at < log.Begin() {
		for _, n := range nodes {
			r.look(p, n)
		}
	} else {
		for _, id := range log.Since(r.at) {
			r.look(p, nodes[id])
		}
	}
	r.at = log.End()
}

func (r *repellents) look(p *plugin, n *model.Node) {
	seen := &r.nodes[n.ID]
	if seen.epoch == n.Epoch {
		return
	}
	seen.epoch = n.Epoch
	old := seen.facts
	seen.facts = nil
	for _, t := range n.Tasks {
		if !t.Shape.Related || t.Pod == nil {
			continue
		}
		if f := p.kinds.of(t, p.on); len(f.repels) > 0 {
			seen.facts = append(seen.facts, f)
			r.count(f, 1)
		}
	}
	for _, f := range old {
		r.count(f, -1)
	}
}

// count adds or takes away one task with the terms.
func (r *repellents) count(f *facts, by int) {
	key := f.pod.Namespace + "\x00" + f.asks
	x := r.all[key]
	if x == nil {
		x = &repellent{terms: f.repels, labels: f.labels}
		r.all[key] = x
		r.index(x)
	}
	if x.tasks += by; x.tasks == 0 {
		delete(r.all, key)
		r.rebuild()
	}
}

// index enters terms under what they could match.
func (r *repellents) index(x *repellent) {
	for _, t := range x.terms {
		for ns := range t.Namespaces { //muster:anyorder each list gets x at its own end
			if list := r.by[ns]; len(list) == 0 || list[len(list)-1] != x {
				r.by[ns] = append(list, x)
			}
		}
		if t.NamespaceSelector != nil && !isNothing(t.NamespaceSelector) && !slices.Contains(r.open, x) {
			r.open = append(r.open, x)
		}
	}
	r.labels = append(r.labels, x.labels...)
	slices.Sort(r.labels)
	r.labels = slices.Compact(r.labels)
}

// isNothing reports whether a selector selects nothing, which is how terms without one are kept.
func isNothing(s labels.Selector) bool {
	_, selectable := s.Requirements()
	return !selectable
}

// rebuild enters all terms anew after some went.
func (r *repellents) rebuild() {
	r.by, r.open, r.labels = map[string][]*repellent{}, nil, nil
	//muster:anyorder whether any of them matches does not depend on their order
	for _, x := range r.all {
		r.index(x)
	}
}

// matching lists the terms that keep a pod away; ns is the labels of its namespace.
func (r *repellents) matching(p *corev1.Pod, ns labels.Set) []fwk.AffinityTerm {
	var terms []fwk.AffinityTerm
	for _, list := range [][]*repellent{r.by[p.Namespace], r.open} {
		for _, x := range list {
			for _, t := range x.terms {
				if t.Matches(p, ns) {
					terms = append(terms, t)
				}
			}
		}
	}
	return terms
}

// keysAgainst lists the topology keys of the terms that keep a pod away.
func (r *repellents) keysAgainst(p *corev1.Pod, ns labels.Set) []string {
	var keys []string
	for _, t := range r.matching(p, ns) {
		keys = append(keys, t.TopologyKey)
	}
	return keys
}

// namespaceLabels are the labels of a namespace; none when it was not heard of.
func (p *plugin) namespaceLabels(name string) labels.Set {
	ns, err := p.kube.store.Core().V1().Namespaces().Lister().Get(name)
	if err != nil {
		return nil
	}
	return ns.Labels
}
