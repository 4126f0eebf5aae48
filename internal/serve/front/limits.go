package front

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"tape/internal/serve/host/api"
)

// The limits.
const (
	MaxConns    = 256 // of a listener; see Listen
	MaxRequests = 32  // of a run at once, streams included
	MaxStreams  = 8   // of a run at once

	workBytes   = 128 << 20 // for what requests read, until their answers are built
	bodyBytes   = 64 << 20  // for bodies
	answerBytes = 64 << 20  // for answers that are being written

	AllWork      = workBytes
	HeavyEntry   = 1 << 20  // a longer entry is read alone
	PageWork     = 16 << 20 // for a page
	ArtifactWork = 64 << 20 // for an artifact, until it is sent in pieces

	smallAnswer = 64 << 10 // is not counted: there is at most one for each connection
)

// Limits of one server.
type Limits struct {
	work    *semaphore.Weighted
	bodies  budget
	answers budget
}

// NewLimits returns the limits of a server.
func NewLimits() *Limits {
	return &Limits{work: semaphore.NewWeighted(workBytes), bodies: budget{free: bodyBytes}, answers: budget{free: answerBytes}}
}

// Work waits for the memory of what a request reads. Call done before the answer is written, so that
// no request waits for another's client; it may be called again. If ctx ends first, the error is Busy.
func (l *Limits) Work(ctx context.Context, bytes int64) (done func(), err error) {
	if err := l.work.Acquire(ctx, bytes); err != nil {
		return func() {}, Busy()
	}
	var once sync.Once
	return func() { once.Do(func() { l.work.Release(bytes) }) }, nil
}

// Answer acquires the memory for an answer until done is called; ok is false if there is not enough.
func (l *Limits) Answer(bytes int) (done func(), ok bool) {
	if bytes <= smallAnswer {
		return func() {}, true
	}
	if !l.answers.acquire(int64(bytes)) {
		return func() {}, false
	}
	return func() { l.answers.release(int64(bytes)) }, true
}

// Busy says that the memory is in use.
func Busy() error {
	p := api.NewProblem(http.StatusServiceUnavailable, "busy", "the server is busy with other requests, or with slow readers: try again")
	p.Retryable, p.After = true, time.Second
	return p
}

// budget is a number of bytes that can be acquired.
type budget struct {
	mu   sync.Mutex
	free int64
}

func (b *budget) acquire(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.free {
		return false
	}
	b.free -= n
	return true
}

func (b *budget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
}

// Use counts what a run has open.
type Use struct {
	mu                sync.Mutex
	requests, streams int
}

// Enter counts a request until leave is called, or refuses it because too many are open.
func (u *Use) Enter(stream bool) (leave func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	if stream {
		n = 1
	}
	switch {
	case u.streams+n > MaxStreams:
		return nil, tooMany("streams", MaxStreams)
	case u.requests+1 > MaxRequests:
		return nil, tooMany("requests", MaxRequests)
	}
	u.requests, u.streams = u.requests+1, u.streams+n
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.requests, u.streams = u.requests-1, u.streams-n
	}, nil
}

func tooMany(what string, limit int) error {
	p := api.NewProblem(http.StatusTooManyRequests, "rate_limited", "the run has %d open %s, and more are not allowed: end one of them first", limit, what)
	p.Retryable, p.After = true, time.Second
	return p
}
