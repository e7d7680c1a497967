package model

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/resource"
)

// NodeID numbers the nodes of a World, densely and in order of arrival. Numbers of
// nodes that are gone are used again.
type NodeID int32

// Node is a node as the scheduler sees it. What every pass over all nodes reads
// stands together.
type Node struct {
	ID            NodeID
	Known         bool // false: only tasks speak of it, or it is gone, with no Name when nobody speaks of it; nothing fits
	Unschedulable bool
	// Epoch names the node's present state: equal epochs, equal room, traits and tasks.
	Epoch       uint64
	Free        resource.Vector // Allocatable less what tasks are charged and Claimed; below zero when that is more
	Claimed     resource.Vector // set aside for gangs that waited too long
	Allocatable resource.Vector // alike nodes may share it: it is never written to
	Taints      []corev1.Taint
	Labels      map[string]string
	Name        string
	Object      *corev1.Node // as told; see NodeSpec
	Tasks       []*Task      // those charged to it, in no particular order
}

// SetNode adds or changes a node. It reports whether that changed which classes may run on it.
func (w *World) SetNode(s NodeSpec) (node *Node, traits bool) {
	n := w.node(s.Name)
	allocatable := w.Resources.Stock(s.Allocatable)
	traits = !n.Known || n.Unschedulable != s.Unschedulable || !maps.Equal(n.Labels, s.Labels) ||
		!slices.EqualFunc(n.Taints, s.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }) ||
		!slices.EqualFunc(images(n.Object), images(s.Object), func(a, b corev1.ContainerImage) bool {
			return a.SizeBytes == b.SizeBytes && slices.Equal(a.Names, b.Names)
		})
	n.Object = s.Object
	allocatable = w.provide(n, allocatable)
	if !traits && equal(n.Allocatable, allocatable) {
		return n, false
	}
	w.size(n, allocatable)
	if slices.Equal(allocatable, w.lastSize) {
		allocatable = w.lastSize // nodes that are told of one after the other are mostly alike
	}
	w.lastSize = allocatable
	n.Known, n.Allocatable = true, allocatable
	n.Labels, n.Taints, n.Unschedulable = s.Labels, s.Taints, s.Unschedulable
	w.Happened |= NodeRoom
	if traits {
		w.Happened |= NodeChanged
	}
	w.tick(n)
	return n, traits
}

// Turn notes that plugins see a node otherwise than before, though nothing of it was
// told; traits: also in which classes may run on it.
func (w *World) Turn(n *Node, traits bool) {
	if traits {
		w.Happened |= NodeRoom | NodeChanged
	}
	w.tick(n)
}

// images are those that a node has; none when its object was not told.
func images(n *corev1.Node) []corev1.ContainerImage {
	if n == nil {
		return nil
	}
	return n.Status.Images
}

// DropNode forgets a node's room. Tasks on it stay charged to it, in case it
// comes back. It returns nil for a node never heard of.
func (w *World) DropNode(name string) *Node {
	n := w.nodesByName[name]
	if n == nil {
		return nil
	}
	w.size(n, nil)
	n.Known, n.Allocatable, n.Object = false, nil, nil
	delete(w.own, n)
	n.Labels, n.Taints = nil, nil
	w.Happened |= NodeChanged // helps nobody, but what is said of the nodes is no longer so
	w.tick(n)
	w.leaveNode(n)
	return n
}

// size gives a node's room another size.
func (w *World) size(n *Node, allocatable resource.Vector) {
	w.free(n, n.Allocatable, -1)
	w.free(n, allocatable, 1)
	w.Total.Add(n.Allocatable, -1)
	w.Total.Add(allocatable, 1)
}

// SetProvision notes what stands behind resources on a node, or on each, in place of
// what was told before. It counts as the node's own where that has none of a resource.
func (w *World) SetProvision(p Provision) {
	if w.provided[p.Node] = w.Resources.Stock(p.Has); len(p.Has) == 0 {
		delete(w.provided, p.Node)
	}
	if p.Node != "" {
		w.provideAnew(w.nodesByName[p.Node])
		return
	}
	for _, n := range w.nodes {
		w.provideAnew(n)
	}
}

// provideAnew brings the room of a node up to date with what is provided there.
func (w *World) provideAnew(n *Node) {
	if n == nil || !n.Known {
		return
	}
	if next := w.provide(n, w.ownOf(n)); !equal(next, n.Allocatable) {
		w.size(n, next)
		n.Allocatable = next
		w.Happened |= NodeRoom
		w.tick(n)
	}
}

// ownOf is what a node has itself.
func (w *World) ownOf(n *Node) resource.Vector {
	if own, ok := w.own[n]; ok {
		return own
	}
	return n.Allocatable
}

// provide is what a node has, its own and what is provided there; it remembers its own.
func (w *World) provide(n *Node, own resource.Vector) resource.Vector {
	delete(w.own, n)
	here, each := w.provided[n.Name], w.provided[""]
	if len(here) == 0 && len(each) == 0 {
		return own
	}
	w.own[n] = own
	all := slices.Clone(own)
	for d := range max(len(here), len(each)) {
		if own.At(d) == 0 {
			all.Set(d, here.At(d)+each.At(d))
		}
	}
	return all
}

// Nodes returns all nodes by ID. The caller must not change the slice.
func (w *World) Nodes() []*Node { return w.nodes }

// NodeNamed returns the node with that name, nil when there is none.
func (w *World) NodeNamed(name string) *Node { return w.nodesByName[name] }

func (w *World) node(name string) *Node {
	if n := w.nodesByName[name]; n != nil {
		return n
	}
	if k := len(w.freeNodes); k > 0 {
		n := w.freeNodes[k-1]
		w.freeNodes = w.freeNodes[:k-1]
		n.Name, w.nodesByName[name] = name, n
		return n
	}
	n := &Node{ID: NodeID(len(w.nodes)), Name: name}
	w.nodes = append(w.nodes, n)
	w.nodesByName[name] = n
	return n
}

// leaveNode forgets a node, nil for none, when it is gone and nothing is charged
// to it: its number is for the next that comes.
func (w *World) leaveNode(n *Node) {
	if n == nil || n.Known || n.Name == "" || len(n.Tasks) > 0 || !equal(n.Claimed, nil) {
		return
	}
	delete(w.nodesByName, n.Name)
	n.Name = ""
	w.freeNodes = append(w.freeNodes, n)
}

// free adds times copies of v to what is free on a node.
func (w *World) free(n *Node, v resource.Vector, times int64) {
	for d, amount := range v {
		if amount == 0 {
			continue
		}
		claimed := n.Claimed.At(d)
		before := n.Free.At(d) + claimed
		after := before + amount*times
		n.Free.Set(d, after-claimed)
		if before < 0 || after < 0 {
			w.Debt.Set(d, w.Debt.At(d)+min(before, 0)-min(after, 0))
		}
	}
}
