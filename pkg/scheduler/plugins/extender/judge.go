package extender

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// scale is what a score of 1 is worth: scores are added up in ten-thousandths.
const scale = 10_000

// highest is the best score that is taken for one.
const highest = 1_000_000

// placement is a task that the server was told of.
type placement struct {
	task *model.Task
	node *model.Node
}

// Kind is empty for tasks that do not concern the server. Others are not told
// apart: tasks of one gang and role come from one template.
func (p *plugin) Kind(t *model.Task) string {
	if p.predicate == "" && p.prioritize == "" && p.allocate == "" {
		return ""
	}
	concerned := len(p.managed) == 0 || slices.ContainsFunc(p.managed, func(name string) bool {
		_, asks := t.Shape.Requests.Get(name)
		return asks
	})
	if !concerned {
		return ""
	}
	return Name
}

// judge is the server's view of the nodes for tasks of one kind.
type judge struct {
	*plugin
	task     *model.Task // whose like is placed next
	verdicts map[model.NodeID]verdict
	scores   map[string]float64 // by name of the node
}

// Judge asks about all nodes that have room, several at once.
func (p *plugin) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	p.settle(t.Gang)
	j := &judge{plugin: p, task: t, verdicts: map[model.NodeID]verdict{}}
	var nodes []*model.Node
	for _, n := range p.world.Nodes() {
		allowed := int(n.ID) >= len(t.Class.Causes) || t.Class.Causes[n.ID] == 0
		if n.Known && allowed && n.Free.Times(t.Class.Req) > 0 {
			nodes = append(nodes, n)
		}
	}
	if p.predicate != "" {
		nodes = j.filter(nodes)
		if len(nodes) == 0 && p.down != nil && !p.ignorable {
			why, _ := p.word(p.predicate, verdict{err: p.down})
			return nil, why, false
		}
	}
	if p.prioritize != "" && len(nodes) > 0 {
		if err := j.rate(nodes); err != nil && !p.ignorable {
			why, _ := p.word(p.prioritize, verdict{err: err})
			return nil, why, false
		}
	}
	return j, reason.Reason{}, true
}

// filter asks about the nodes and returns those that will do.
func (j *judge) filter(nodes []*model.Node) []*model.Node {
	if j.down != nil {
		return j.note(nodes, slices.Repeat([]verdict{{err: j.down}}, len(nodes)))
	}
	x := j.put(len(nodes), func(i int) (json.RawMessage, error) { return j.question(nodes[i]) })
	verdicts := make([]verdict, len(nodes))
	for i, n := range nodes {
		verdicts[i] = verdictOn(n, x.Answers[i])
	}
	var failed error
	for _, v := range verdicts {
		if _, gone := errors.AsType[*unreachableError](v.err); gone {
			failed = v.err
			break
		}
	}
	j.account(x.Took, failed)
	if failed != nil { // who was not asked then, was not asked for the same cause
		for i := range verdicts {
			if errors.Is(verdicts[i].err, errSlow) {
				verdicts[i].err = failed
			}
		}
	}
	return j.note(nodes, verdicts)
}

// question asks about one node. It may run beside others: it only reads.
func (j *judge) question(n *model.Node) (json.RawMessage, error) {
	return j.post(j.predicate, &predicateRequest{task(j.task, true), facts{j.world}.node(n, true)}, true)
}

// verdictOn reads what was answered about a node.
func verdictOn(n *model.Node, a answer) verdict {
	var said predicateResponse
	if err := a.read(&said); err != nil {
		return verdict{err: err}
	}
	cause, err := said.refusal()
	return verdict{strings.ReplaceAll(short(cause), n.Name, "it"), err}
}

// note keeps the verdicts and returns the nodes that will do.
func (j *judge) note(nodes []*model.Node, verdicts []verdict) []*model.Node {
	var good []*model.Node
	for i, v := range verdicts {
		j.verdicts[nodes[i].ID] = v
		if _, fits := j.word(j.predicate, v); fits {
			good = append(good, nodes[i])
		}
	}
	return good
}

// rate asks for the scores of all nodes at once. Their tasks are told without their pods.
func (j *judge) rate(nodes []*model.Node) error {
	f := facts{j.world}
	request := &prioritizeRequest{Task: task(j.task, true)}
	for _, n := range nodes {
		request.Nodes = append(request.Nodes, f.node(n, false))
	}
	var answer prioritizeResponse
	if err := j.ask(j.prioritize, request, &answer); err != nil {
		return err
	}
	if answer.ErrorMessage != "" {
		return errors.New(short(answer.ErrorMessage))
	}
	j.scores = answer.NodeScore
	return nil
}

// Domain is the node itself.
func (*judge) Domain(n *model.Node) string { return n.Name }

// Fits is what the server said of n, which is asked again when a task was placed there.
func (j *judge) Fits(n *model.Node) (string, bool) {
	if j.predicate == "" {
		return "", true
	}
	v, known := j.verdicts[n.ID]
	if !known {
		if v = (verdict{err: j.down}); j.down == nil {
			x := j.put(1, func(int) (json.RawMessage, error) { return j.question(n) })
			v = verdictOn(n, x.Answers[0])
			j.account(x.Took, v.err)
		}
		j.verdicts[n.ID] = v
	}
	why, fits := j.word(j.predicate, v)
	if fits {
		return "", true
	}
	if v.err != nil {
		return "extender can't be asked: " + short(why.Value), false
	}
	return "extender: " + why.Value, false
}

// Score is the server's, held within bounds.
func (j *judge) Score(n *model.Node) int64 {
	return int64(math.Round(max(-highest, min(highest, j.scores[n.Name])) * scale))
}

// Placed tells the server, and forgets what it said of the node before.
func (j *judge) Placed(t *model.Task, n *model.Node) {
	delete(j.verdicts, n.ID)
	if j.allocate != "" || j.deallocate != "" {
		j.told = append(j.told, placement{t, n})
	}
	if j.allocate != "" {
		j.tell(j.allocate, &eventRequest{task(t, true)})
	}
}

// settle tells the server which placements were taken back. Those of an earlier
// gang that stand by now are final.
func (p *plugin) settle(gang *model.Gang) {
	final := gang != p.gang || gang == nil
	p.told = slices.DeleteFunc(p.told, func(x placement) bool {
		if x.task.On == x.node {
			return final
		}
		if p.deallocate != "" {
			info := task(x.task, true)
			info.NodeName = x.node.Name
			p.tell(p.deallocate, &eventRequest{info})
		}
		return true
	})
	p.gang = gang
}
