package sim

import (
	"cmp"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	topologyv1alpha1 "github.com/muster-sh/muster/apis/topology/v1alpha1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// gone takes something away.
func (s *Sim) gone(w words) error {
	name := w.at(2)
	switch w.at(1) {
	case "node":
		s.engine.Apply(engine.NodeGone{Name: name})
	case "queue":
		s.engine.Apply(engine.QueueGone{Name: name})
	case "gang":
		s.engine.Apply(engine.GangGone{Key: name, UID: s.gangs[name].UID})
	case "task":
		for _, uid := range s.named(name) {
			delete(s.tasks, uid)
			s.engine.Apply(engine.TaskGone{UID: uid})
		}
	case "claim":
		s.engine.Apply(engine.ObjectSet{Object: &resourcev1.ResourceClaim{ObjectMeta: named(name)}, Gone: true})
	case "hypernode":
		s.engine.Apply(engine.ObjectSet{Object: &topologyv1alpha1.HyperNode{ObjectMeta: named(name)}, Gone: true})
	default:
		return fmt.Errorf("gone %s: write node, queue, gang, task, claim or hypernode", w.at(1))
	}
	return nil
}

// hyperNode tells which nodes are near one another.
func (s *Sim) hyperNode(w words) error {
	tier, err := w.number("tier")
	if err != nil {
		return err
	}
	h := &topologyv1alpha1.HyperNode{ObjectMeta: named(w.at(1))}
	h.Spec.Tier, h.Spec.TierName = int(tier), w.named["name"]
	//muster:anyorder members are a set
	for key, of := range map[string]topologyv1alpha1.MemberType{"nodes": topologyv1alpha1.MemberTypeNode, "of": topologyv1alpha1.MemberTypeHyperNode} {
		for name := range strings.SplitSeq(w.named[key], ",") {
			if name != "" {
				h.Spec.Members = append(h.Spec.Members, topologyv1alpha1.MemberSpec{
					Type: of, Selector: topologyv1alpha1.MemberSelector{ExactMatch: &topologyv1alpha1.ExactMatch{Name: name}},
				})
			}
		}
	}
	s.engine.Apply(engine.ObjectSet{Object: h})
	return nil
}

// confirm lets the API server confirm the binds of a gang, or of all.
func (s *Sim) confirm(gang string) {
	for _, uid := range s.order {
		t, ok := s.tasks[uid]
		placed := s.engine.World.TaskOf(uid)
		if !ok || placed == nil || placed.Bucket != model.Assumed || (gang != "" && t.Gang != gang) {
			continue
		}
		t.Node, t.Started = placed.On.Name, s.now
		s.set(t)
	}
}

// happen tells what became of pods.
func (s *Sim) happen(what, name string) error {
	uids := s.named(name)
	if len(uids) == 0 {
		return fmt.Errorf("%s %s: there is no such task", what, name)
	}
	for _, uid := range uids {
		t := s.tasks[uid]
		switch what {
		case "keep":
			s.engine.Apply(engine.EvictFailed{UID: uid, Why: "denied"})
			continue
		case "refuse", "fail":
			on := s.engine.World.TaskOf(uid).On
			if on == nil {
				return fmt.Errorf("%s %s: it was not bound", what, uid)
			}
			if what == "refuse" {
				s.engine.Apply(engine.BindRefused{UID: uid, Node: on.Name, Why: "denied"})
				continue
			}
			s.engine.Apply(engine.BindFailed{UID: uid, Node: on.Name})
			continue
		case "run":
			t.Running = true
		case "succeed":
			t.Ended, t.Running, t.Finished = model.Succeeded, false, s.now
		case "crash":
			t.Ended, t.Running = model.Failed, false
		case "delete":
			t.Deleting = true
		case "ungate":
			t.Gated, t.QueueGated = false, false
		}
		s.set(t)
	}
	return nil
}

// named returns the tasks that name means, in order of arrival: itself, or all of a gang for "gang/*".
func (s *Sim) named(name string) []string {
	prefix, all := strings.CutSuffix(name, "*")
	var uids []string
	for _, uid := range s.order {
		if _, ok := s.tasks[uid]; ok && (uid == name || (all && strings.HasPrefix(uid, prefix))) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// usage tells how busy nodes are, all at once: NODE=CPU/MEMORY in percent.
func (s *Sim) usage(w words) error {
	u := &framework.Usage{ObjectMeta: metav1.ObjectMeta{Name: framework.UsageName}, At: s.now}
	for _, name := range w.order {
		n := framework.NodeUsage{Name: name}
		if _, err := fmt.Sscanf(w.named[name], "%d/%d", &n.CPU, &n.Memory); err != nil {
			return fmt.Errorf("usage %s=%s: write NODE=CPU/MEMORY, in percent", name, w.named[name])
		}
		u.Nodes = append(u.Nodes, n)
	}
	s.engine.Apply(engine.ObjectSet{Object: u})
	return nil
}

// cycle runs the engine once and prints its decisions.
func (s *Sim) cycle() []string {
	var out []string
	for _, d := range s.engine.Run(s.now).Decisions {
		out = append(out, printed(d)...)
		if n, ok := d.(engine.Nominate); ok {
			t := s.tasks[n.UID]
			t.Nominated = n.Node
			s.set(t)
		}
	}
	if next, ok := s.engine.Next(); ok {
		out = append(out, "next in "+next.Sub(s.now).String())
	}
	return out
}

// restart replaces the engine by another of the same configuration, and tells it what an API
// server would: decisions that nobody wrote down are lost.
func (s *Sim) restart() error {
	before := s.engine
	var err error
	if s.engine, err = engine.New(s.config, s.registry); err != nil {
		return err
	}
	for _, fact := range before.Facts() {
		switch fact := fact.(type) {
		case engine.TaskSet: // as the script said it, which no plan changes
		case engine.GangSet:
			if status, ok := before.StatusOf(fact.Gang.Key); ok {
				fact.Gang.Phase = status.Phase
			}
			s.engine.Apply(fact)
		default:
			s.engine.Apply(fact)
		}
	}
	for _, uid := range s.order {
		if t, ok := s.tasks[uid]; ok {
			s.set(t)
		}
	}
	return nil
}

// printed writes a decision in a line, or a line for each thing that is said.
func printed(d engine.Decision) []string {
	line := func(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }
	switch d := d.(type) {
	case engine.Bind:
		return line("bind %s %s", d.Name, d.Node)
	case engine.Undo:
		return line("undo %s", d.Name)
	case engine.Evict:
		return line("evict %s: %s", d.Name, d.Why)
	case engine.Nominate:
		return line("nominate %s %s", d.Name, cmp.Or(d.Node, "nowhere"))
	case engine.Refuse:
		if d.Task != "" {
			return line("refuse pod %s: %s", d.Task, d.Why)
		}
		return line("refuse %s: %s", d.Gang, d.Why)
	case engine.Ungate:
		return line("ungate %s", d.Name)
	case engine.Fault:
		return line("fault %s", d)
	case engine.Notice:
		return noticed(d)
	case engine.Unmet:
		if d.Why == nil {
			return line("met %s", d.Gang)
		}
		return line("unmet %s: %s", d.Gang, d.Why)
	case engine.Status:
		waits := ""
		if d.Waits {
			waits = " waits"
		}
		return line("status %s %s held=%d/%d running=%d succeeded=%d failed=%d%s",
			d.Gang, d.Phase, d.Held, d.Min, d.Running, d.Succeeded, d.Failed, waits)
	}
	return nil
}

// noticed writes a line for each thing that is said of a gang or queue.
func noticed(d engine.Notice) (lines []string) {
	who := d.Gang
	if d.Queue != "" {
		who = "queue " + d.Queue
	}
	for _, said := range d.Said {
		lines = append(lines, fmt.Sprintf("notice %s: %s", who, said))
	}
	return lines
}
