package engine

import (
	"math"

	"github.com/muster-sh/muster/pkg/model"
)

// causes numbers the words with which filters turn nodes away, so that a class
// needs two bytes per node. 0 means "fits".
type causes struct {
	words []string
	index map[string]uint16
}

// gone is the cause of nodes that are not there.
const gone = "not present"

func newCauses() causes {
	return causes{words: []string{"", gone}, index: map[string]uint16{gone: 1}}
}

// of returns the number of cause. When numbers run out, causes share the last one.
func (c *causes) of(cause string) uint16 {
	if i, ok := c.index[cause]; ok {
		return i
	}
	if len(c.words) == math.MaxUint16 {
		return math.MaxUint16 - 1
	}
	i := uint16(len(c.words))
	c.words = append(c.words, cause)
	c.index[cause] = i
	return i
}

// filterNewClasses asks the filters about every node for classes that are new.
func (e *Engine) filterNewClasses() {
	fresh := e.World.NewClasses
	e.World.NewClasses = nil
	for _, c := range fresh {
		c.Causes = make([]uint16, len(e.World.Nodes()))
		c.Ratings = nil
		e.filter(c, e.World.Nodes()...)
	}
}

// refilter asks the filters again about one node, for every class.
func (e *Engine) refilter(n *model.Node) {
	for _, c := range e.World.Classes() {
		if c != nil && c.Causes != nil {
			e.filter(c, n)
		}
	}
}

func (e *Engine) filter(c *model.Class, nodes ...*model.Node) {
	fits := e.tiers.FilterNodes(c)
	var rate func(*model.Node) int64 // only for classes that were placed before
	if c.Ratings != nil {
		rate = e.tiers.RateNodes(c)
	}
	for _, n := range nodes {
		for len(c.Causes) <= int(n.ID) {
			c.Causes = append(c.Causes, e.causes.of(gone))
		}
		cause, ok := fits(n)
		switch {
		case !n.Known:
			cause = gone
		case ok:
			cause = ""
		}
		for rate != nil && len(c.Ratings) <= int(n.ID) {
			c.Ratings = append(c.Ratings, 0)
		}
		if rate != nil && n.Known {
			c.Ratings[n.ID] = rate(n)
		}
		c.Causes[n.ID] = 0
		if cause != "" {
			c.Causes[n.ID] = e.causes.of(cause)
		}
	}
}

// rate asks for the ratings of all nodes by a class that is about to be placed.
func (e *Engine) rate(c *model.Class) {
	rate := e.tiers.RateNodes(c)
	if rate == nil || c.Ratings != nil {
		return
	}
	c.Ratings = make([]int64, len(e.World.Nodes()))
	for _, n := range e.World.Nodes() {
		if fits(c, n) {
			c.Ratings[n.ID] = rate(n)
		}
	}
}

// fits reports whether node n's fixed traits let class c run there.
func fits(c *model.Class, n *model.Node) bool {
	return int(n.ID) < len(c.Causes) && c.Causes[n.ID] == 0
}
