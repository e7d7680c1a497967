package relations

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
)

// most is how many pods' facts are remembered.
const most = 1 << 18

// facts is what a pod asks of others, read once.
type facts struct {
	pod    *corev1.Pod
	asks   string   // all of it that must hold, as text; empty for nothing
	labels []string // keys that its selectors look at
	repels []fwk.AffinityTerm
	// containers is what each of them asks for; empty until it is asked for.
	containers string
}

// kinds tells tasks apart.
type kinds struct {
	facts map[string]*facts // by UID of the pod
	// last is the gang that was asked for last: tasks of a gang are asked for together.
	last   *model.Gang
	labels []string // keys that selectors of its tasks look at
	repels []fwk.AffinityTerm
}

// begin forgets what may be otherwise in another cycle.
func (k *kinds) begin() {
	k.last = nil
	if k.facts == nil || len(k.facts) > most {
		k.facts = map[string]*facts{}
	}
}

// of reads a pod, or remembers it.
func (k *kinds) of(t *model.Task, on predicates.Switches) *facts {
	if f := k.facts[t.UID]; f != nil && f.pod == t.Pod {
		return f
	}
	f := read(t.Pod, on)
	k.facts[t.UID] = f
	return f
}

// gang gathers what the tasks of a gang ask.
func (k *kinds) gang(g *model.Gang, on predicates.Switches) {
	if g == k.last {
		return
	}
	k.last, k.labels, k.repels = g, nil, nil
	if g == nil {
		return
	}
	seen := map[string]bool{}
	for _, t := range g.Tasks {
		if !t.Shape.Related || t.Pod == nil {
			continue
		}
		if f := k.of(t, on); !seen[f.asks] {
			seen[f.asks] = true
			k.labels = append(k.labels, f.labels...)
			k.repels = append(k.repels, f.repels...)
		}
	}
	slices.Sort(k.labels)
	k.labels = slices.Compact(k.labels)
}

// Kind is empty for a task that asks nothing of others and that no task, placed or
// of its own gang, keeps away. Else it is its namespace, what it asks, and its
// labels as far as any selector around looks at them.
func (p *plugin) Kind(t *model.Task) string {
	if t.Pod == nil {
		return ""
	}
	p.repel.follow(p)
	p.kinds.gang(t.Gang, p.on)
	asks, own := "", []string(nil)
	if t.Shape.Related {
		f := p.kinds.of(t, p.on)
		asks, own = f.asks, f.labels
	}
	if p.provider.backs(t) {
		asks += "\x00" + p.extended(t)
	}
	if asks == "" && !p.kept(t.Pod) {
		return ""
	}
	var kind strings.Builder
	kind.WriteString(t.Pod.Namespace)
	kind.WriteByte(0)
	kind.WriteString(asks)
	for _, keys := range [][]string{own, p.kinds.labels, p.repel.labels} {
		for _, key := range keys {
			if v, ok := t.Pod.Labels[key]; ok {
				kind.WriteByte(0)
				kind.WriteString(key)
				kind.WriteByte('=')
				kind.WriteString(v)
			}
		}
	}
	return kind.String()
}

// kept reports whether any task around keeps a pod away from somewhere.
func (p *plugin) kept(pod *corev1.Pod) bool {
	ns := p.namespaceLabels(pod.Namespace)
	return p.repel.matching(pod, ns) != nil || slices.ContainsFunc(p.kinds.repels, func(t fwk.AffinityTerm) bool { return t.Matches(pod, ns) })
}

// read gathers what a pod asks of others and must hold, and what keeps others away.
func read(p *corev1.Pod, on predicates.Switches) *facts {
	f := &facts{pod: p}
	var ask struct {
		Affinity, Anti []corev1.PodAffinityTerm          `json:",omitempty"`
		Spread         []corev1.TopologySpreadConstraint `json:",omitempty"`
		Ports          []corev1.ContainerPort            `json:",omitempty"`
		Volumes        []corev1.Volume                   `json:",omitempty"`
		Claims         []corev1.PodResourceClaim         `json:",omitempty"`
		Given          []corev1.PodResourceClaimStatus   `json:",omitempty"`
		Name           string                            `json:",omitempty"`
	}
	keys := map[string]bool{}
	if on.PodAffinity {
		ask.Affinity, ask.Anti = fwk.GetPodAffinityTerms(p.Spec.Affinity), fwk.GetPodAntiAffinityTerms(p.Spec.Affinity)
		for _, t := range slices.Concat(ask.Affinity, ask.Anti) {
			note(keys, t.LabelSelector, t.MatchLabelKeys, t.MismatchLabelKeys)
		}
		f.repels, _ = fwk.GetAffinityTerms(p, ask.Anti) // an unreadable one keeps nobody away, and the pod itself is refused
	}
	if on.Spread {
		ask.Spread = spreads(p, corev1.DoNotSchedule)
		for _, c := range ask.Spread {
			note(keys, c.LabelSelector, c.MatchLabelKeys)
		}
	}
	if on.Ports {
		ask.Ports = util.GetHostPorts(p)
	}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			ask.Volumes = append(ask.Volumes, v)
		}
		if v.Ephemeral != nil {
			ask.Name = p.Name // its claim is called after it
		}
	}
	if on.Devices {
		ask.Claims, ask.Given = p.Spec.ResourceClaims, p.Status.ResourceClaimStatuses
	}
	if text, err := json.Marshal(ask); err == nil && string(text) != "{}" {
		f.asks = string(text)
	}
	f.labels = slices.Sorted(maps.Keys(keys))
	return f
}

// note adds the label keys that a selector looks at.
func note(keys map[string]bool, s *metav1.LabelSelector, more ...[]string) {
	for _, list := range more {
		for _, key := range list {
			keys[key] = true
		}
	}
	if s == nil {
		return
	}
	//muster:anyorder from set to set
	for key := range s.MatchLabels {
		keys[key] = true
	}
	for _, e := range s.MatchExpressions {
		keys[e.Key] = true
	}
}
