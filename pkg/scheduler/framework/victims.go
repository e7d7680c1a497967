package framework

import (
	"time"

	"github.com/muster-sh/muster/pkg/model"
)

// ProtectsTasks is for plugins that keep a task from being a victim. Who protects a
// task is not outvoted: no action that looks for victims takes it, whatever other
// plugins say and whatever tier they stand in. Protects says, as of now, whether the
// task is protected, and why in a few words that complete "the task is protected: ".
// It looks at one task as the world stands: who takes several at once asks again
// after each.
type ProtectsTasks interface {
	Protects(t *model.Task, now time.Time) (why string, ok bool)
}
