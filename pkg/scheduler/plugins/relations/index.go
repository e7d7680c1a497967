package relations

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// index finds pods by key and value of a label, with the cell each is in. It knows
// the keys that selectors asked for.
type index map[string]map[string]map[*podInfo]*cell

// mostKeys is how many keys an index knows before it begins anew.
const mostKeys = 64

// note enters a pod that came to a cell, or takes one out that went.
func (x index) note(c *cell, info *podInfo, by int) {
	for key := range x { //muster:anyorder each key has a map of its own
		if by > 0 {
			x.enter(key, c, info)
		} else if v, ok := info.Pod.Labels[key]; ok {
			if delete(x[key][v], info); len(x[key][v]) == 0 {
				delete(x[key], v)
			}
		}
	}
}

func (x index) enter(key string, c *cell, info *podInfo) {
	v, ok := info.Pod.Labels[key]
	if !ok {
		return
	}
	if x[key][v] == nil {
		x[key][v] = map[*podInfo]*cell{}
	}
	x[key][v][info] = c
}

// know makes the index of a mirror know a key.
func (m *mirror) know(key string) {
	if m.index[key] != nil {
		return
	}
	if m.index == nil || len(m.index) >= mostKeys {
		m.index = index{}
	}
	m.index[key] = map[string]map[*podInfo]*cell{}
	for _, c := range m.cells {
		for _, h := range c.tasks {
			if h.info != nil {
				m.index.enter(key, c, h.info)
			}
		}
	}
}

// narrow makes all cells show only pods that the terms of p about others could
// match, until the function that it returns is called. Where a term can match pods
// of any label, all are shown.
func (m *mirror) narrow(p *corev1.Pod) (widen func()) {
	var pods []map[*podInfo]*cell
	for _, s := range selectors(p) {
		if s == nil {
			continue // matches none
		}
		some, ok := m.matching(s)
		if !ok {
			return func() {}
		}
		pods = append(pods, some...)
	}
	shown := map[*podInfo]*cell{}
	for _, some := range pods {
		for info, c := range some { //muster:anyorder they are only counted
			if shown[info] == nil {
				shown[info] = c
				c.only = append(c.only, info)
			}
		}
	}
	m.narrowed = true
	return func() {
		m.narrowed = false
		for _, c := range shown { //muster:anyorder each is emptied
			c.only = c.only[:0]
		}
	}
}

// matching finds the fewest pods among which are all that a selector matches; false
// when it names no value of any label.
func (m *mirror) matching(s *metav1.LabelSelector) (best []map[*podInfo]*cell, ok bool) {
	fewest := 0
	consider := func(key string, values ...string) {
		m.know(key)
		var pods []map[*podInfo]*cell
		n := 0
		for _, v := range values {
			pods = append(pods, m.index[key][v])
			n += len(m.index[key][v])
		}
		if !ok || n < fewest {
			best, fewest, ok = pods, n, true
		}
	}
	for key, v := range s.MatchLabels { //muster:anyorder each choice holds all that match
		consider(key, v)
	}
	for _, e := range s.MatchExpressions {
		if e.Operator == metav1.LabelSelectorOpIn {
			consider(e.Key, e.Values...)
		}
	}
	return best, ok
}

// selectors are those of a pod's terms about others that must hold.
func selectors(p *corev1.Pod) []*metav1.LabelSelector {
	var all []*metav1.LabelSelector
	for _, c := range spreads(p, corev1.DoNotSchedule) {
		all = append(all, c.LabelSelector)
	}
	for _, t := range requiredTerms(p) {
		all = append(all, t.LabelSelector)
	}
	return all
}

// GetPods shows the pods of a node, or those that matter at the moment.
func (c *cell) GetPods() []fwk.PodInfo {
	if c.mirror.narrowed {
		return c.only
	}
	return c.NodeInfo.GetPods()
}
