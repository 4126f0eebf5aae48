package testkit

import (
	"context"
	"sync/atomic"
)

// Looks is a context that does something when it is asked for the n-th time whether it has
// ended: so another writer is quicker at each point of a command, one after the other.
type Looks struct {
	context.Context
	n    int64
	do   func()
	seen atomic.Int64
}

// AtLook returns a context that calls do at the n-th look, from 1.
func AtLook(ctx context.Context, n int, do func()) context.Context {
	return &Looks{Context: ctx, n: int64(n), do: do}
}

// Err is what the context says that it is derived from.
func (l *Looks) Err() error {
	if l.seen.Add(1) == l.n {
		l.do()
	}
	return l.Context.Err()
}
