// Package resourcequota refuses to tell gangs to go ahead whose pods the API
// server would not let in, because a ResourceQuota of their namespace leaves too
// little. It only bounds admission: the API server enforces quotas.
//
// Of a quota it checks requests (cpu, requests.cpu, requests.nvidia.com/gpu …)
// and the number of pods. It can't check limits, since minResources tell only
// requests, nor quotas with scopes, since the pods that those are about are not
// known before they exist; both are left to the API server.
package resourcequota

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/reason"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// Name is the plugin's name in a configuration.
const Name = "resourcequota"

type plugin struct {
	dim    func(name string) int
	spaces map[string]*space // by namespace; those with quotas only
}

// space is a namespace with quotas.
type space struct {
	quotas map[string][]bound // by name of the quota, in order of the bounds' names
	// passed are gangs that were let through. They count for as long as
	// something is promised to them: their pods are not among what is used yet.
	passed []*model.Gang
}

// bound is one line of a quota.
type bound struct {
	name       string // as the quota calls it
	unit       string // the resource that it counts
	dim        int
	hard, used int64
}

var (
	_ framework.Learns       = &plugin{}
	_ framework.VotesOnGangs = &plugin{}
)

// New makes the plugin. It has no arguments.
func New(args framework.Args, env framework.Env) (framework.Plugin, error) {
	return &plugin{dim: env.Dim, spaces: map[string]*space{}}, args.Read().Err()
}

func (*plugin) Name() string { return Name }

// WakesOn: another quota, or what was promised to others and is not any more.
func (*plugin) WakesOn() model.Change { return model.ObjectChanged | model.QueueRoom }

// Learn keeps what ResourceQuotas bound. What an owner wants now (spec.hard)
// counts, also while the quota's controller has not seen it yet.
func (p *plugin) Learn(o runtime.Object, gone bool) {
	q, ok := o.(*corev1.ResourceQuota)
	if !ok {
		return
	}
	s := p.spaces[q.Namespace]
	if gone || len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
		if s == nil {
			return
		}
		if delete(s.quotas, q.Name); len(s.quotas) == 0 {
			delete(p.spaces, q.Namespace)
		}
		return
	}
	if s == nil {
		s = &space{quotas: map[string][]bound{}}
		p.spaces[q.Namespace] = s
	}
	s.quotas[q.Name] = p.bounds(q)
}

func (p *plugin) bounds(q *corev1.ResourceQuota) []bound {
	var bounds []bound
	for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		if unit, ok := counts(string(name)); ok {
			bounds = append(bounds, bound{
				name: string(name), unit: unit, dim: p.dim(unit),
				hard: amount(unit, q.Spec.Hard[name]), used: amount(unit, q.Status.Used[name]),
			})
		}
	}
	return bounds
}

// counts says what resource a line of a quota counts, if it is one that pods ask for.
func counts(name string) (unit string, ok bool) {
	switch name {
	case resource.CPU, resource.Memory, resource.EphemeralStorage, resource.Pods:
		return name, true
	case "count/pods":
		return resource.Pods, true
	case "requests.storage": // of volume claims
		return "", false
	}
	if strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
		return name, true
	}
	return strings.CutPrefix(name, corev1.DefaultResourceRequestsPrefix)
}

func amount(unit string, q apiresource.Quantity) int64 {
	n, _ := model.Resources(corev1.ResourceList{corev1.ResourceName(unit): q}).Get(unit)
	return n
}

// VoteOnGang refuses a gang whose minResources, less what its existing pods ask
// for, exceed what a quota of its namespace leaves. Of several quotas the first
// by name is told.
func (p *plugin) VoteOnGang(g *model.Gang, need resource.Vector) (framework.Vote, reason.Reason) {
	namespace, _, _ := strings.Cut(g.Key, "/")
	s := p.spaces[namespace]
	if s == nil {
		return framework.Abstain, reason.Reason{}
	}
	s.passed = slices.DeleteFunc(s.passed, func(other *model.Gang) bool { return other == g || other.Promised == nil })
	var promised resource.Vector
	for _, other := range s.passed {
		promised.Add(p.lacking(other, other.Promised), 1)
	}
	need = p.lacking(g, need)
	for _, name := range slices.Sorted(maps.Keys(s.quotas)) {
		if short := over(s.quotas[name], need, promised); short != nil {
			return framework.Refuse, reason.Reason{
				Code: reason.NamespaceQuota, Kind: "ResourceQuota", Object: namespace + "/" + name, Short: short,
			}
		}
	}
	s.passed = append(s.passed, g)
	return framework.Abstain, reason.Reason{}
}

// lacking is what the pods will ask for that a gang still lacks: need and one
// pod per task of its minimum, less what those ask for that the quota counts already.
func (p *plugin) lacking(g *model.Gang, need resource.Vector) resource.Vector {
	lacking := slices.Clone(need)
	pods := p.dim(resource.Pods)
	lacking.Set(pods, max(lacking.At(pods), int64(g.Min)))
	for _, t := range g.Tasks {
		if t.Bucket != model.Over && t.Bucket != model.Releasing {
			lacking.Add(t.Class.Req, -1)
		}
	}
	for d := range lacking {
		lacking[d] = max(lacking[d], 0)
	}
	return lacking
}

// over is the arithmetic of those bounds that need would break.
func over(bounds []bound, need, promised resource.Vector) []reason.Shortage {
	var short []reason.Shortage
	for _, b := range bounds {
		want, used := need.At(b.dim), resource.Add(b.used, promised.At(b.dim))
		if want > 0 && resource.Add(used, want) > b.hard {
			short = append(short, framework.Shortage(b.name, b.unit, want, used, b.hard))
		}
	}
	return short
}
