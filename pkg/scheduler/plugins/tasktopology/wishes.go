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

// wishes is what a gang's annotations say. Annotations can be long, and who reads them
// holds up all others: what grows with the square of them is found out when it is asked for.
type wishes struct {
	known []string // its roles; empty while none is known
	is    map[string]bool
	seen  map[string]bool // in the group that is read
	order map[string]int  // places in task-order
	near  [][]string      // groups of roles that are wished together
	apart [][]string      // groups of roles that are wished apart
	// pulls says per role, once asked for, how often it is wished together with another, less how often apart.
	pulls map[string]map[string]int64
	// ranks says per role with wishes how hard it is to place, hardest first.
	ranks   map[string]int
	notices []string
}

// mostNotices bounds what is said of one gang.
const mostNotices = 11

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
	w := &wishes{is: map[string]bool{}, seen: map[string]bool{}, order: map[string]int{}, pulls: map[string]map[string]int64{}, ranks: map[string]int{}}
	for i := range roles {
		w.known = append(w.known, roles[i].Name)
		w.is[roles[i].Name] = true
	}
	w.near, w.apart = w.groups(affinity, texts[0]), w.groups(antiAffinity, texts[1])
	w.rankAll(w.near, nearItself, nearAnother)
	w.rankAll(w.apart, apartFromItself, apartFromAnother)
	for i, role := range w.roles(taskOrder, texts[2]) {
		w.order[role] = i
	}
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
	clear(w.seen)
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
		case w.seen[name]:
			left = true
			w.notice(func() string {
				return fmt.Sprintf("%s names role %q twice in %q: name it once", key, name, strings.TrimSpace(text))
			})
		case len(w.known) > 0 && !w.is[name]:
			left = true
			w.notice(func() string {
				return fmt.Sprintf("%s names role %q, which the PodGroup does not have: %s", key, name, w.remedy(name))
			})
		default:
			w.seen[name] = true
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

// notice notes what is to be said, unless that is enough already.
func (w *wishes) notice(say func() string) {
	if len(w.notices) < mostNotices {
		w.notices = append(w.notices, say())
	}
}

// rankAll notes how hard groups make their roles to place.
func (w *wishes) rankAll(groups [][]string, alone, paired int) {
	for _, group := range groups {
		rank := paired
		if len(group) == 1 {
			rank = alone
		}
		for _, role := range group {
			if was, ok := w.ranks[role]; !ok || rank < was {
				w.ranks[role] = rank
			}
		}
	}
}

// pullsOf says how often a role is wished together with each other, or itself, less how often apart.
func (w *wishes) pullsOf(role string) map[string]int64 {
	if _, wished := w.ranks[role]; !wished {
		return nil
	}
	pulls, known := w.pulls[role]
	if !known {
		pulls = map[string]int64{}
		pull(pulls, w.near, role, 1)
		pull(pulls, w.apart, role, -1)
		w.pulls[role] = pulls
	}
	return pulls
}

func pull(pulls map[string]int64, groups [][]string, role string, by int64) {
	for _, group := range groups {
		if !slices.Contains(group, role) {
			continue
		}
		for _, other := range group {
			if other != role || len(group) == 1 {
				pulls[other] += by
			}
		}
	}
}

// said is what is left out, and which pairs are wished both together and apart.
func (w *wishes) said() []string {
	said, told := slices.Clone(w.notices), map[string]bool{}
	for _, n := range w.near {
		for _, a := range w.apart {
			if len(said) >= mostNotices {
				return said
			}
			for _, pair := range common(n, a) {
				if !told[pair] {
					told[pair] = true
					said = append(said, fmt.Sprintf("%s and %s both speak of %s, which cancels out: take it out of one of them", affinity, antiAffinity, pair))
				}
			}
		}
	}
	return said
}

// common lists the pairs that both groups speak of, in words; as many as can be told.
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
			if pairs = append(pairs, fmt.Sprintf("%q with %q", x, y)); len(pairs) == mostNotices {
				return pairs
			}
		}
	}
	return pairs
}

// rank orders roles: those that task-order names as it does, then by how hard they are to place.
func (w *wishes) rank(role string) int {
	if i, ok := w.order[role]; ok {
		return i
	}
	if rank, ok := w.ranks[role]; ok {
		return len(w.order) + rank
	}
	return len(w.order) + anywhere
}
