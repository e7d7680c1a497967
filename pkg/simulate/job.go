package simulate

import (
	"cmp"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/muster-sh/muster/apis/scheduling/v1beta1"
	"github.com/muster-sh/muster/pkg/model"
	"github.com/muster-sh/muster/pkg/resource"
	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// namespace is where all gangs are.
const namespace = "simulate"

// job is a job on its way. Times are in milliseconds since the start.
type job struct {
	*Job
	key    string // of its gang
	queue  int    // number of its queue in the books
	unit   int64  // of the counted resource, per pod
	submit int64
	length int64 // of each pod
	pods   []member
	object *corev1.Pod // behind its pods; nil when they have no hints

	waiting, running, finished int32 // pods
	lastStart                  int64 // of a pod; -1: none yet
	start                      int64 // when it first had its minimum; -1: never
	end                        int64 // -1: not yet
	brokenAt                   int64 // since when it lacks its minimum; -1: it does not, or never had it
	requeued                   int64 // how long it lacked that
	used, lost                 int64 // resource times milliseconds
	preempted, podsTaken       int
	hurt                       bool // it lost pods in this pass
}

// member is one pod of a job.
type member struct {
	uid   string
	state state
	made  int32 // how often
	since int64 // when it was placed
}

type state uint8

const (
	gone state = iota
	waiting
	running
	succeeded
)

func newJob(j *Job, counted string, queue int) *job {
	unit, _ := j.Shape.Requests.Get(counted)
	n := &job{
		Job: j, key: namespace + "/" + j.Name, queue: queue, unit: unit,
		submit: j.Submit.Milliseconds(), length: j.Duration.Milliseconds(),
		pods: make([]member, j.Size), lastStart: -1, start: -1, end: -1, brokenAt: -1,
	}
	if len(j.Annotations) > 0 {
		n.object = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: j.Name, Annotations: j.Annotations},
			Spec:       corev1.PodSpec{NodeSelector: j.Shape.NodeSelector, Tolerations: j.Shape.Tolerations},
		}
	}
	return n
}

func (j *job) held() int32 { return j.running + j.finished }

func (j *job) done() bool { return j.end >= 0 }

// resume notes that a job has its minimum.
func (j *job) resume(now int64) {
	if j.start < 0 {
		j.start = now
	}
	if j.brokenAt >= 0 {
		j.requeued += now - j.brokenAt
		j.brokenAt = -1
	}
}

// gang is what the engine is told of a job.
func (j *job) gang() model.GangSpec {
	need := make(map[string]int64, len(j.Shape.Requests))
	for _, a := range j.Shape.Requests {
		need[a.Name] = a.Value * int64(j.Min)
	}
	hints := j.Annotations
	if j.Deadline > 0 {
		hints = maps.Clone(hints)
		if hints == nil {
			hints = map[string]string{}
		}
		if _, given := hints[schedulingv1beta1.SLORunningEstimateAnnotation]; !given {
			hints[schedulingv1beta1.SLORunningEstimateAnnotation] = j.Duration.String()
		}
		hints[schedulingv1beta1.SLODeadlineAnnotation] = epoch().Add(j.Deadline).Format(time.RFC3339Nano)
	}
	return model.GangSpec{
		Key: j.key, UID: j.key, Queue: j.Queue, Priority: j.Priority, Min: j.Min,
		MinResources: resource.ListOf(need), Annotations: hints, Created: instant(j.submit),
	}
}

// podUID names the present making of a pod.
func (j *job) podUID(number int) string {
	uid := j.key + "/" + strconv.Itoa(number)
	if made := j.pods[number].made; made > 1 {
		uid += "#" + strconv.Itoa(int(made))
	}
	return uid
}

// task is what the engine is told of a pod: with a node, that it runs there since then.
func (j *job) task(number int, node string, since int64) model.TaskSpec {
	t := model.TaskSpec{
		UID: j.pods[number].uid, Name: j.key + "-" + strconv.Itoa(number), Gang: j.key, Priority: j.Priority,
		Shape: j.Shape, Ours: true, Pod: j.object,
	}
	if node != "" {
		t.Node, t.Running, t.Started = node, true, instant(since)
	}
	return t
}

// end is when pods of a job end that were placed together.
type end struct {
	at    int64
	job   *job
	since int64
}

// ends is a heap of them, for container/heap: the next first; of equal ones, that of the
// job that came first.
type ends []end

func (h ends) Len() int { return len(h) }
func (h ends) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job.submit, b.job.submit), cmp.Compare(a.job.Name, b.job.Name), cmp.Compare(a.since, b.since)) < 0
}
func (h ends) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(e any)   { *h = append(*h, e.(end)) } //nolint:forcetypeassert // heap.Push is called with nothing else

func (h *ends) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = end{}
	*h = (*h)[:last]
	return e
}

// notes are what the engine says of hints that it leaves out and of what broke, each once.
type notes struct {
	said []string
	met  map[string]bool
}

func (n *notes) add(d engine.Notice) {
	about := "queue " + d.Queue
	if d.Queue == "" {
		about = "jobs" // as a rule many say the same
	}
	for _, said := range d.Said {
		n.note(about + ": " + said)
	}
}

func (n *notes) note(text string) {
	if n.met == nil {
		n.met = map[string]bool{}
	}
	if !n.met[text] {
		n.met[text] = true
		n.said = append(n.said, text)
	}
}
