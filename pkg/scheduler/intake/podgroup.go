package intake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
)

// PodGroup reads a PodGroup whose priority class has the given value.
func PodGroup(pg *schedulingv1beta1.PodGroup, priority int32) model.GangSpec {
	g := model.GangSpec{
		Key:      pg.Namespace + "/" + pg.Name,
		UID:      string(pg.UID),
		Queue:    pg.Spec.Queue,
		Priority: priority,
		Min:      pg.Spec.MinMember,
		Phase:    model.Phase(pg.Status.Phase),
		Created:  pg.CreationTimestamp.Time,
	}
	g.Annotations, g.Unread = hints(pg.Annotations)
	if g.Queue == "" {
		g.Queue = schedulingv1beta1.DefaultQueue
	}
	g.Near, g.Problem = near("spec.networkTopology", pg.Spec.NetworkTopology)
	if bad := subGroups(&g, pg.Spec.SubGroupPolicy); bad != nil {
		g.Problem = bad
	}
	if pg.Spec.MinResources != nil {
		g.MinResources = model.Resources(*pg.Spec.MinResources)
		if bad := negative("", "", "spec.minResources", g.MinResources); bad != nil {
			g.Problem = bad
		}
	}
	if g.Min < 0 {
		g.Problem = invalid("spec.minMember", g.Min)
	}
	if bad := roles(&g, pg.Spec.MinTaskMember); bad != nil {
		g.Problem = bad
	}
	return g
}

// What one PodGroup may say. The engine looks at all of it again and again while others
// wait, and an object has room for a hundred times of what anybody needs.
const (
	mostRoles     = 1000
	mostSubGroups = 250  // policies, and what their selectors and labels name
	longestHint   = 4096 // bytes
)

func tooMany(field, what string, n, most int) *reason.Reason {
	return &reason.Reason{
		Code: reason.Invalid, Field: field, Value: fmt.Sprintf("a list of %d %s", n, what), Remedy: fmt.Sprintf("give at most %d", most),
	}
}

// roles takes over how many tasks of each role a gang needs, unless they are too many. Where
// they are more together than the gang itself needs, only that counts: a job that may begin
// with fewer pods than its tasks have says so by its minimum alone.
func roles(g *model.GangSpec, least map[string]int32) (bad *reason.Reason) {
	if n := len(least); n > mostRoles {
		return tooMany("spec.minTaskMember", "roles", n, mostRoles)
	}
	var sum int64
	for _, role := range slices.Sorted(maps.Keys(least)) {
		if least[role] < 0 {
			bad = invalid("spec.minTaskMember["+role+"]", least[role])
		}
		sum += int64(least[role])
		g.RoleMin = append(g.RoleMin, model.RoleMin{Role: role, Min: least[role]})
	}
	if sum > int64(g.Min) {
		for i := range g.RoleMin {
			g.RoleMin[i].Min = 0
		}
	}
	return bad
}

// subGroups takes over how a gang is divided, unless that says too much.
func subGroups(g *model.GangSpec, policies []schedulingv1beta1.SubGroupPolicySpec) (bad *reason.Reason) {
	said := len(policies)
	for _, p := range policies {
		said += len(p.MatchLabelKeys)
		if p.LabelSelector == nil {
			continue
		}
		said += len(p.LabelSelector.MatchLabels)
		for _, e := range p.LabelSelector.MatchExpressions {
			said += 1 + len(e.Values)
		}
	}
	if said > mostSubGroups {
		return tooMany("spec.subGroupPolicy", "policies, labels and values", said, mostSubGroups)
	}
	for _, p := range policies {
		s := subGroup(p)
		var far *reason.Reason
		if s.Near, far = near("spec.subGroupPolicy["+p.Name+"].networkTopology", p.NetworkTopology); far != nil {
			bad = far
		}
		g.SubGroups = append(g.SubGroups, s)
		if _, err := metav1.LabelSelectorAsSelector(p.LabelSelector); err != nil {
			bad = &reason.Reason{Code: reason.Invalid, Field: "spec.subGroupPolicy[" + p.Name + "].labelSelector", Value: err.Error(), Remedy: "correct it"}
		}
	}
	return bad
}

// near takes over how near one another pods must or should be; nil when nothing is said.
func near(field string, t *schedulingv1beta1.NetworkTopologySpec) (*model.Near, *reason.Reason) {
	if t == nil {
		return nil, nil
	}
	n := &model.Near{Field: field, Hard: t.Mode != schedulingv1beta1.SoftNetworkTopologyMode, Tier: t.HighestTierAllowed, TierName: t.HighestTierName}
	switch {
	case t.Mode != "" && n.Hard && t.Mode != schedulingv1beta1.HardNetworkTopologyMode:
		return nil, &reason.Reason{Code: reason.Invalid, Field: field + ".mode", Value: fmt.Sprintf("%q", t.Mode), Remedy: "give hard or soft"}
	case n.Tier != nil && n.TierName != "":
		return nil, &reason.Reason{
			Code: reason.Invalid, Field: field + ".highestTierName", Value: fmt.Sprintf("%q", n.TierName),
			Remedy: fmt.Sprintf("highestTierAllowed is %d besides: give one of the two", *n.Tier),
		}
	case n.Tier != nil && *n.Tier < 0:
		return nil, invalid(field+".highestTierAllowed", *n.Tier)
	}
	return n, nil
}

func subGroup(p schedulingv1beta1.SubGroupPolicySpec) model.SubGroup {
	s := model.SubGroup{Name: p.Name, Selector: p.LabelSelector, By: p.MatchLabelKeys, Size: 1}
	if p.SubGroupSize != nil {
		s.Size = max(*p.SubGroupSize, 1)
	}
	if p.MinSubGroups != nil {
		s.Least = max(*p.MinSubGroups, 0)
	}
	return s
}

// hints keeps those annotations that plugins may read: those of our domain, and
// the one that users write without any. Of what can't be read, whatever plugins
// there are, it says so, in order.
func hints(annotations map[string]string) (kept map[string]string, unread []string) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		domain, _, _ := strings.Cut(key, "/")
		if domain != "volcano.sh" && !strings.HasSuffix(domain, ".volcano.sh") && key != "sla-waiting-time" {
			continue
		}
		value := annotations[key]
		if len(value) > longestHint {
			unread = append(unread, fmt.Sprintf("annotation %s has %d bytes and counts as not given: give at most %d", key, len(value), longestHint))
			continue
		}
		if remedy := model.MisreadHint(key, value); remedy != "" {
			unread = append(unread, fmt.Sprintf("annotation %s is %q and counts as not given: %s", key, value, remedy))
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
	}
	return kept, unread
}
