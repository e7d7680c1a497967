package model

import (
	"maps"
	"slices"

	"github.com/muster-sh/muster/pkg/resource"
)

// ClassID numbers classes. Numbers of classes without tasks are used again.
type ClassID int32

// Class is a set of tasks with equal shapes: what fits one fits all.
type Class struct {
	ID    ClassID
	Shape Shape
	Req   resource.Vector
	// Causes says per node, by NodeID, why its fixed traits keep the class
	// away: an index into the engine's table of causes, 0 when they don't.
	Causes []uint16
	// Ratings rates nodes for the class by their fixed traits, by NodeID; nil when no plugin does.
	Ratings []int64
	tasks   int
}

// Fits reports whether node n's fixed traits let the class run there.
func (c *Class) Fits(n *Node) bool {
	return int(n.ID) < len(c.Causes) && c.Causes[n.ID] == 0
}

// Alive reports whether there are tasks of the class.
func (c *Class) Alive() bool { return c.tasks > 0 }

// Classes returns the classes by ID, nil where a number is free. The caller must not change the slice.
func (w *World) Classes() []*Class { return w.classes }

func (w *World) classOf(s Shape) *Class {
	if c := w.classesByKey[s.Key]; c != nil {
		c.tasks++
		return c
	}
	c := &Class{Shape: s, Req: w.Resources.Vector(s.Requests), tasks: 1}
	if n := len(w.freeClasses); n > 0 {
		c.ID, w.freeClasses = w.freeClasses[n-1], w.freeClasses[:n-1]
		w.classes[c.ID] = c
	} else {
		c.ID = ClassID(len(w.classes))
		w.classes = append(w.classes, c)
	}
	w.classesByKey[s.Key] = c
	w.NewClasses = append(w.NewClasses, c)
	return c
}

func (w *World) leaveClass(c *Class) {
	if c.tasks--; c.tasks > 0 {
		return
	}
	delete(w.classesByKey, c.Shape.Key)
	w.classes[c.ID] = nil
	w.freeClasses = append(w.freeClasses, c.ID)
}

// passedOn are the annotations of a gang that its tasks take over, as hints, where
// they have none of their own.
func passedOn() []string { return []string{preemptable, "volcano.sh/revocable-zone"} }

// inherit adds to a shape what its gang passes on.
func inherit(s Shape, g *Gang) Shape {
	if g == nil || len(g.Annotations) == 0 {
		return s
	}
	own := s.Hints
	for _, key := range passedOn() {
		value, ok := g.Annotations[key]
		if _, has := own[key]; !ok || has {
			continue
		}
		if s.Hints = maps.Clone(s.Hints); s.Hints == nil {
			s.Hints = map[string]string{}
		}
		s.Hints[key] = value
		s.Key += "\x00" + key + "=" + value
	}
	return s
}

// reclass gives the tasks of a gang the classes that follow from what it passes on,
// if that is not what it passed on before.
func (w *World) reclass(g *Gang, before map[string]string) {
	if !slices.ContainsFunc(passedOn(), func(key string) bool {
		was, had := before[key]
		is, has := g.Annotations[key]
		return was != is || had != has
	}) {
		return
	}
	for _, t := range g.Tasks {
		class, stuck := t.Class, t.Stuck
		w.lift(t)
		t.Class = w.classOf(inherit(t.Shape, g))
		w.put(t)
		t.Stuck = stuck
		w.leaveClass(class)
	}
}
