package framework

import "time"

// Retries is for plugins that refused because something outside could not be
// asked: RetryAt is when they would ask again, false when nothing is open. At
// that instant gangs wake that a plugin refused which wakes on
// [model.ObjectChanged].
type Retries interface {
	RetryAt() (time.Time, bool)
}
