// Package admission bounds what clients can make the server use: how often a run calls, how many
// requests and streams it has open, how many connections there are, and how much memory is taken
// by bodies, by work, and by answers that wait for slow readers. So the memory of the server does
// not depend on how many clients there are. docs/host.md has the figures.
package admission

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"tape/internal/serve/host/api"
)

// The bounds.
const (
	MostConns    = 256 // of a listener; others wait
	MostRequests = 32  // of a run at once, with its streams
	MostStreams  = 8   // of a run at once

	workBytes   = 128 << 20 // for requests that read: what they take until their answer is made
	bodyBytes   = 64 << 20  // for bodies
	answerBytes = 64 << 20  // for answers that are being written

	AllWork      = workBytes
	HeavyEntry   = 1 << 20  // an entry that is longer is read alone
	PageWork     = 16 << 20 // that a page takes
	ArtifactWork = 64 << 20 // that an artifact takes until it can be sent in pieces

	smallAnswer = 64 << 10 // is not counted: there are as many as connections at most
)

// Limits are those of a server.
type Limits struct {
	work    *semaphore.Weighted
	bodies  budget
	answers budget
}

// New makes limits.
func New() *Limits {
	return &Limits{work: semaphore.NewWeighted(workBytes), bodies: budget{free: bodyBytes}, answers: budget{free: answerBytes}}
}

// Work waits until there is room for what a request reads. Nothing waits for a client with it: done
// is called before an answer is written, and may be called again.
func (l *Limits) Work(ctx context.Context, bytes int64) (done func(), err error) {
	if err := l.work.Acquire(ctx, bytes); err != nil {
		return func() {}, Busy()
	}
	var once sync.Once
	return func() { once.Do(func() { l.work.Release(bytes) }) }, nil
}

// Answer takes the room for an answer while it is written.
func (l *Limits) Answer(bytes int) (done func(), ok bool) {
	if bytes <= smallAnswer {
		return func() {}, true
	}
	if !l.answers.take(int64(bytes)) {
		return func() {}, false
	}
	return func() { l.answers.give(int64(bytes)) }, true
}

// Busy says that the room is taken.
func Busy() error {
	p := api.NewProblem(http.StatusServiceUnavailable, "busy", "the server is busy with other requests, or with slow readers: try again")
	p.Retryable, p.After = true, time.Second
	return p
}

// budget is bytes that may be taken.
type budget struct {
	mu   sync.Mutex
	free int64
}

func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.free {
		return false
	}
	b.free -= n
	return true
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += n
}

// Use is what a run has open.
type Use struct {
	mu                sync.Mutex
	requests, streams int
}

// Enter admits a request, or refuses it because of those that are not done yet.
func (u *Use) Enter(stream bool) (leave func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	if stream {
		n = 1
	}
	switch {
	case u.streams+n > MostStreams:
		return nil, tooMany("streams", MostStreams)
	case u.requests+1 > MostRequests:
		return nil, tooMany("requests", MostRequests)
	}
	u.requests, u.streams = u.requests+1, u.streams+n
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.requests, u.streams = u.requests-1, u.streams-n
	}, nil
}

func tooMany(what string, most int) error {
	p := api.NewProblem(http.StatusTooManyRequests, "rate_limited", "the run has %d open %s, which is the most: end one of them first", most, what)
	p.Retryable, p.After = true, time.Second
	return p
}
