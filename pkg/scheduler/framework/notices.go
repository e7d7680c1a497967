package framework

import "github.com/muster-sh/muster/pkg/model"

// Notices is for plugins that leave out a part of what a gang wishes for, because
// it can't be read or means nothing. A wish keeps no gang waiting, but its owner is
// told: each notice is a sentence that names the annotation, its value and the
// remedy, in a fixed order. It must not depend on a cycle.
type Notices interface {
	Notices(g *model.Gang) []string
}

// NoticesOnQueues is Notices for hints that stand on queues.
type NoticesOnQueues interface {
	NoticesOnQueue(q *model.Queue) []string
}
