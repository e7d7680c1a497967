// Package relations is the plugin predicates with all its checks: beside fixed
// traits of nodes, what depends on other pods (affinity, anti-affinity, spread,
// host ports), on volumes and on devices. It asks kube-scheduler's own plugins, so
// that a pod means here what it means there.
//
// It is a room of its own, since it alone builds with k8s.io/kubernetes and the
// listers of client-go: cmd puts it in place of the light plugin of the same name.
// It calls no API. Objects come in through Learn, pods and nodes are those of the
// model, and what must be written before a task can be bound comes out of Prepare.
package relations

import (
	"errors"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
	"github.com/muster-sh/muster/pkg/scheduler/plugins/predicates"
)

type plugin struct {
	framework.FiltersNodes // the fixed traits
	kube                   handle
	mirror                 mirror
	repel                  repellents
	kinds                  kinds
	provider               provider
	on                     predicates.Switches
	parts                  []part
	world                  *model.World
	reserved               []*reservation
	judges                 []*judge // of this cycle
}

var (
	_ framework.FiltersNodes = &plugin{}
	_ framework.JudgesTasks  = &plugin{}
	_ framework.Begins       = &plugin{}
	_ framework.Learns       = &plugin{}
	_ framework.Prepares     = &plugin{}
	_ framework.Continues    = &plugin{}
	_ framework.GivesDevices = &plugin{}
)

// New makes the plugin. Its arguments are those of [predicates.Read].
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	on, err := predicates.Read(args, env)
	if err != nil {
		return nil, err
	}
	light, err := predicates.New(args, env)
	if err != nil {
		return nil, err
	}
	static, ok := light.(framework.FiltersNodes)
	if !ok {
		return nil, errors.New("the light plugin filters no nodes")
	}
	p := &plugin{FiltersNodes: static, on: on, provider: provider{dim: env.Dim, selects: Selects()}}
	if err := p.kube.equip(&p.mirror); err != nil {
		return nil, err
	}
	p.kube.devices.claims.away = p.away
	if p.parts, err = p.kube.parts(on); err != nil {
		return nil, err
	}
	return p, nil
}

// Continue takes other switches, and keeps what was chosen for pods that are being
// bound: what is written of that is not seen yet, and nobody else may have it.
func (p *plugin) Continue(as framework.Plugin) error {
	fresh, ok := as.(*plugin)
	if !ok {
		return fmt.Errorf("%T is another plugin", as)
	}
	parts, err := p.kube.parts(fresh.on)
	if err != nil {
		return err
	}
	p.FiltersNodes, p.on, p.parts = fresh.FiltersNodes, fresh.on, parts
	p.mirror, p.repel, p.kinds = mirror{}, repellents{}, kinds{} // they depend on the switches
	p.provider = fresh.provider
	p.provider.stale, p.provider.reclassed = true, true
	return nil
}

// equip gives a handle what kube-scheduler's plugins look for.
func (h *handle) equip(m *mirror) error {
	h.ctx, h.store, h.lister, h.pad = quiet(), newStore(), lister{m: m}, &notepad{}
	h.csi = nodevolumelimits.NewCSIManager(h.store.Storage().V1().CSINodes().Lister())
	var err error
	h.devices, err = newDevices(h.ctx, h.store)
	return err
}

func (*plugin) Name() string { return predicates.Name }

// WakesOn is any change of nodes, pods or objects: each may lift a refusal.
func (*plugin) WakesOn() model.Change {
	return model.NodeChanged | model.NodeRoom | model.TaskPlaced | model.ObjectChanged
}

// Begin takes the world to be looked at.
func (p *plugin) Begin(w *model.World, now time.Time) {
	p.world, p.judges = w, nil
	p.kube.pad.now = metav1.NewTime(now)
	p.mirror.begin(w)
	p.repel.begin(w)
	p.kinds.begin()
}

// Learn keeps the objects that kube-scheduler's plugins look for.
func (p *plugin) Learn(o runtime.Object, gone bool) {
	if p.kube.store.learn(o, gone) {
		p.provider.learn(o)
		if claim, ok := o.(*resourcev1.ResourceClaim); ok {
			p.kube.devices.learn(claim, gone)
		}
	}
}

// Judge prepares for tasks like t. A task whose prerequisites are missing, a claim
// for instance, is refused with kube-scheduler's words.
func (p *plugin) Judge(t *model.Task) (framework.Judge, reason.Reason, bool) {
	p.settle()
	p.mirror.follow()
	p.repel.follow(p)
	j := &judge{p: p, task: t}
	if why := j.renew(); why != "" {
		return nil, reason.Reason{Code: reason.Unplaceable, Object: t.Name, Value: why}, false
	}
	j.keys, j.single = p.extent(j)
	j.kept = p.reservedFrom(t)
	p.judges = append(p.judges, j)
	return j, reason.Reason{}, true
}
