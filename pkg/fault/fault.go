// Package fault keeps what breaks over one thing from stopping the work on all
// others: a panic becomes data that names what broke and where.
package fault

import (
	"fmt"
	"runtime"
	"strings"
)

// Fault is what broke.
type Fault struct {
	Value string // of the panic
	Where string // the functions at work, the one that broke first
}

// Of is the fault of a panic that a deferred function recovered from.
func Of(recovered any) *Fault { return &Fault{Value: fmt.Sprint(recovered), Where: where()} }

// Try does something, and returns what broke; nil when nothing did.
func Try(do func()) (broke *Fault) {
	defer func() {
		if value := recover(); value != nil {
			broke = Of(value)
		}
	}()
	do()
	return nil
}

// Each does something with each item, in order. Where that breaks, blame is told of the
// item, and those after it follow. It costs nothing for each item that does not break.
func Each[T any](items []T, do func(T), blame func(T, Fault)) {
	i := 0
	for ; i < len(items); i++ {
		broke := Try(func() {
			for ; i < len(items); i++ {
				do(items[i])
			}
		})
		if broke != nil {
			blame(items[i], *broke)
		}
	}
}

// depth is how many functions are named.
const depth = 6

// where names the functions that were at work when a panic began, for a deferred function of it.
func where() string {
	var calls [64]uintptr
	frames := runtime.CallersFrames(calls[:runtime.Callers(2, calls[:])])
	var names []string
	panicking := false
	for more := true; more && len(names) < depth; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "runtime.") {
			panicking = true
			continue
		}
		if panicking && f.Function != "" {
			names = append(names, fmt.Sprintf("%s:%d", f.Function[strings.LastIndex(f.Function, "/")+1:], f.Line))
		}
	}
	return strings.Join(names, " < ")
}
