package hooks

import (
	"context"
	"fmt"
	"sync"
)

// sessions lets the turns of one session follow one another in the order in which they came.
type sessions struct {
	mu   sync.Mutex
	last map[string]chan struct{} // closed when the session's latest turn is over
}

// turnKey marks the context of a session's turn.
type turnKey struct{ session string }

// enter waits for the turns before. The turn is over when the function is called, which is
// never nil.
func (q *sessions) enter(ctx context.Context, session string) (context.Context, func(), error) {
	if ctx.Value(turnKey{session}) != nil {
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
		return context.WithValue(ctx, turnKey{session}, true), leave, nil
	}
	select {
	case <-before:
		return context.WithValue(ctx, turnKey{session}, true), leave, nil
	case <-ctx.Done():
		go func() { // those behind still wait for those in front
			<-before
			leave()
		}()
		return ctx, func() {}, ctx.Err()
	}
}
