package intake

import (
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

		Annotations: hints(pg.Annotations),
	}
	if g.Queue == "" {
		g.Queue = schedulingv1beta1.DefaultQueue
	}
	g.Problem = topology("spec.networkTopology", pg.Spec.NetworkTopology)
	for _, p := range pg.Spec.SubGroupPolicy {
		if bad := topology("spec.subGroupPolicy["+p.Name+"].networkTopology", p.NetworkTopology); bad != nil {
			g.Problem = bad
		}
		g.SubGroups = append(g.SubGroups, subGroup(p))
		if _, err := metav1.LabelSelectorAsSelector(p.LabelSelector); err != nil {
			g.Problem = &reason.Reason{Code: reason.Invalid, Field: "spec.subGroupPolicy[" + p.Name + "].labelSelector", Value: err.Error(), Remedy: "correct it"}
		}
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
	for _, role := range slices.Sorted(maps.Keys(pg.Spec.MinTaskMember)) {
		least := pg.Spec.MinTaskMember[role]
		if least < 0 {
			g.Problem = invalid("spec.minTaskMember["+role+"]", least)
		}
		g.RoleMin = append(g.RoleMin, model.RoleMin{Role: role, Min: least})
	}
	return g
}

// topology is the reason of a bound that must hold, nil for one that need not.
func topology(field string, t *schedulingv1beta1.NetworkTopologySpec) *reason.Reason {
	if t == nil || t.Mode == schedulingv1beta1.SoftNetworkTopologyMode {
		return nil
	}
	return unchecked(field, "use mode: soft")
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
// the one that users write without any.
func hints(annotations map[string]string) map[string]string {
	var kept map[string]string
	//muster:anyorder a copy from map to map
	for key, value := range annotations {
		domain, _, _ := strings.Cut(key, "/")
		if domain == "volcano.sh" || strings.HasSuffix(domain, ".volcano.sh") || key == "sla-waiting-time" {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

// unchecked is the reason of what can't be checked.
func unchecked(field, remedy string) *reason.Reason {
	return &reason.Reason{Code: reason.Unsupported, Field: field, Remedy: "Muster can't check this yet; " + remedy}
}
