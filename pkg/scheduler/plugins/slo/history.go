package slo

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// history knows how long gangs of a template took. It learns from all gangs that it saw
// run and succeed: one with n tasks and a minimum of m that took d took d x m / n for
// each, so that one of as many takes as long, and one of twice as many with the same
// minimum twice as long. What it knows moves by a quarter of the difference towards each
// new one.
type history struct {
	running map[*model.Gang]string // UIDs of those that were seen to run
	ended   []*model.Gang          // since the last cycle
	known   map[string]*experience // by template
	count   uint64
}

// experience is what is known of a template.
type experience struct {
	each int64  // in milliseconds
	last uint64 // which gang it was that told last
}

// follow takes notice of a gang that changed.
func (h *history) follow(g *model.Gang, gone bool) {
	n := g.Counts
	switch {
	case gone:
		delete(h.running, g)
	case n.Placed > 0:
		if h.running == nil {
			h.running = map[*model.Gang]string{}
		}
		h.running[g] = g.UID
	case n.Idle() && n.All() > 0:
		if uid, ok := h.running[g]; ok && uid == g.UID && g.Known && n.Succeeded > 0 && n.Succeeded >= g.Min {
			h.ended = append(h.ended, g)
		}
		delete(h.running, g)
	}
}

// settle learns from the gangs that ended, and forgets the templates that were longest
// unheard of beyond most.
func (h *history) settle(now int64, most int) {
	for _, g := range h.ended {
		first, ok := began(g)
		n := int64(g.Counts.All())
		if !ok || now <= first || n == 0 {
			continue
		}
		h.learn(template(g), resource.Share{Part: int64(max(g.Min, 1)), Whole: n}.Of(now-first))
	}
	h.ended = h.ended[:0]
	for len(h.known) > most {
		h.forget()
	}
}

func (h *history) learn(key string, each int64) {
	h.count++
	e := h.known[key]
	if e == nil {
		if h.known == nil {
			h.known = map[string]*experience{}
		}
		h.known[key] = &experience{each: each, last: h.count}
		return
	}
	e.each += (each - e.each) / 4
	e.last = h.count
}

// forget drops what was longest unheard of.
func (h *history) forget() {
	oldest, at := "", uint64(0)
	//muster:anyorder a minimum of numbers that differ
	for key, e := range h.known {
		if at == 0 || e.last < at {
			oldest, at = key, e.last
		}
	}
	delete(h.known, oldest)
}

// took is how long gangs like g took for each replica and member.
func (h *history) took(g *model.Gang) (int64, bool) {
	if len(h.known) == 0 || len(g.Tasks) == 0 {
		return 0, false
	}
	e := h.known[template(g)]
	if e == nil {
		return 0, false
	}
	return e.each, true
}

// template names what gangs have in common that come from one template: namespace, kind
// of owner, and by role the images and requests of the first task.
func template(g *model.Gang) string {
	roles := map[string]*model.Task{}
	kind := ""
	for _, t := range g.Tasks {
		if roles[t.Role] == nil {
			roles[t.Role] = t
		}
		if kind == "" && t.Pod != nil {
			if owner := metav1.GetControllerOf(t.Pod); owner != nil {
				kind = owner.Kind
			}
		}
	}
	namespace, _, _ := strings.Cut(g.Key, "/")
	if namespace == g.Key {
		namespace = ""
	}
	sum := fnv.New128a()
	fmt.Fprintf(sum, "%q %q", namespace, kind)
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		shape := roles[role].Shape
		fmt.Fprintf(sum, " %q %q %q", role, shape.Images, shape.Requests.String())
	}
	return string(sum.Sum(nil))
}
