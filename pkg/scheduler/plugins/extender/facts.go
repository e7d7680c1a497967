package extender

import (
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
)

// facts tells what the world knows in the words of the wire. It only reads.
type facts struct{ world *model.World }

func (f facts) amounts(v resource.Vector) *amounts { return amountsOf(f.world.Resources.List(v)) }

func amountsOf(l resource.List) *amounts {
	a := &amounts{}
	for _, r := range l {
		switch r.Name {
		case resource.CPU:
			a.MilliCPU = float64(r.Value)
		case resource.Memory:
			a.Memory = float64(r.Value)
		case resource.Pods:
			a.MaxTaskNum = r.Value
		default:
			if a.ScalarResources == nil {
				a.ScalarResources = map[string]float64{}
			}
			a.ScalarResources[r.Name] = 1000 * float64(r.Value)
		}
	}
	return a
}

// task tells of a task, with its pod if that is wanted and known.
func task(t *model.Task, pod bool) *taskInfo {
	namespace, name := split(t.Name)
	req := amountsOf(t.Shape.Requests) // not the class's: a task that is gone has none
	req.MaxTaskNum = 0
	info := &taskInfo{
		UID: t.UID, Name: name, Namespace: namespace, Job: t.TaskSpec.Gang, TaskRole: t.Role,
		Resreq: req, InitResreq: req, Priority: t.TaskSpec.Priority, Status: status(t), SchGated: t.Gated,
		BestEffort: req.MilliCPU == 0 && req.Memory == 0 && len(req.ScalarResources) == 0,
	}
	if t.On != nil {
		info.NodeName = t.On.Name
	}
	if pod {
		info.Pod = t.Pod
	}
	return info
}

func status(t *model.Task) int {
	switch t.Bucket {
	case model.Assumed:
		return statusAllocated
	case model.Bound:
		if t.Running {
			return statusRunning
		}
		return statusBound
	case model.Releasing:
		return statusReleasing
	case model.Over:
		if t.Ended == model.Succeeded {
			return statusSucceeded
		}
		return statusFailed
	default:
		return statusPending
	}
}

// node tells of a node and its tasks, with their pods if those are wanted.
func (f facts) node(n *model.Node, pods bool) *nodeInfo {
	var used, idle, releasing resource.Vector
	used.Add(n.Allocatable, 1)
	used.Add(n.Free, -1)
	for d, free := range n.Free {
		idle.Set(d, max(free, 0))
	}
	info := &nodeInfo{
		Name: n.Name, Node: n.Object, State: nodeState{Phase: 1}, Pipelined: &amounts{},
		Idle: f.amounts(idle), Used: f.amounts(used), Allocatable: f.amounts(n.Allocatable),
		Tasks: make(map[string]*taskInfo, len(n.Tasks)),
	}
	info.Capacity = info.Allocatable
	for _, t := range n.Tasks {
		info.Tasks[t.Name] = task(t, pods)
		if t.Bucket == model.Releasing {
			releasing.Add(t.Class.Req, 1)
		}
	}
	info.Releasing = f.amounts(releasing)
	return info
}

func (f facts) job(g *model.Gang, need resource.Vector) *jobInfo {
	namespace, name := split(g.Key)
	pg := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: types.UID(g.UID),
			Annotations: g.Annotations, CreationTimestamp: metav1.NewTime(g.Created),
		},
		Spec: schedulingv1beta1.PodGroupSpec{MinMember: g.Min, Queue: g.GangSpec.Queue},
	}
	pg.Status.Phase = schedulingv1beta1.PodGroupPhase(g.Phase)
	if len(g.MinResources) > 0 {
		pg.Spec.MinResources = new(quantities(g.MinResources))
	}
	info := &jobInfo{
		UID: g.Key, PgUID: g.UID, Name: name, Namespace: namespace, Queue: g.GangSpec.Queue,
		Priority: g.GangSpec.Priority, MinAvailable: g.Min, TaskMinAvailable: map[string]int32{},
		Allocated: f.amounts(g.Used), Tasks: make(map[string]*taskInfo, len(g.Tasks)), PodGroup: pg,
	}
	for _, r := range g.RoleMin {
		info.TaskMinAvailable[r.Role] = r.Min
	}
	pg.Spec.MinTaskMember = info.TaskMinAvailable
	var total resource.Vector
	for _, t := range g.Tasks {
		info.Tasks[t.UID] = task(t, false)
		total.Add(t.Class.Req, 1)
	}
	if len(g.Tasks) == 0 {
		total = need
	}
	info.TotalRequest = f.amounts(total)
	return info
}

func (f facts) queue(q *model.Queue) *queueInfo {
	info := &queueInfo{
		UID: q.Name, Name: q.Name, Parent: q.Parent, Weight: max(q.Weight, 1), Priority: q.Priority, State: q.Closed,
		Weights: q.Annotations[schedulingv1beta1.HierarchyWeightsAnnotation], Hierarchy: q.Annotations[schedulingv1beta1.HierarchyAnnotation],
		Capability: quantities(q.Capability), Deserved: quantities(q.Deserved), Guarantee: guarantee{quantities(q.Guarantee)},
		Allocated:   quantities(f.world.Resources.List(f.world.Quota.Used(q.ID))),
		Annotations: q.Annotations,
	}
	if info.State == "" {
		info.State = string(schedulingv1beta1.QueueStateOpen)
	}
	return info
}

// session tells of the whole cluster, but of its pods.
func (f facts) session() *sessionOpenRequest {
	s := &sessionOpenRequest{Nodes: map[string]*nodeInfo{}, Queues: map[string]*queueInfo{}}
	for _, n := range f.world.Nodes() {
		if n.Known {
			s.Nodes[n.Name] = f.node(n, false)
			s.NodeList = append(s.NodeList, n.Name)
		}
	}
	for _, q := range f.world.Queues() {
		if q.Known {
			s.Queues[q.Name] = f.queue(q)
		}
	}
	return s
}

// quantities writes a list as Kubernetes does.
func quantities(l resource.List) corev1.ResourceList {
	list := make(corev1.ResourceList, len(l))
	for _, a := range l {
		q := apiresource.NewQuantity(a.Value, apiresource.DecimalSI)
		switch {
		case a.Name == resource.CPU:
			q = apiresource.NewMilliQuantity(a.Value, apiresource.DecimalSI)
		case resource.Bytes(a.Name):
			q = apiresource.NewQuantity(a.Value, apiresource.BinarySI)
		}
		list[corev1.ResourceName(a.Name)] = *q
	}
	return list
}
