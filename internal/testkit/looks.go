package testkit

import (
	"context"
	"sync/atomic"
)

// Looks is a context that calls a function when its Err is called for the n-th time. With n from 1 upwards, a
// test lets another writer go first at each point of a command.
type Looks struct {
	context.Context
	n    int64
	do   func()
	seen atomic.Int64
}

// AtLook returns a context that calls do at the n-th call of Err, from 1.
func AtLook(ctx context.Context, n int, do func()) context.Context {
	return &Looks{Context: ctx, n: int64(n), do: do}
}

// Err returns the Err of the parent context.
func (l *Looks) Err() error {
	if l.seen.Add(1) == l.n {
		l.do()
	}
	return l.Context.Err()
}
