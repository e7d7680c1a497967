package slo

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// history knows how long gangs of a template took. It learns from all gangs that succeeded
// and whose tasks say when they ended, or that it saw run. So after a restart it learns
// again from all that are still there; of a template whose pods were all deleted it knows
// nothing then. A gang with n tasks and a minimum of m that took d took d x m / n for each,
// so that one of as many takes as long, and one of twice as many with the same minimum
// twice as long. What it knows moves by a quarter of the difference towards each new one.
type history struct {
	seen  map[*model.Gang]sight
	ended []*model.Gang          // since the last cycle
	known map[string]*experience // by template
	count uint64
}

// sight is what was seen of a gang of that UID.
type sight struct {
	uid       string
	ran, told bool
}

// experience is what is known of a template.
type experience struct {
	each int64  // in milliseconds
	last uint64 // which gang it was that told last
}

// follow takes notice of a gang that changed.
func (h *history) follow(g *model.Gang, gone bool) {
	if gone {
		delete(h.seen, g)
		return
	}
	n, was := g.Counts, h.seen[g]
	if was.uid != g.UID {
		was = sight{uid: g.UID}
	}
	is := was
	is.ran = was.ran || n.Placed > 0
	if n.Idle() && g.Known && n.Succeeded > 0 && n.Succeeded >= g.Min {
		is.told = true
	}
	if is.told && !was.told {
		h.ended = append(h.ended, g)
	}
	if is != was {
		if h.seen == nil {
			h.seen = map[*model.Gang]sight{}
		}
		h.seen[g] = is
	}
}

// settle learns from the gangs that ended, those first that ended first, and forgets the
// templates that were longest unheard of beyond most.
func (h *history) settle(now int64, most int) {
	type run struct {
		gang        *model.Gang
		first, last int64
	}
	var runs []run
	for _, g := range h.ended {
		first, known := began(g)
		last := finished(g)
		if last == 0 && h.seen[g].ran {
			last = now
		}
		if known && last > first {
			runs = append(runs, run{g, first, last})
		}
	}
	h.ended = h.ended[:0]
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.gang.Seq, b.gang.Seq)) })
	for _, r := range runs {
		h.learn(template(r.gang), resource.Share{Part: int64(max(r.gang.Min, 1)), Whole: int64(r.gang.Counts.All())}.Of(r.last-r.first))
	}
	for len(h.known) > most {
		h.forget()
	}
}

// finished is when the last task of a gang ended that did its work, in milliseconds; 0
// when one does not say.
func finished(g *model.Gang) (last int64) {
	for _, t := range g.Tasks {
		if t.Ended != model.Succeeded {
			continue
		}
		if t.Finished.IsZero() {
			return 0
		}
		last = max(last, t.Finished.UnixMilli())
	}
	return last
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
