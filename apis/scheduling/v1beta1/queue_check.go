package v1beta1

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kin is the queues around one queue.
//
// +kubebuilder:object:generate=false
type Kin struct {
	Above []*Queue // its parent, the parent of that and so on, as far as they exist; each once
	Below []*Queue // its children
}

// KinOf finds the queues around q among all.
func KinOf(q *Queue, all []Queue) Kin {
	var kin Kin
	byName := make(map[string]*Queue, len(all))
	for i := range all {
		byName[all[i].Name] = &all[i]
		if all[i].ParentName() == q.Name {
			kin.Below = append(kin.Below, &all[i])
		}
	}
	met := map[string]bool{}
	for up := byName[q.ParentName()]; up != nil && !met[up.Name]; up = byName[up.ParentName()] {
		met[up.Name] = true
		kin.Above = append(kin.Above, up)
	}
	return kin
}

// ParentName is the queue above q: root when none is named, and empty for root itself.
func (q *Queue) ParentName() string {
	if q.Spec.Parent == "" && q.Name != RootQueue {
		return RootQueue
	}
	return q.Spec.Parent
}

// Closed reports whether q admits nothing new. A queue without a state is open.
func (q *Queue) Closed() bool {
	return q.Status.State == QueueStateClosed || q.Status.State == QueueStateClosing
}

// Check names everything about q that can't be right, with its arithmetic: what
// its own limits say of each other, and what those of its kin say of them. A
// limit that does not name a resource does not limit it.
func (q *Queue) Check(kin Kin) field.ErrorList {
	spec := field.NewPath("spec")
	errs := q.checkParent(kin, spec.Child("parent"))
	l := limits{guarantee: q.Spec.Guarantee.All(), deserved: q.Spec.Deserved, capability: q.Spec.Capability}
	for _, name := range q.Spec.Guarantee.Unread() {
		errs = append(errs, field.Invalid(spec.Child("guarantee").Key(name), q.Spec.Guarantee.Other[name], "is no quantity: give a number, such as 4 or 16Gi"))
	}
	errs = append(errs, negatives(spec.Child("guarantee"), l.guarantee)...)
	errs = append(errs, negatives(spec.Child("deserved"), l.deserved)...)
	errs = append(errs, negatives(spec.Child("capability"), l.capability)...)
	errs = append(errs, l.order(spec)...)
	errs = append(errs, l.below(spec, kin.Above)...)
	errs = append(errs, sums(spec.Child("guarantee"), l.guarantee, kin.Below, func(c *Queue) corev1.ResourceList { return c.Spec.Guarantee.All() })...)
	return append(errs, sums(spec.Child("deserved"), l.deserved, kin.Below, func(c *Queue) corev1.ResourceList { return c.Spec.Deserved })...)
}

func (q *Queue) checkParent(kin Kin, at *field.Path) field.ErrorList {
	parent := q.ParentName()
	inCircle := slices.ContainsFunc(kin.Above, func(up *Queue) bool { return up.Name == q.Name })
	switch {
	case q.Name == RootQueue && parent != "":
		return field.ErrorList{field.Invalid(at, parent, "root is above all queues: name none")}
	case inCircle || parent == q.Name:
		names := []string{q.Name}
		for _, up := range kin.Above {
			names = append(names, up.Name)
		}
		return field.ErrorList{field.Invalid(at, parent, fmt.Sprintf("the queues above it form a circle (%s): name a parent outside it", strings.Join(names, ", ")))}
	case parent != "" && parent != RootQueue && len(kin.Above) == 0: // root is always made anew
		return field.ErrorList{field.Invalid(at, parent, "there is no such queue: create it, or name another parent")}
	}
	return nil
}

// limits are those of one queue.
type limits struct{ guarantee, deserved, capability corev1.ResourceList }

// order checks guarantee ≤ deserved ≤ capability.
func (l limits) order(spec *field.Path) field.ErrorList {
	errs := atMost(spec.Child("guarantee"), l.guarantee, l.deserved, "its deserved")
	errs = append(errs, atMost(spec.Child("guarantee"), l.guarantee, l.capability, "its capability")...)
	return append(errs, atMost(spec.Child("deserved"), l.deserved, l.capability, "its capability")...)
}

// below checks each limit against the nearest capability above that names the resource.
func (l limits) below(spec *field.Path, above []*Queue) field.ErrorList {
	var errs field.ErrorList
	met := corev1.ResourceList{}
	for _, up := range above {
		ceiling := maps.Clone(up.Spec.Capability)
		maps.DeleteFunc(ceiling, func(name corev1.ResourceName, _ resource.Quantity) bool { _, ok := met[name]; return ok })
		maps.Copy(met, ceiling)
		whose := fmt.Sprintf("the capability of queue %q above it", up.Name)
		errs = append(errs, atMost(spec.Child("capability"), l.capability, ceiling, whose)...)
		// Where it has a ceiling of its own, that was compared already.
		maps.DeleteFunc(ceiling, func(name corev1.ResourceName, _ resource.Quantity) bool { _, ok := l.capability[name]; return ok })
		errs = append(errs, atMost(spec.Child("guarantee"), l.guarantee, ceiling, whose)...)
		errs = append(errs, atMost(spec.Child("deserved"), l.deserved, ceiling, whose)...)
	}
	return errs
}

// atMost compares what both lists name.
func atMost(at *field.Path, have, most corev1.ResourceList, whose string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(have)) {
		amount, limit := have[name], most[name]
		if _, ok := most[name]; ok && amount.Cmp(limit) > 0 {
			over := amount.DeepCopy()
			over.Sub(limit)
			errs = append(errs, field.Invalid(at.Key(string(name)), amount.String(),
				fmt.Sprintf("is %s more than %s, %s: lower it, or raise that", over.String(), whose, limit.String())))
		}
	}
	return errs
}

// sums checks that the children of a queue do not have more of a limit than it has.
func sums(at *field.Path, most corev1.ResourceList, children []*Queue, of func(*Queue) corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	sorted := slices.SortedFunc(slices.Values(children), func(a, b *Queue) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(most)) {
		limit := most[name]
		var sum resource.Quantity
		var parts []string
		for _, child := range sorted {
			if amount, ok := of(child)[name]; ok {
				sum.Add(amount)
				parts = append(parts, child.Name+" "+amount.String())
			}
		}
		if sum.Cmp(limit) > 0 {
			over := sum.DeepCopy()
			over.Sub(limit)
			errs = append(errs, field.Invalid(at.Key(string(name)), limit.String(),
				fmt.Sprintf("the queues below have %s together (%s), %s more: raise it, or lower theirs", sum.String(), enumerate(parts), over.String())))
		}
	}
	return errs
}

// enumerated is how many parts of a sum are told one by one.
const enumerated = 8

func enumerate(parts []string) string {
	if more := len(parts) - enumerated; more > 0 {
		parts = append(slices.Clone(parts[:enumerated]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func negatives(at *field.Path, l corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if amount := l[name]; amount.Sign() < 0 {
			errs = append(errs, field.Invalid(at.Key(string(name)), amount.String(), "is negative: set it to 0 or more"))
		}
	}
	return errs
}
