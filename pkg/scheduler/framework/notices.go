package framework

import "github.com/muster-sh/muster/pkg/model"

// Notices is for plugins that read hints users write: what can't be right in
// them is said, and does not block.
type Notices interface {
	Notices(g *model.Gang) []string
}

// NoticesOnQueues is Notices for hints that stand on queues.
type NoticesOnQueues interface {
	NoticesOnQueue(q *model.Queue) []string
}
