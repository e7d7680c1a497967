package live

import (
	"context"
	"testing"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
	"github.com/muster-sh/muster/pkg/scheduler/framework"
)

// TestWhatIsReadFollowsTheConfiguration: a source is read until another is configured, and
// what was read of it is gone when there is none any more.
func TestWhatIsReadFollowsTheConfiguration(t *testing.T) {
	begun, ended := make(chan string, 1), make(chan string, 1)
	meter := func(ctx context.Context, from framework.Metrics, tell func(*framework.Usage, error)) {
		tell(&framework.Usage{Nodes: []framework.NodeUsage{{Name: from.Address}}}, nil)
		begun <- from.Address
		<-ctx.Done()
		ended <- from.Address
	}
	c := &configs{Scheduler: &Scheduler{options: Options{Meter: meter}, mailbox: newMailbox[engine.Event]()}}
	configure := func(m framework.Metrics) {
		c.running.Metrics = m
		c.meter(t.Context())
	}
	configure(framework.Metrics{})
	configure(framework.Metrics{Type: "prometheus", Address: "a"})
	if got := <-begun; got != "a" {
		t.Errorf("%s is read", got)
	}
	configure(framework.Metrics{Type: "prometheus", Address: "a"}) // as before
	configure(framework.Metrics{Type: "prometheus", Address: "b"})
	if got := <-ended; got != "a" {
		t.Errorf("%s is read no more", got)
	}
	if got := <-begun; got != "b" {
		t.Errorf("%s is read", got)
	}
	configure(framework.Metrics{})
	if got := <-ended; got != "b" {
		t.Errorf("%s is read no more", got)
	}
	var said []string
	for _, ev := range c.mailbox.take() {
		set, ok := ev.(engine.ObjectSet)
		if usage, is := set.Object.(*framework.Usage); ok && is && !set.Gone {
			said = append(said, usage.Nodes[0].Name)
		} else if set.Gone {
			said = append(said, "gone")
		}
	}
	if len(said) != 3 || said[0] != "a" || said[1] != "b" || said[2] != "gone" || c.reads.Load() != 2 {
		t.Errorf("said %v, %d times read", said, c.reads.Load())
	}
}
