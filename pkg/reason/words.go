package reason

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// String is the sentence users read.
func (r Reason) String() string {
	causes := []string{r.first()}
	for _, more := range r.Also {
		causes = append(causes, more.String())
	}
	return strings.Join(causes, "; besides, ")
}

// first is the sentence of the first cause.
func (r Reason) first() string {
	switch r.Code {
	case GangMissing:
		return fmt.Sprintf("PodGroup %s does not exist: create it, or correct the pod's annotation scheduling.k8s.io/group-name", r.Object)
	case GangFound:
		return fmt.Sprintf("PodGroup %s exists now: its conditions say whether its pods wait, and why", r.Object)
	case NoGang:
		return "the pod names no PodGroup: set its annotation scheduling.k8s.io/group-name to a PodGroup of its namespace, or create it through a workload that Muster knows"
	case Invalid:
		return fmt.Sprintf("%s%s is %s: %s", r.object(), r.Field, r.Value, r.Remedy)
	case Unplaceable:
		return fmt.Sprintf("pod %s can't be placed on any node: %s", r.Object, r.Value)
	case Unsupported:
		return fmt.Sprintf("%s: %s", r.Field, r.Remedy)
	case Fault:
		return fmt.Sprintf("a fault in the scheduler keeps it from being tried until it is changed: %s; please report it", r.Value)
	case BindRefused:
		return fmt.Sprintf("the API server refuses to bind pod %s: %s; it is tried again and again", r.Object, r.Value)
	case ExtenderFailed:
		return fmt.Sprintf("the scheduler extender at %s can't be asked: %s; it is tried again, or set extender.ignorable", r.Object, r.Value)
	case ExtenderRefused:
		return fmt.Sprintf("the scheduler extender at %s says no: %s", r.Object, r.Value)
	case DeadlineTooSoon, DeadlineMissed, MoreUrgent:
		return r.deadline()
	case MakingRoom, Preempted, Swapped, Reclaimed, Unrepaired, Shuffled:
		return r.giving()
	default:
		return r.arithmetic()
	}
}

// deadline is the sentence of reasons that speak of one: Need and Have are seconds.
func (r Reason) deadline() string {
	need := time.Duration(r.Need) * time.Second
	if r.Code == DeadlineMissed {
		return fmt.Sprintf("the deadline %s has passed, and it is not done", r.Value)
	}
	if r.Code == MoreUrgent {
		return fmt.Sprintf("its room is needed for PodGroup %s of queue %q, whose deadline %s is near: %s of work remain, and %s until then",
			r.Object, r.Role, r.Value, need, time.Duration(r.Have)*time.Second)
	}
	return fmt.Sprintf("the deadline %s can't be met: by its %s %s of work remain, and %s until then: %s",
		r.Value, r.Field, need, time.Duration(r.Have)*time.Second, r.Remedy)
}

// giving is the sentence of reasons that speak of who gives way.
func (r Reason) giving() string {
	switch r.Code {
	case MakingRoom:
		return fmt.Sprintf("room is being made for it: of %d pods that were told to go, %d are gone", r.Need, r.Room)
	case Unrepaired:
		return fmt.Sprintf("its gang could not be made whole again within %s: of %d that it needs, %d are left", r.Value, r.Need, r.Have)
	case Shuffled:
		if r.Kind == "PodGroup" {
			return fmt.Sprintf("its gang goes as a whole, since plugin %s has a pod of it leave node %s: %s", r.Field, r.Object, r.Value)
		}
		return fmt.Sprintf("plugin %s has it leave node %s: %s", r.Field, r.Object, r.Value)
	case Swapped:
		return fmt.Sprintf("its room is needed for pod %s of its own gang, whose priority is %d, its own %d", r.Object, r.Need, r.Have)
	case Preempted:
		return fmt.Sprintf("its room is needed for PodGroup %s of its queue %q, whose priority is %d, its own %d", r.Object, r.Value, r.Need, r.Have)
	default:
		parts := make([]string, len(r.Short))
		for i, s := range r.Short {
			parts[i] = fmt.Sprintf("%s of %s %s", s.Used, s.Limit, s.Resource)
		}
		owner := strconv.Quote(r.Value)
		if r.Field != "" {
			owner += fmt.Sprintf(" below queue %q", r.Field)
		}
		return fmt.Sprintf("its room is needed for PodGroup %s of queue %s, which has less than it deserves; queue %q has more: %s", r.Object, owner, r.Role, strings.Join(parts, ", "))
	}
}

// arithmetic is the sentence of reasons that have numbers, and of those about queues.
func (r Reason) arithmetic() string {
	switch r.Code {
	case QueueMissing:
		return fmt.Sprintf("queue %q does not exist: create it, or name another in spec.queue", r.Object)
	case QueueClosed:
		return fmt.Sprintf("queue %q is %s and admits nothing new: open it, or name another in spec.queue", r.Object, r.Value)
	case QueueCapability:
		return fmt.Sprintf("queue %q would exceed its capability: %s", r.Object, r.shortages())
	case QueueGuarantee:
		return fmt.Sprintf("what is guaranteed to other queues leaves too little in %s: %s%s", r.whole(), r.shortages(), r.keepers())
	case BehindHead:
		return fmt.Sprintf("queue %q serves strictly in order, and %s waits before it", r.Object, r.Value)
	case NotEnoughParts:
		return fmt.Sprintf("needs %d whole sub-groups of %q, pods exist for %d", r.Need, r.Role, r.Have)
	case NotEnoughTasks:
		return fmt.Sprintf("%sneeds %d, only %d exist (short %d)", r.role(), r.Need, r.Have, r.Need-r.Have)
	case Gated:
		return fmt.Sprintf("%sneeds %d, only %d are free of scheduling gates (short %d)", r.role(), r.Need, r.Have, r.Need-r.Have)
	case NotEnoughNodes:
		return fmt.Sprintf("%s%sneeds %d%s, room for %d (short %d)%s%s", r.near(), r.role(), r.Need, r.each(), r.Room, r.Need-r.Room, r.shut(), r.tallies())
	case NeverFits:
		return fmt.Sprintf("%s%sneeds %d%s, and even with all nodes empty only %d would fit%s%s", r.near(), r.role(), r.Need, r.each(), r.Empty, r.advice(), r.tallies())
	case NotEnoughCluster:
		return fmt.Sprintf("minResources exceed what is free in the cluster%s: %s", r.factor(), r.shortages())
	case NamespaceQuota:
		return fmt.Sprintf("minResources exceed what ResourceQuota %s leaves: %s", r.Object, r.shortages())
	default:
		return string(r.Code)
	}
}

// near says that all of it must be near one another, and of which area of the network the
// numbers are: the one that would hold it soonest.
func (r Reason) near() string {
	if r.Kind != "HyperNode" {
		return ""
	}
	of := "any tier"
	if r.Value != "" {
		of = "tier " + r.Value + " or less"
	}
	return fmt.Sprintf("within one HyperNode of %s, most likely %s: ", of, r.Object)
}

// advice says what would let in what never fits. Where it may not use nodes that
// would hold it, asking for less is none.
func (r Reason) advice() string {
	switch {
	case r.Barred == 0 && r.Kind == "HyperNode":
		return ": ask for less, allow a higher tier, or add nodes to it"
	case r.Barred == 0:
		return ": ask for less, or add nodes"
	case r.Empty+r.Barred < r.Need:
		return fmt.Sprintf(", and %s more on nodes that it may not use: ask for less, or add nodes that it may use", many(r.Barred))
	case r.Room+r.Shut < r.Need:
		return fmt.Sprintf(", but %s more on nodes that it may not use, %s of them now: change what keeps it off them and free room there, or add nodes that it may use", many(r.Barred), many(r.Shut))
	default:
		return fmt.Sprintf(", but %s more on nodes that it may not use, %s of them now: change what keeps it off them", many(r.Barred), many(r.Shut))
	}
}

// each says what one task asks for, if that is told.
func (r Reason) each() string {
	if r.Each == "" {
		return ""
	}
	return " with " + r.Each + " each"
}

// shut says for how many there is room where it may not be used.
func (r Reason) shut() string {
	if r.Shut == 0 {
		return ""
	}
	return fmt.Sprintf(", and for %s on nodes that it may not use", many(r.Shut))
}

// many writes how many tasks there would be room for, of those that ask for nothing any number.
func many(n int64) string {
	if n == math.MaxInt64 {
		return "any number"
	}
	return strconv.FormatInt(n, 10)
}

// keepers names the queues for which most is kept, and whether guarantees could be
// lower than they are.
func (r Reason) keepers() string {
	if len(r.Keepers) == 0 {
		return ""
	}
	parts := make([]string, len(r.Keepers))
	for i, k := range r.Keepers {
		parts[i] = fmt.Sprintf("%s of %s for queue %q, whose guarantee is %s", k.Kept, k.Resource, k.Queue, k.Guarantee)
	}
	text := "; kept are " + strings.Join(parts, ", ")
	if r.Remedy != "" {
		text += ": " + r.Remedy
	}
	return text
}

// factor says how many times a cluster is counted, when that is not once.
func (r Reason) factor() string {
	if r.Value == "" {
		return ""
	}
	return fmt.Sprintf(" counted %s times", r.Value)
}

func (r Reason) object() string {
	if r.Object == "" {
		return ""
	}
	return fmt.Sprintf("%s %q: ", r.Kind, r.Object)
}

// whole names what is divided: a queue, or the cluster.
func (r Reason) whole() string {
	if r.Object == "" {
		return "the cluster"
	}
	return fmt.Sprintf("queue %q", r.Object)
}

func (r Reason) role() string {
	if r.Role == "" {
		return "the gang "
	}
	return fmt.Sprintf("role %q ", r.Role)
}

func (r Reason) shortages() string {
	parts := make([]string, len(r.Short))
	for i, s := range r.Short {
		note := ""
		switch {
		case s.Never:
			note = "; more than it ever has"
		case s.Passing:
			note = " until those are gone"
		}
		parts[i] = fmt.Sprintf("%s needs %s, %s (short %s%s)", s.Resource, s.Need, s.taken(), s.Short, note)
	}
	return strings.Join(parts, "; ")
}

// taken says what stands against a ceiling.
func (s Shortage) taken() string {
	sum := []string{s.Used + " of " + s.Limit + " used"}
	for _, more := range []struct{ amount, what string }{{s.Aside, "held for others"}, {s.Kept, "kept"}, {s.Leaving, "leaving"}} {
		if more.amount != "" {
			sum = append(sum, more.amount+" "+more.what)
		}
	}
	last := len(sum) - 1
	if last == 0 {
		return sum[0]
	}
	return strings.Join(sum[:last], ", ") + " and " + sum[last]
}

func (r Reason) tallies() string {
	if len(r.Nodes) == 0 {
		if r.Total == 0 {
			return "; there are no nodes"
		}
		return ""
	}
	parts := make([]string, len(r.Nodes))
	for i, t := range r.Nodes {
		parts[i] = fmt.Sprintf("%d %s", t.Nodes, t.Cause)
	}
	return fmt.Sprintf("; of %d nodes: %s", r.Total, strings.Join(parts, ", "))
}

// Clip cuts a text that others wrote to at most so many letters, for a sentence.
func Clip(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}
