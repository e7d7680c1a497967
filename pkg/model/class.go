package model

import "github.com/muster-sh/muster/pkg/resource"

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
