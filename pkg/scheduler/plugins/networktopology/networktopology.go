// Package networktopology keeps the tasks of a gang, or of its sub-groups, near one
// another on the network, as spec.networkTopology of its PodGroup says. HyperNodes say
// which nodes are near: each is a set of nodes, or of smaller HyperNodes, of a tier, and
// the lower the tier, the nearer.
//
//   - mode hard: all tasks run within one HyperNode of at most that tier, or wait.
//   - mode soft: within one of the lowest tier that has room, or else as near as can be.
//
// HyperNodes may overlap and need not form a tree; one that holds itself holds nothing
// more for it.
package networktopology

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "network-topology-aware"

type plugin struct {
	weight int64
	fill   fill
	known  map[string]*topologyv1alpha1.HyperNode
	world  *model.World
	stale  bool // nodes or HyperNodes changed since the network was drawn
	net    network
}

var (
	_ framework.Begins      = &plugin{}
	_ framework.Learns      = &plugin{}
	_ framework.JudgesTasks = &plugin{}
	_ framework.KnowsAreas  = &plugin{}
)

// New makes the plugin. Arguments: weight (1) of how near a node is to the tasks that are
// placed already; hypernode.binpack.cpu (1), hypernode.binpack.memory (1) and
// hypernode.binpack.resources, a comma list of the only extended resources that count,
// each with hypernode.binpack.resources.<resource> (1): what counts when the fullest of
// several HyperNodes of one tier is tried first.
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	r := args.Read()
	p := &plugin{weight: r.Weight("weight", 1), fill: fillOf(r, env), known: map[string]*topologyv1alpha1.HyperNode{}}
	for _, key := range []string{"hypernode.binpack.normal-pod.enable", "hypernode.binpack.normal-pod.fading"} {
		r.Idle(env, key, "pods without spec.networkTopology are placed by the other plugins; binpack keeps whole nodes free")
	}
	r.Idle(env, "hypernode.gradient.evict.max-hypernodes", "victims are looked for wherever the rules allow, and only those go that one HyperNode needs")
	return p, r.Err()
}

func (*plugin) Name() string { return Name }

// WakesOn is what changes which nodes are near one another.
func (*plugin) WakesOn() model.Change { return model.ObjectChanged | model.NodeChanged }

// Begin implements [framework.Begins].
func (p *plugin) Begin(w *model.World, _ time.Time) {
	p.stale = p.stale || p.world != w || w.Happened&model.NodeChanged != 0
	p.world = w
}

// Learn takes in HyperNodes.
func (p *plugin) Learn(o runtime.Object, gone bool) {
	h, ok := o.(*topologyv1alpha1.HyperNode)
	if !ok {
		return
	}
	before := p.known[h.Name]
	if gone {
		delete(p.known, h.Name)
	} else {
		p.known[h.Name] = h
	}
	if gone || before == nil || !reflect.DeepEqual(before.Spec, h.Spec) {
		p.stale = true
	}
}

// draw brings the network up to date; between cycles as far as there are new nodes.
func (p *plugin) draw() *network {
	if p.stale || len(p.net.domain) != len(p.world.Nodes()) {
		p.net.draw(p.known, p.world.Nodes())
		p.stale = false
	}
	return &p.net
}

// Areas implements [framework.KnowsAreas]: the lowest tier first, of one tier the fullest.
func (p *plugin) Areas(near *model.Near, need resource.Vector, at []*model.Node) ([]framework.Area, reason.Reason, bool) {
	net := p.draw()
	highest := near.Tier
	if near.Hard && near.TierName != "" {
		if highest = net.tierNamed(near.TierName); highest == nil {
			return nil, net.unknown(near), false
		}
	}
	var areas []framework.Area
	var order []place
	there := false
	for i, h := range net.hypers {
		if len(h.Nodes) == 0 || near.Hard && highest != nil && h.tier > *highest {
			continue
		}
		there = true
		if h.holds(at) {
			order = append(order, place{hyper: i, full: p.fill.of(h.Nodes, need)})
		}
	}
	slices.SortStableFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(net.hypers[a.hyper].tier, net.hypers[b.hyper].tier), cmp.Compare(b.full, a.full))
	})
	for _, o := range order {
		areas = append(areas, net.hypers[o.hyper].Area)
	}
	if near.Hard && len(areas) == 0 {
		return nil, nowhere(near, highest, there, at), false
	}
	return areas, reason.Reason{}, true
}

// place is a HyperNode, by index, and how full it would be.
type place struct {
	hyper int
	full  int64
}

// nowhere says why no HyperNode can hold tasks that must be near; there: some would, had
// no task been placed outside.
func nowhere(near *model.Near, highest *int, there bool, at []*model.Node) reason.Reason {
	why := reason.Reason{Code: reason.Invalid, Field: near.Field + ".mode", Value: "hard"}
	of := "HyperNode"
	switch {
	case near.TierName != "":
		why.Field, why.Value = near.Field+".highestTierName", strconv.Quote(near.TierName)
	case highest != nil:
		why.Field, why.Value = near.Field+".highestTierAllowed", strconv.Itoa(*highest)
	}
	if highest != nil {
		of = fmt.Sprintf("HyperNode of tier %d or less", *highest)
	}
	if !there {
		why.Remedy = fmt.Sprintf("there is no %s with nodes in it; create one, allow a higher tier, or use mode: soft", of)
		return why
	}
	names := make([]string, 0, len(at))
	for _, n := range at {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	why.Remedy = fmt.Sprintf("its pods run on %s already, which no %s holds together; allow a higher tier, use mode: soft, or delete those that are too far away", some(slices.Compact(names), 5), of)
	return why
}

// Kind tells sub-groups apart, since each has its own place on the network, and tasks that
// must be near from those that should.
func (p *plugin) Kind(t *model.Task) string {
	if t.Gang == nil || len(p.known) == 0 {
		return ""
	}
	near, part := t.Gang.NearOf(t)
	if near == nil && t.Gang.Near == nil {
		return ""
	}
	return word(t.Gang.Near) + "/" + word(near) + "/" + part
}

// word is short for how near tasks must or should be.
func word(near *model.Near) string {
	switch {
	case near == nil:
		return ""
	case !near.Hard:
		return "soft"
	case near.Tier != nil:
		return strconv.Itoa(*near.Tier)
	default:
		return "hard " + near.TierName
	}
}
