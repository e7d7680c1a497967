package relations

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/muster-sh/muster/pkg/model"
)

// mirror shows the nodes of the model, with the pods on them, as kube-scheduler's
// plugins see nodes. It follows the model's log, so that a look costs what changed.
type mirror struct {
	world *model.World
	at    int // position in the world's log
	cells []*cell
	// infos are the cells of nodes that exist; nil: to be gathered again.
	infos []fwk.NodeInfo
	// affine, anti and wide count pods with terms about other pods, with required
	// anti-affinity, and with such that reaches beyond a node.
	affine, anti, wide int
	claims             map[string]int // pods per claim, by namespace/name
	// changes are the pods that came and went since the cycle began, while noting is on.
	changes []change
	noting  bool
	index   index
	// narrowed: cells show only some of their pods; see narrow.
	narrowed bool
}

// cell is one node.
type cell struct {
	*framework.NodeInfo
	mirror *mirror
	epoch  uint64
	known  bool
	tasks  []held
	wide   []fwk.PodInfo
	only   []fwk.PodInfo
}

// held is a task as it was seen on a node.
type held struct {
	task *model.Task
	info *podInfo // nil for a task without a pod
}

// change is a pod that came to a node (1) or went (-1).
type change struct {
	cell *cell
	info *podInfo
	by   int
}

// GetPodsWithRequiredNonHostScopedAntiAffinity is kept here, since the NodeInfo
// below fills it only when a feature gate of the whole process is on.
func (c *cell) GetPodsWithRequiredNonHostScopedAntiAffinity() []fwk.PodInfo { return c.wide }

// of is the cell of a node, up to date as of the last follow.
func (m *mirror) of(n *model.Node) *cell { return m.cells[n.ID] }

// begin hands over the world at the beginning of a cycle.
func (m *mirror) begin(w *model.World) {
	if m.world != w {
		*m = mirror{world: w, at: -1, claims: map[string]int{}}
	}
	m.changes, m.noting = m.changes[:0], false
}

// follow brings the mirror up to the present state of the world.
func (m *mirror) follow() {
	log := &m.world.Log
	nodes := m.world.Nodes()
	if m.at == log.End() && len(m.cells) == len(nodes) {
		return
	}
	for len(m.cells) < len(nodes) {
		m.cells = append(m.cells, &cell{NodeInfo: framework.NewNodeInfo(), mirror: m})
		m.infos = nil
	}
	if m.at < log.Begin() {
		for _, n := range nodes {
			m.look(n)
		}
	} else {
		for _, id := range log.Since(m.at) {
			m.look(nodes[id])
		}
	}
	m.at = log.End()
}

// look compares one node with its cell.
func (m *mirror) look(n *model.Node) {
	c := m.cells[n.ID]
	if c.epoch == n.Epoch {
		return
	}
	c.epoch = n.Epoch
	if node := nodeOf(n); !c.known || c.Node() != node {
		c.SetNode(node)
	}
	if c.known != n.Known {
		c.known, m.infos = n.Known, nil
	}
	m.compare(c, n.Tasks)
}

// compare makes a cell hold the given tasks. The model puts a new task at the end
// and the last in place of one that goes, so that few are out of place.
func (m *mirror) compare(c *cell, tasks []*model.Task) {
	same := 0
	for same < len(tasks) && same < len(c.tasks) && c.tasks[same].is(tasks[same]) {
		same++
	}
	kept := map[*model.Task]*podInfo{}
	for _, h := range c.tasks[same:] {
		if i := slices.IndexFunc(tasks[same:], h.is); i >= 0 {
			kept[h.task] = h.info
		} else {
			m.remove(c, h.info)
		}
	}
	c.tasks = c.tasks[:same]
	for _, t := range tasks[same:] {
		info, ok := kept[t]
		if !ok {
			info = newPodInfo(t.Pod)
			m.add(c, info)
		}
		c.tasks = append(c.tasks, held{t, info})
	}
}

// is reports whether the task is still what was seen.
func (h held) is(t *model.Task) bool {
	return h.task == t && (t.Pod == nil) == (h.info == nil) && (t.Pod == nil || h.info.Pod == t.Pod)
}

// podInfo is a pod with its terms about others.
type podInfo struct{ *framework.PodInfo }

// CalculateResource is nothing: room is counted by the model.
func (podInfo) CalculateResource() fwk.PodResource {
	return fwk.PodResource{Resource: &framework.Resource{}}
}

// newPodInfo reads a pod; nil for a task without one. Terms that can't be read are
// left out, as kube-scheduler does with pods that run already.
func newPodInfo(p *corev1.Pod) *podInfo {
	if p == nil {
		return nil
	}
	info, _ := framework.NewPodInfo(p)
	return &podInfo{info}
}

func (m *mirror) add(c *cell, info *podInfo) {
	if info == nil {
		return
	}
	c.AddPodInfo(info)
	if wide(info.Pod) {
		c.wide = append(c.wide, info)
	}
	m.count(c, info, 1)
}

func (m *mirror) remove(c *cell, info *podInfo) {
	if info == nil || c.RemovePod(klog.Logger{}, info.Pod) != nil {
		return
	}
	if wide(info.Pod) {
		c.wide = slices.DeleteFunc(c.wide, func(other fwk.PodInfo) bool { return other == fwk.PodInfo(info) })
	}
	m.count(c, info, -1)
}

func (m *mirror) count(c *cell, info *podInfo, by int) {
	if a := info.Pod.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		m.affine += by
	}
	if len(info.RequiredAntiAffinityTerms) > 0 {
		m.anti += by
	}
	if wide(info.Pod) {
		m.wide += by
	}
	for _, v := range info.Pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			key := info.Pod.Namespace + "/" + v.PersistentVolumeClaim.ClaimName
			if m.claims[key] += by; m.claims[key] == 0 {
				delete(m.claims, key)
			}
		}
	}
	m.index.note(c, info, by)
	if m.noting {
		m.changes = append(m.changes, change{c, info, by})
	}
}

// wide reports whether a pod keeps others away from more than its node.
func wide(p *corev1.Pod) bool {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	for _, t := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if t.TopologyKey != corev1.LabelHostname {
			return true
		}
	}
	return false
}

// nodeOf is the object of a node; one made of what the model knows for a node of a script.
func nodeOf(n *model.Node) *corev1.Node {
	if n.Object != nil {
		return n.Object
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: corev1.NodeSpec{Taints: n.Taints, Unschedulable: n.Unschedulable}}
}

// lister shows a mirror to kube-scheduler's plugins.
type lister struct {
	fwk.SharedLister // groups of pods, which none of the plugins in use asks for; nil
	m                *mirror
}

func (l lister) NodeInfos() fwk.NodeInfoLister { return l }

func (l lister) StorageInfos() fwk.StorageInfoLister { return l }

func (l lister) IsPVCUsedByPods(key string) bool { return l.m.claims[key] > 0 }

func (l lister) List() ([]fwk.NodeInfo, error) {
	if l.m.infos == nil {
		l.m.infos = make([]fwk.NodeInfo, 0, len(l.m.cells))
		for _, c := range l.m.cells {
			if c.known {
				l.m.infos = append(l.m.infos, c)
			}
		}
	}
	return l.m.infos, nil
}

func (l lister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return l.having(l.m.affine, func(i fwk.NodeInfo) bool { return len(i.GetPodsWithAffinity()) > 0 })
}

func (l lister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.having(l.m.anti, func(i fwk.NodeInfo) bool { return len(i.GetPodsWithRequiredAntiAffinity()) > 0 })
}

func (l lister) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.having(l.m.wide, func(i fwk.NodeInfo) bool { return len(i.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 })
}

// having lists the nodes with at least one of the pods that there are so many of.
func (l lister) having(pods int, has func(fwk.NodeInfo) bool) ([]fwk.NodeInfo, error) {
	if pods == 0 {
		return nil, nil
	}
	all, err := l.List()
	var some []fwk.NodeInfo
	for _, i := range all {
		if has(i) {
			some = append(some, i)
		}
	}
	return some, err
}

func (l lister) Get(name string) (fwk.NodeInfo, error) {
	if n := l.m.world.NodeNamed(name); n != nil && int(n.ID) < len(l.m.cells) && l.m.of(n).known {
		return l.m.of(n), nil
	}
	return nil, errors.New("no node " + name)
}
