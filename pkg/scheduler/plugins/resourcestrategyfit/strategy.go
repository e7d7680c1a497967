package resourcestrategyfit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Types of strategies, as users write them.
const (
	least = "LeastAllocated"
	most  = "MostAllocated"
)

// Annotations of a pod.
const (
	typeHint   = "volcano.sh/resource-strategy-scoring-type"
	weightHint = "volcano.sh/resource-strategy-weight"
)

// strategy says of one resource, or of all whose names begin alike, what is better.
type strategy struct {
	name   string // without the "*" of a beginning
	begins bool
	pack   bool // the fuller the better
	weight int64
}

// strategies are sorted so that the first that matches a name counts.
type strategies []strategy

// sorted puts names before beginnings, and longer beginnings before shorter.
func sorted(s strategies) strategies {
	slices.SortFunc(s, func(a, b strategy) int {
		switch {
		case a.begins != b.begins && a.begins:
			return 1
		case a.begins != b.begins:
			return -1
		case len(a.name) != len(b.name):
			return len(b.name) - len(a.name)
		default:
			return strings.Compare(a.name, b.name)
		}
	})
	return s
}

func (s strategies) find(name string) (strategy, bool) {
	for _, one := range s {
		if one.name == name && !one.begins || one.begins && strings.HasPrefix(name, one.name) {
			return one, true
		}
	}
	return strategy{}, false
}

// readStrategies reads the argument resources.
func readStrategies(r *framework.Reader) strategies {
	block := r.Map("resources")
	if len(block) == 0 {
		return strategies{{name: resource.CPU, weight: 1}, {name: resource.Memory, weight: 1}}
	}
	var s strategies
	in := block.Read()
	for _, pattern := range slices.Sorted(maps.Keys(block)) {
		of := in.Map(pattern).Read()
		one := strategy{weight: of.Weight("weight", 1)}
		switch of.Text("type", least) {
		case least:
		case most:
			one.pack = true
		default:
			of.Wrong("type", "give LeastAllocated or MostAllocated")
		}
		var ok bool
		if one.name, one.begins, ok = parse(pattern); !ok {
			in.Wrong(pattern, "write a resource's name, or the beginning of names with one * at its end")
		}
		in.Inside(pattern, of.Err())
		s = append(s, one)
	}
	r.Inside("resources", in.Err())
	return sorted(s)
}

// parse reads the name of a resource, or the beginning of names with a "*" at its end.
func parse(pattern string) (name string, begins, ok bool) {
	name, begins = strings.CutSuffix(pattern, "*")
	return name, begins, name != "" && !strings.Contains(name, "*")
}

// forPod returns the strategies for a pod with those annotations, and what of them
// can't be read, which then counts for nothing. A type alone goes for all resources
// that the configuration names, weights alone keep its types.
func (s strategies) forPod(hints map[string]string) (strategies, []string) {
	var faults []string
	mine := s
	if text, ok := hints[weightHint]; ok {
		if own, err := s.weighed(text); err != nil {
			faults = append(faults, fmt.Sprintf("annotation %s is %s: %v", weightHint, text, err))
		} else {
			mine = own
		}
	}
	if text, ok := hints[typeHint]; ok {
		if text = strings.TrimSpace(text); text != least && text != most {
			faults = append(faults, fmt.Sprintf("annotation %s is %s: write %s or %s", typeHint, text, least, most))
		} else {
			mine = slices.Clone(mine)
			for i := range mine {
				mine[i].pack = text == most
			}
		}
	}
	return mine, faults
}

// weighed reads weights by resource, of the types that s has.
func (s strategies) weighed(text string) (strategies, error) {
	var weights map[string]int64
	if err := json.Unmarshal([]byte(text), &weights); err != nil {
		return nil, fmt.Errorf(`write whole numbers by resource as JSON, such as {"cpu": 1}: %w`, err)
	}
	var own strategies
	for _, pattern := range slices.Sorted(maps.Keys(weights)) {
		name, begins, ok := parse(pattern)
		if !ok {
			return nil, fmt.Errorf("%q is no resource: write its name, or the beginning of names with one * at its end", pattern)
		}
		if w := weights[pattern]; w < 0 || w > framework.MaxWeight {
			return nil, fmt.Errorf("the weight of %s is not between 0 and %d", pattern, framework.MaxWeight)
		}
		global, _ := s.find(name)
		own = append(own, strategy{name: name, begins: begins, pack: global.pack, weight: weights[pattern]})
	}
	return sorted(own), nil
}
