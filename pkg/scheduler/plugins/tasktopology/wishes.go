package tasktopology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Annotations of a PodGroup.
const (
	affinity     = "volcano.sh/task-topology-affinity"
	antiAffinity = "volcano.sh/task-topology-anti-affinity"
	taskOrder    = "volcano.sh/task-topology-task-order"
)

// wishes is what a gang's annotations say.
type wishes struct {
	known []string // its roles; empty while none is known
	order []string
	// pulls says per role how often it is wished together with another, less how often apart.
	pulls map[string]map[string]int64
	// ranks says per role with wishes how hard it is to place, hardest first.
	ranks   map[string]int
	notices []string
}

// Ranks of roles that task-order does not name, hardest to place first.
const (
	apartFromItself = iota
	nearAnother
	nearItself
	apartFromAnother
	anywhere
)

// read understands the texts of the three annotations, as far as that goes.
func read(texts [3]string, roles []model.Role) *wishes {
	w := &wishes{pulls: map[string]map[string]int64{}, ranks: map[string]int{}}
	for i := range roles {
		w.known = append(w.known, roles[i].Name)
	}
	near, apart := w.groups(affinity, texts[0]), w.groups(antiAffinity, texts[1])
	w.pull(near, 1, nearItself, nearAnother)
	w.pull(apart, -1, apartFromItself, apartFromAnother)
	w.contradictions(near, apart)
	w.order = w.roles(taskOrder, texts[2])
	return w
}

// groups reads groups of roles between semicolons.
func (w *wishes) groups(key, text string) [][]string {
	var groups [][]string
	for part := range strings.SplitSeq(text, ";") {
		if group := w.roles(key, part); len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// roles reads role names between commas. A name that no role has, or that stands
// there twice, is left out; so is a group of which that leaves only one, since it
// would mean something else.
func (w *wishes) roles(key, text string) []string {
	var roles []string
	left := false
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
		case slices.Contains(roles, name):
			left = true
			w.notice("%s names role %q twice in %q: name it once", key, name, strings.TrimSpace(text))
		case len(w.known) > 0 && !slices.Contains(w.known, name):
			left = true
			w.notice("%s names role %q, which the PodGroup does not have: %s", key, name, w.remedy(name))
		default:
			roles = append(roles, name)
		}
	}
	if left && len(roles) == 1 && key != taskOrder {
		return nil
	}
	return roles
}

func (w *wishes) remedy(name string) string {
	if near := framework.Nearest(name, w.known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "its roles are " + strings.Join(w.known, ", ")
}

func (w *wishes) notice(format string, args ...any) {
	w.notices = append(w.notices, fmt.Sprintf(format, args...))
}

// pull notes that roles are wished together, by 1, or apart, by -1, and how hard
// that makes them to place.
func (w *wishes) pull(groups [][]string, by int64, alone, paired int) {
	for _, group := range groups {
		if len(group) == 1 {
			w.note(group[0], group[0], by, alone)
		}
		for i, a := range group {
			for _, b := range group[i+1:] {
				w.note(a, b, by, paired)
				w.note(b, a, by, paired)
			}
		}
	}
}

func (w *wishes) note(a, b string, by int64, rank int) {
	if w.pulls[a] == nil {
		w.pulls[a], w.ranks[a] = map[string]int64{}, rank
	}
	w.pulls[a][b] += by
	w.ranks[a] = min(w.ranks[a], rank)
}

// contradictions notes which pairs are wished both together and apart.
func (w *wishes) contradictions(near, apart [][]string) {
	told := map[string]bool{}
	for _, n := range near {
		for _, a := range apart {
			for _, pair := range common(n, a) {
				if !told[pair] {
					told[pair] = true
					w.notice("%s and %s both speak of %s, which cancels out: take it out of one of them", affinity, antiAffinity, pair)
				}
			}
		}
	}
}

// common lists the pairs that both groups speak of, in words.
func common(a, b []string) []string {
	if len(a) == 1 || len(b) == 1 {
		if len(a) == len(b) && a[0] == b[0] {
			return []string{fmt.Sprintf("%q with itself", a[0])}
		}
		return nil
	}
	var both, pairs []string
	for _, name := range a {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	slices.Sort(both)
	for i, x := range both {
		for _, y := range both[i+1:] {
			pairs = append(pairs, fmt.Sprintf("%q with %q", x, y))
		}
	}
	return pairs
}

// rank orders roles: those that task-order names as it does, then by how hard they are to place.
func (w *wishes) rank(role string) int {
	if i := slices.Index(w.order, role); i >= 0 {
		return i
	}
	if rank, ok := w.ranks[role]; ok {
		return len(w.order) + rank
	}
	return len(w.order) + anywhere
}
