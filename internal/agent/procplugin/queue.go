package procplugin

import "sync"

// queue holds the messages for one call. The goroutine that reads from the process never waits for
// the one that serves the call, so the queue has a limit.
type queue struct {
	mu     sync.Mutex
	items  []*received
	size   int  // bytes of items and of dropped messages
	full   bool // messages were dropped
	closed bool
	ready  chan struct{} // has an element after a push
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// push adds a message, or drops it if the queue would have more than limit bytes. It returns false if the queue
// is closed.
func (q *queue) push(m *received, limit int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.size += m.size; q.size > limit {
		q.full = true
	} else {
		q.items = append(q.items, m)
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// close closes the queue, and returns the messages that were not read.
func (q *queue) close() []*received {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return q.items
}

// pop returns the next message, or nil if there is none. full says that messages were dropped.
func (q *queue) pop() (m *received, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil, q.full
	}
	m, q.items = q.items[0], q.items[1:]
	q.size -= m.size
	return m, false
}
