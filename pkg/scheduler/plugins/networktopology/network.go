package networktopology

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// network is HyperNodes with the nodes that each holds, by tier and name. It is drawn
// anew when one of them or a node changes; what each names is asked only of those that did.
type network struct {
	hypers []*hyper
	seen   []seen  // by NodeID: what was asked about
	in     [][]int // by NodeID: the HyperNodes that hold it, nearest first
	domain []int   // by NodeID: nodes in the same HyperNodes have the same
	holds  [][]int // by domain: those HyperNodes
	ranks  []int   // by HyperNode: how many lower tiers there are
	tiers  int     // how many there are
}

// seen is a node as it was when it was asked about.
type seen struct {
	name   string
	labels map[string]string
}

// hyper is one HyperNode.
type hyper struct {
	framework.Area // with the nodes of HyperNodes that it holds

	tier     int
	tierName string
	spec     topologyv1alpha1.HyperNodeSpec
	members  []member              // of nodes
	direct   map[model.NodeID]bool // the nodes that members name
	above    []int                 // those that hold it, itself among them
}

// member says which nodes, or HyperNodes, one entry of a HyperNode names.
type member struct {
	name   string // exactly
	like   *regexp.Regexp
	labels labels.Selector
}

// memberOf reads an entry; one that can't be read names nothing.
func memberOf(s topologyv1alpha1.MemberSelector) member {
	var m member
	switch {
	case s.ExactMatch != nil:
		m.name = s.ExactMatch.Name
	case s.RegexMatch != nil:
		m.like, _ = regexp.Compile(s.RegexMatch.Pattern)
	case s.LabelMatch != nil:
		m.labels, _ = metav1.LabelSelectorAsSelector(s.LabelMatch)
	}
	return m
}

func (m member) names(name string, of map[string]string) bool {
	return m.name != "" && m.name == name || m.like != nil && m.like.MatchString(name) || m.labels != nil && m.labels.Matches(labels.Set(of))
}

// draw works out which nodes each HyperNode holds.
func (w *network) draw(known map[string]*topologyv1alpha1.HyperNode, nodes []*model.Node) {
	changed := w.look(nodes)
	w.list(known, nodes, changed)
	w.nest()
	w.in = make([][]int, len(nodes))
	for i, h := range w.hypers {
		//muster:anyorder each node has its own list
		for id := range h.direct {
			w.in[id] = append(w.in[id], w.hypers[i].above...)
		}
		h.Nodes = nil
	}
	w.domain, w.holds = make([]int, len(nodes)), nil
	index := map[string]int{}
	var key strings.Builder
	for id, n := range nodes {
		slices.Sort(w.in[id])
		w.in[id] = slices.Compact(w.in[id])
		key.Reset()
		for _, i := range w.in[id] {
			w.hypers[i].Nodes = append(w.hypers[i].Nodes, n)
			key.WriteString(strconv.Itoa(i) + " ")
		}
		d, ok := index[key.String()]
		if !ok {
			d = len(w.holds)
			index[key.String()] = d
			w.holds = append(w.holds, w.in[id])
		}
		w.domain[id] = d
	}
}

// look returns the nodes that are not as they were, by ID.
func (w *network) look(nodes []*model.Node) (changed []model.NodeID) {
	for id, n := range nodes {
		now := seen{}
		if n.Known {
			now = seen{n.Name, n.Labels}
		}
		if id == len(w.seen) {
			w.seen = append(w.seen, seen{})
		}
		if w.seen[id].name != now.name || !maps.Equal(w.seen[id].labels, now.labels) {
			changed = append(changed, model.NodeID(id))
		}
		w.seen[id] = now
	}
	return changed
}

// list takes over HyperNodes, by tier and name, and asks which nodes each names.
func (w *network) list(known map[string]*topologyv1alpha1.HyperNode, nodes []*model.Node, changed []model.NodeID) {
	before := map[string]*hyper{}
	for _, h := range w.hypers {
		before[h.Name] = h
	}
	w.hypers = nil
	for _, name := range slices.Sorted(maps.Keys(known)) {
		spec := known[name].Spec
		h := before[name]
		ask := changed
		if h == nil || !reflect.DeepEqual(h.spec, spec) {
			h = &hyper{Area: framework.Area{Name: name}, tier: spec.Tier, tierName: spec.TierName, spec: spec, direct: map[model.NodeID]bool{}}
			for _, m := range spec.Members {
				if m.Type == topologyv1alpha1.MemberTypeNode {
					h.members = append(h.members, memberOf(m.Selector))
				}
			}
			ask = make([]model.NodeID, len(nodes))
			for id := range nodes {
				ask[id] = model.NodeID(id)
			}
		}
		for _, id := range ask {
			n := w.seen[id]
			if n.name != "" && slices.ContainsFunc(h.members, func(m member) bool { return m.names(n.name, n.labels) }) {
				h.direct[id] = true
			} else {
				delete(h.direct, id)
			}
		}
		w.hypers = append(w.hypers, h)
	}
	slices.SortStableFunc(w.hypers, func(a, b *hyper) int { return cmp.Compare(a.tier, b.tier) })
	w.ranks, w.tiers = make([]int, len(w.hypers)), 0
	for i, h := range w.hypers {
		if i == 0 || h.tier > w.hypers[i-1].tier {
			w.tiers++
		}
		w.ranks[i] = w.tiers - 1
	}
}

// nest works out which HyperNodes hold which, through others as well.
func (w *network) nest() {
	holders := make([][]int, len(w.hypers))
	for up, h := range w.hypers {
		for _, m := range h.spec.Members {
			if m.Type != topologyv1alpha1.MemberTypeHyperNode {
				continue
			}
			names := memberOf(m.Selector)
			for i, inner := range w.hypers {
				if names.names(inner.Name, nil) {
					holders[i] = append(holders[i], up)
				}
			}
		}
	}
	for i, h := range w.hypers {
		h.above = []int{i}
		reached := map[int]bool{i: true}
		for next := 0; next < len(h.above); next++ {
			for _, up := range holders[h.above[next]] {
				if !reached[up] {
					reached[up] = true
					h.above = append(h.above, up)
				}
			}
		}
	}
}

// holds reports whether all of the nodes are within a HyperNode.
func (h *hyper) holds(at []*model.Node) bool {
	return !slices.ContainsFunc(at, func(n *model.Node) bool { return !h.Holds(n) })
}

// tierNamed returns the tier of that name, nil when there is none; where several have it, the highest.
func (w *network) tierNamed(name string) (tier *int) {
	for _, h := range w.hypers {
		if h.tierName == name {
			tier = &h.tier
		}
	}
	return tier
}

// unknown says which names of tiers there are.
func (w *network) unknown(near *model.Near) reason.Reason {
	var names []string
	for _, h := range w.hypers {
		if h.tierName != "" && !slices.Contains(names, strconv.Quote(h.tierName)) {
			names = append(names, strconv.Quote(h.tierName))
		}
	}
	remedy := "no HyperNode has a tierName; create one, or use mode: soft"
	if names != nil {
		remedy = "no HyperNode has that tierName, only " + some(names, 10) + "; name one of those, or use mode: soft"
	}
	return reason.Reason{Code: reason.Invalid, Field: near.Field + ".highestTierName", Value: strconv.Quote(near.TierName), Remedy: remedy}
}

// closeness is how near the nodes of two domains are: as many as there are tiers when the
// lowest holds both, 0 when none does.
func (w *network) closeness(a, b int) int64 {
	of, with := w.holds[a], w.holds[b]
	for len(of) > 0 && len(with) > 0 {
		switch {
		case of[0] < with[0]:
			of = of[1:]
		case of[0] > with[0]:
			with = with[1:]
		default:
			return int64(w.tiers - w.ranks[of[0]])
		}
	}
	return 0
}

// some joins the first of names, and says so when there are more.
func some(names []string, most int) string {
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}
