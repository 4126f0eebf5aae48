package hooks

import (
	"context"
	"fmt"
	"sync"
)

// sessions makes the turns of one session run one after the other, in the order in which they came.
type sessions struct {
	mu   sync.Mutex
	last map[string]chan struct{} // closed when the session's latest turn is over
}

// inSessionKey marks the context of a session's turn.
type inSessionKey struct{ session string }

// enter waits for the session's earlier turns. The caller ends its turn with the returned function,
// which is never nil.
func (q *sessions) enter(ctx context.Context, session string) (context.Context, func(), error) {
	if ctx.Value(inSessionKey{session}) != nil {
		return ctx, func() {}, fmt.Errorf("session %q: a turn cannot wait for another of the same session; "+
			"start it with a context that is not the turn's", session)
	}
	over := make(chan struct{})
	q.mu.Lock()
	before := q.last[session]
	if q.last == nil {
		q.last = map[string]chan struct{}{}
	}
	q.last[session] = over
	q.mu.Unlock()
	leave := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		close(over)
		if q.last[session] == over {
			delete(q.last, session)
		}
	}
	if before == nil {
		return context.WithValue(ctx, inSessionKey{session}, true), leave, nil
	}
	select {
	case <-before:
		return context.WithValue(ctx, inSessionKey{session}, true), leave, nil
	case <-ctx.Done():
		go func() { // later turns still have to wait for the earlier ones
			<-before
			leave()
		}()
		return ctx, func() {}, ctx.Err()
	}
}
