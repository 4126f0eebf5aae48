package procplugin

import "sync"

// queue has what came for one call. Who reads from the process never waits for who works on
// the call; so there is a limit.
type queue struct {
	mu    sync.Mutex
	items []*received
	size  int
	full  bool
	over  bool // nobody works on the call any more
	ready chan struct{}
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// push reports whether somebody works on the call.
func (q *queue) push(m *received, limit int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
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

// close gives what was not taken.
func (q *queue) close() []*received {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	return q.items
}

// pop gives the next, or nil; full says that there was no room for what came then.
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
