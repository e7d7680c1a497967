package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// words are the parts of one command: what stands alone, and what stands as key=value.
type words struct {
	plain []string
	named map[string]string
	order []string // keys, as written
}

func split(line string) words {
	w := words{named: map[string]string{}}
	for f := range strings.FieldsSeq(line) {
		if k, v, ok := strings.Cut(f, "="); ok {
			w.named[k] = v
			w.order = append(w.order, k)
		} else {
			w.plain = append(w.plain, f)
		}
	}
	return w
}

func (w words) at(i int) string {
	if i < len(w.plain) {
		return w.plain[i]
	}
	return ""
}

func (w words) has(word string) bool { return slices.Contains(w.plain, word) }

// number reads the number under key; 0 when it is not there.
func (w words) number(key string) (int64, error) {
	v, ok := w.named[key]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: not a whole number", key, v)
	}
	return n, nil
}

// resources reads cpu=2 memory=16Gi gpu=8 and names with a slash.
func (w words) resources() (resource.List, error) { return w.resourcesOf("") }

// resourcesOf reads resources written behind "what.", as in guarantee.gpu=8.
func (w words) resourcesOf(what string) (resource.List, error) {
	amounts := map[string]int64{}
	for _, key := range w.order {
		before, name, dotted := strings.Cut(key, ".")
		if !dotted || strings.Contains(before, "/") || (before != "guarantee" && before != "deserved") {
			before, name = "", key
		}
		if before != what {
			continue
		}
		switch {
		case name == "gpu":
			name = "nvidia.com/gpu"
		case name != resource.CPU && name != resource.Memory && name != resource.Pods && !strings.Contains(name, "/"):
			continue
		}
		n, err := amount(name, w.named[key])
		if err != nil {
			return nil, err
		}
		amounts[name] = n
	}
	return resource.ListOf(amounts), nil
}

func amount(name, text string) (int64, error) {
	written, factor := text, int64(1)
	if name == resource.CPU {
		factor = 1000
		if cut, ok := strings.CutSuffix(text, "m"); ok {
			text, factor = cut, 1
		}
	}
	for i, unit := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if cut, ok := strings.CutSuffix(text, unit); ok {
			text, factor = cut, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: not an amount", name, written)
	}
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, fmt.Errorf("%s=%s: too much to count", name, written)
	}
	return n * factor, nil
}

// pairs reads "a:b,c:d" under key.
func (w words) pairs(key string) (map[string]string, error) {
	out := map[string]string{}
	if w.named[key] == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(w.named[key], ",") {
		k, v, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("%s=%s: write key:value", key, part)
		}
		out[k] = v
	}
	return out, nil
}

// taint reads key:Effect.
func taint(text string) ([]corev1.Taint, error) {
	if text == "" {
		return nil, nil
	}
	key, effect, ok := strings.Cut(text, ":")
	if !ok {
		return nil, fmt.Errorf("taint=%s: write key:Effect", text)
	}
	return []corev1.Taint{{Key: key, Effect: corev1.TaintEffect(effect)}}, nil
}

// parts reads label:least/size under "parts": at least so many sub-groups of that
// size, divided by the label.
func (w words) parts() ([]model.SubGroup, error) {
	text, ok := w.named["parts"]
	if !ok {
		return nil, nil
	}
	var s model.SubGroup
	label, sizes, _ := strings.Cut(text, ":")
	if _, err := fmt.Sscanf(sizes, "%d/%d", &s.Least, &s.Size); err != nil {
		return nil, fmt.Errorf("parts=%s: write label:least/size", text)
	}
	s.Name, s.By = label, []string{label}
	s.Near = w.near("parts-near", "spec.subGroupPolicy["+label+"].networkTopology")
	return []model.SubGroup{s}, nil
}

// near reads how near one another tasks must or should be: hard, soft, or the highest tier
// that they may span, by number or by name.
func (w words) near(key, field string) *model.Near {
	text, ok := w.named[key]
	if !ok {
		return nil
	}
	n := &model.Near{Field: field, Hard: text != "soft"}
	if tier, err := strconv.Atoi(text); err == nil {
		n.Tier = &tier
	} else if text != "soft" && text != "hard" {
		n.TierName = text
	}
	return n
}

// shapeOf reads what decides where a task may run.
func shapeOf(w words) (model.Shape, error) {
	amounts, err := w.resources()
	if err != nil {
		return model.Shape{}, err
	}
	selector, err := w.pairs("select")
	if err != nil {
		return model.Shape{}, err
	}
	shape := model.Shape{Requests: amounts, NodeSelector: selector}
	if key := w.named["tolerate"]; key != "" {
		shape.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
	}
	shape.Key = fmt.Sprint(amounts, selector, shape.Tolerations)
	return shape, nil
}

// args are the words with a name, as arguments.
func (w words) args() framework.Args {
	args := framework.Args{}
	for _, key := range w.order {
		args[key] = w.named[key]
	}
	return args
}
