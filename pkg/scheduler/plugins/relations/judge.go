package relations

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	kubeframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// judge holds what kube-scheduler's plugins worked out once for tasks of a kind,
// and keeps it right as tasks are placed.
type judge struct {
	p      *plugin
	task   *model.Task
	state  fwk.CycleState
	active []part // that have something to say about the task
	spread *spread
	seen   int    // of the mirror's changes
	stale  bool   // to be worked out anew before the next answer
	broken string // why no node would do any more
	denied bool   // some node was turned away since it was worked out
	fitted bool   // some node would do, at one time or another
	// keys are the labels that a node's verdict follows; single: the node itself counts.
	keys   []string
	single bool
	// kept are nodes on which such devices as the task claims are set aside for another gang.
	kept map[model.NodeID]bool
}

var _ framework.Judge = &judge{}

// renew works everything out from the beginning; it returns why no node would do, empty when some may.
func (j *judge) renew() string {
	m := &j.p.mirror
	m.noting = true
	j.seen, j.stale = len(m.changes), false
	j.state, j.active, j.spread, j.denied = kubeframework.NewCycleState(), nil, nil, false
	infos, err := j.p.kube.lister.List()
	if err != nil {
		return err.Error()
	}
	defer m.narrow(j.task.Pod)()
	for _, pt := range j.p.parts {
		_, s := pt.PreFilter(j.p.kube.ctx, j.state, j.task.Pod, infos)
		switch {
		case s.IsSkip():
		case s.IsSuccess():
			j.active = append(j.active, pt)
		default:
			return s.Message()
		}
	}
	j.spread = newSpread(j.state, j.task.Pod)
	return ""
}

// follow brings the state up to what was placed since, on behalf of whomever.
func (j *judge) follow() {
	m := &j.p.mirror
	m.follow()
	for ; j.seen < len(m.changes) && !j.stale; j.seen++ {
		c := m.changes[j.seen]
		j.apply(c)
		j.stale = j.stale || j.unforeseen(c.info)
	}
	if j.stale {
		j.broken = j.renew()
	}
}

// unforeseen reports whether a pod has terms of a sort that were none when the
// state was worked out, so that there is nothing to add it to.
func (j *judge) unforeseen(info *podInfo) bool {
	return len(info.RequiredAntiAffinityTerms) > 0 && j.p.on.PodAffinity &&
		!slices.ContainsFunc(j.active, func(pt part) bool { return pt.Name() == affinityName })
}

// apply adds one pod to the state, or takes it away.
func (j *judge) apply(c change) {
	for _, pt := range j.active {
		ext := pt.PreFilterExtensions()
		if ext == nil {
			continue
		}
		counts := pt.Name() == spreadName && j.spread != nil
		if counts && j.spread.anew {
			j.stale = true
			continue
		}
		if counts {
			j.spread.before(c.cell.Node())
		}
		change := ext.AddPod
		if c.by < 0 {
			change = ext.RemovePod
		}
		if !change(j.p.kube.ctx, j.state, j.task.Pod, c.info, c.cell).IsSuccess() {
			j.stale = true
		}
		if counts {
			j.spread.after(c.cell.Node())
		}
	}
}

func (j *judge) Fits(n *model.Node) (string, bool) {
	j.follow()
	if j.broken != "" {
		return j.broken, false
	}
	if j.kept[n.ID] {
		return "devices reserved for gangs that waited longer", false
	}
	info := j.p.mirror.of(n)
	for _, pt := range j.active {
		if s := pt.filter.Filter(j.p.kube.ctx, j.state, j.task.Pod, info); !s.IsSuccess() {
			j.denied = true
			return cause(s), false
		}
	}
	j.fitted = true
	return "", true
}

// cause is the plugin's first reason, without its way to count nodes.
func cause(s *fwk.Status) string {
	words := s.Message()
	if reasons := s.Reasons(); len(reasons) > 0 {
		words = reasons[0]
	}
	return strings.TrimPrefix(words, "node(s) ")
}

// Placed sets aside what t needs on n. The world has t on n by then.
func (j *judge) Placed(t *model.Task, n *model.Node) {
	if claims(t.Pod) || j.p.provider.backs(t) {
		j.p.reserve(j.state, t, n)
		j.stale = true
	}
	j.follow()
}

// OnlyFilters says that all scores are 0.
func (*judge) OnlyFilters() {}

// Score has no opinion: preferences belong to the plugin nodeorder.
func (*judge) Score(*model.Node) int64 { return 0 }

// absent stands for a label that a node lacks; no value of a label looks like it.
const absent = "\x01"

func (j *judge) Domain(n *model.Node) string {
	if j.single {
		return n.Name
	}
	return domain(n, j.keys)
}

// domain joins a node's values of the labels.
func domain(n *model.Node, keys []string) string {
	if len(keys) == 1 {
		return value(n, keys[0])
	}
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = value(n, key)
	}
	return strings.Join(values, "\x00")
}

func value(n *model.Node, key string) string {
	if v, ok := n.Labels[key]; ok {
		return v
	}
	return absent
}

// claims reports whether a pod uses claims for volumes or devices.
func claims(p *corev1.Pod) bool {
	return len(p.Spec.ResourceClaims) > 0 || slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}

// extent is by which labels of nodes a judge tells them apart; single: by each node.
func (p *plugin) extent(j *judge) (keys []string, single bool) {
	for _, pt := range j.active {
		if !pt.pods {
			return nil, true
		}
	}
	pod := j.task.Pod
	for _, c := range spreads(pod, corev1.DoNotSchedule) {
		keys = append(keys, c.TopologyKey)
	}
	for _, t := range requiredTerms(pod) {
		keys = append(keys, t.TopologyKey)
	}
	keys = append(keys, p.repel.keysAgainst(pod, p.namespaceLabels(pod.Namespace))...)
	slices.Sort(keys)
	return slices.Compact(keys), false
}

// requiredTerms are a pod's terms about others that must hold.
func requiredTerms(p *corev1.Pod) []corev1.PodAffinityTerm {
	return slices.Concat(fwk.GetPodAffinityTerms(p.Spec.Affinity), fwk.GetPodAntiAffinityTerms(p.Spec.Affinity))
}
