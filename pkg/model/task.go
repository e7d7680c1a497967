package model

import (
	"maps"
	"reflect"
	"slices"
)

// Bucket is where a task stands in the ledger.
type Bucket uint8

// Buckets. A task is charged to its node and queue in Assumed, Bound and Releasing.
const (
	Waiting   Bucket = iota // has no node
	Gated                   // has no node and may not get one yet
	Assumed                 // placed by us, not yet confirmed by the API server
	Bound                   // confirmed
	Releasing               // being deleted, or told to go; holds its room, if it has any, until it is gone
	Over                    // ended
	Evicted                 // in a what-if, it has left its node
)

// Task is one pod. Gang is nil for pods that belong to none.
type Task struct {
	TaskSpec
	Seq    uint64 // order of arrival; unique
	Gang   *Gang
	Class  *Class
	Bucket Bucket
	On     *Node // where it takes room; nil while it takes none
	// Stuck says why its binding was refused, while it keeps its room for another try.
	Stuck string
	// Leaving says that it was told to go: it counts for its gang no more.
	Leaving bool
	queue   *Queue // where it is charged, or wanted; nil: nowhere
	slot    int32  // its place among the tasks of its node
}

// Placed reports whether the task has a node and was not told to go.
func (t *Task) Placed() bool { return t.Bucket == Assumed || t.Bucket == Bound }

// charged reports whether the task takes room.
func (t *Task) charged() bool {
	return t.On != nil && (t.Placed() || t.Bucket == Releasing)
}

// SetTask adds or changes a task. A word without a node does not undo an
// assumed placement: watches lag behind our own decisions.
func (w *World) SetTask(s TaskSpec) {
	t := w.tasks[s.UID]
	if t == nil {
		w.seq++
		t = &Task{TaskSpec: s, Seq: w.seq}
		w.tasks[s.UID] = t
		w.enter(t)
		w.put(t)
		w.shared(t)
	}
	bucket, node := w.stand(t, s)
	same := t.belongs(s)
	if same && bucket == t.Bucket && node == t.On && t.equals(s) {
		w.relate(t, s)
		t.TaskSpec = s
		return
	}
	held, class, queue, was := t.charged(), t.Class, t.queue, t.On
	claims := t.Claims
	w.lift(t)
	if !same {
		w.exit(t)
	}
	moved := !same || node != t.On
	t.TaskSpec, t.Bucket, t.On = s, bucket, node
	if !same {
		w.enter(t)
	}
	w.put(t)
	if !slices.Equal(t.Claims.All(), claims.All()) {
		w.shared(t)
	}
	if held && (moved || !t.charged() || t.Class != class || t.queue != queue) {
		w.Happened |= NodeRoom | QueueRoom
	}
	w.Happened |= TaskPlaced
	w.touch(t.Gang)
	w.leaveNode(was)
}

// relate notes that a task, otherwise as before, is another to those who look at
// the labels of pods, or knows more of what it was promised.
func (w *World) relate(t *Task, s TaskSpec) {
	if t.Pod == nil || s.Pod == nil ||
		maps.Equal(t.Pod.Labels, s.Pod.Labels) && reflect.DeepEqual(t.Pod.Status.ResourceClaimStatuses, s.Pod.Status.ResourceClaimStatuses) {
		return
	}
	if t.charged() {
		w.tick(t.On)
		w.Happened |= TaskPlaced
	}
	w.touch(t.Gang)
}

// equals reports whether s says nothing new of what else counts.
func (t *Task) equals(s TaskSpec) bool {
	return s.Running == t.Running && s.Ended == t.Ended && s.QueueGated == t.QueueGated && slices.Equal(s.Claims.All(), t.Claims.All())
}

// belongs reports whether s has a task in the same gang, role and class as before.
func (t *Task) belongs(s TaskSpec) bool {
	return s.Gang == t.TaskSpec.Gang && s.Role == t.Role && s.Shape.Key == t.Shape.Key
}

// DropTask forgets a task.
func (w *World) DropTask(uid string) {
	t := w.tasks[uid]
	if t == nil {
		return
	}
	if t.charged() {
		w.Happened |= NodeRoom | QueueRoom
	}
	w.lift(t)
	w.exit(t)
	delete(w.tasks, uid)
	delete(w.since, t)
	w.leaveNode(t.On)
}

// Unassume takes back the placement of a task whose binding failed. It does
// nothing when the task is no longer assumed on that node.
func (w *World) Unassume(uid, node string) {
	t := w.tasks[uid]
	dying := t != nil && t.Bucket == Releasing && t.TaskSpec.Node == "" // deleted before it was bound
	if t == nil || t.On == nil || t.On.Name != node || (t.Bucket != Assumed && !dying) {
		return
	}
	w.lift(t)
	t.On = nil
	if !dying {
		t.Bucket = Waiting
	}
	w.put(t)
	w.Happened |= NodeRoom | QueueRoom
	w.touch(t.Gang)
	w.leaveNode(w.nodesByName[node])
}

// Stick notes why the binding of an assumed task was refused.
func (w *World) Stick(uid, node, why string) {
	if t := w.tasks[uid]; t != nil && t.Bucket == Assumed && t.On.Name == node {
		t.Stuck = why
		w.touch(t.Gang)
	}
}

// Leave notes that a task on a node was told to go. It keeps its room until it is gone.
func (w *World) Leave(t *Task) {
	t.Leaving = true
	w.stands(t, Releasing, t.On)
	w.touch(t.Gang)
}

// Stay takes back that a task was told to go: it could not be made to. It does nothing,
// and returns nil, when the task is going already.
func (w *World) Stay(uid string) *Task {
	t := w.tasks[uid]
	if t == nil || !t.Leaving {
		return nil
	}
	t.Leaving = false
	if t.Bucket != Releasing || t.Deleting {
		return nil
	}
	w.stands(t, standing(t), t.On)
	w.touch(t.Gang)
	w.Happened |= NodeRoom
	return t
}

// standing is the bucket of a task that has a node and is not going.
func standing(t *Task) Bucket {
	if t.TaskSpec.Node == "" {
		return Assumed
	}
	return Bound
}

// TaskOf returns the task with that UID, nil when none was heard of.
func (w *World) TaskOf(uid string) *Task { return w.tasks[uid] }

// stand says in which bucket and on which node s puts t.
func (w *World) stand(t *Task, s TaskSpec) (Bucket, *Node) {
	if s.Ended != NotEnded {
		return Over, nil
	}
	node := t.On
	if s.Node != "" {
		node = w.node(s.Node)
	} else if t.Bucket != Assumed && t.Bucket != Releasing {
		node = nil
	}
	switch {
	case s.Deleting, t.Leaving:
		return Releasing, node
	case s.Node != "":
		return Bound, node
	case node != nil:
		return Assumed, node
	case s.Gated:
		return Gated, nil
	default:
		return Waiting, nil
	}
}

// enter makes t a member of the class and gang that its spec names; put then counts it.
func (w *World) enter(t *Task) {
	if t.TaskSpec.Gang == "" {
		t.Class = w.classOf(t.Shape)
		if t.Ours {
			w.loose = append(w.loose, t)
		}
		return
	}
	t.Gang = w.gang(t.TaskSpec.Gang)
	t.Class = w.classOf(inherit(t.Shape, t.Gang))
	t.Gang.Tasks = append(t.Gang.Tasks, t)
	w.touch(t.Gang)
}

// exit undoes enter for a task that was lifted.
func (w *World) exit(t *Task) {
	if g := t.Gang; g != nil {
		g.Tasks = slices.DeleteFunc(g.Tasks, func(other *Task) bool { return other == t })
		t.Gang = nil
		w.touch(g)
		w.forgetIfEmpty(g)
	}
	w.leaveClass(t.Class)
	t.Class = nil
}

// lift takes t out of all sums; put adds it again where it then stands.
func (w *World) lift(t *Task) {
	t.Stuck = ""
	if t.charged() {
		n := t.On
		w.free(n, t.Class.Req, 1)
		n.Tasks[t.slot] = n.Tasks[len(n.Tasks)-1]
		n.Tasks[t.slot].slot = t.slot
		n.Tasks = n.Tasks[:len(n.Tasks)-1]
		w.tick(n)
	}
	w.book(t, -1)
	t.queue = nil
	if t.Gang != nil {
		t.Gang.count(t, -1)
	}
}

func (w *World) put(t *Task) {
	if t.charged() {
		n := t.On
		w.free(n, t.Class.Req, -1)
		t.slot = int32(len(n.Tasks))
		n.Tasks = append(n.Tasks, t)
		w.tick(n)
	}
	if t.Gang != nil {
		t.queue = t.Gang.Queue
	}
	w.book(t, 1)
	if t.Gang != nil {
		t.Gang.count(t, 1)
	}
}

// book adds or takes away what a task uses or wants, in its queue if it has one, and
// the claims of those that have some.
func (w *World) book(t *Task, times int64) {
	if t.charged() && t.Gang != nil {
		t.Gang.Used.Add(t.Class.Req, times)
	}
	switch {
	case t.charged() && t.queue != nil:
		w.Quota.Charge(t.queue.ID, t.Class.Req, times)
		if t.Bucket == Releasing {
			w.Quota.Leave(t.queue.ID, t.Class.Req, times)
		}
	case t.charged():
		w.Foreign.Add(t.Class.Req, times)
	case t.Bucket == Waiting && t.queue != nil:
		w.Quota.Want(t.queue.ID, t.Class.Req, times)
	}
	if t.Claims != nil {
		w.use(t, times)
	}
}

// count adds or takes away one task in the counts of its gang and role.
func (g *Gang) count(t *Task, by int32) {
	g.Counts.add(t, by)
	g.role(t.Role).add(t, by)
}

func (c *Counts) add(t *Task, by int32) {
	switch t.Bucket {
	case Waiting:
		c.Waiting += by
	case Gated:
		c.Gated += by
	case Assumed, Bound:
		c.Placed += by
		if t.Bucket == Bound {
			c.Bound += by
		}
		if t.Running {
			c.Running += by
		}
	case Releasing:
		c.Releasing += by
	case Evicted: // counts nowhere
	case Over:
		if t.Ended == Succeeded {
			c.Succeeded += by
		} else {
			c.Failed += by
		}
	}
}
