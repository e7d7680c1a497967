package live

import "sync"

// mailbox holds what comes from all sides until somebody takes it all.
type mailbox[T any] struct {
	bell  chan struct{} // rings when there is something to take
	mu    sync.Mutex
	items []T
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{bell: make(chan struct{}, 1)} }

// put adds items. It never blocks.
func (m *mailbox[T]) put(items ...T) {
	m.mu.Lock()
	m.items = append(m.items, items...)
	m.mu.Unlock()
	m.ring()
}

// offer adds an item unless so many wait already. It never blocks.
func (m *mailbox[T]) offer(item T, most int) {
	m.mu.Lock()
	if len(m.items) < most {
		m.items = append(m.items, item)
	}
	m.mu.Unlock()
	m.ring()
}

func (m *mailbox[T]) ring() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// take empties the mailbox.
func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
