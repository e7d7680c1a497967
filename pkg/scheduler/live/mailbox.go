package live

import (
	"sync"

	"github.com/muster-sh/muster/pkg/scheduler/engine"
)

// mailbox holds events from all sides until the loop takes them together.
type mailbox struct {
	bell   chan struct{} // rings when there is something to take
	mu     sync.Mutex
	events []engine.Event
}

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

// put adds events. It never blocks.
func (m *mailbox) put(events ...engine.Event) {
	m.mu.Lock()
	m.events = append(m.events, events...)
	m.mu.Unlock()
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// take empties the mailbox.
func (m *mailbox) take() []engine.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}
