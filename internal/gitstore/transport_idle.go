package gitstore

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// DefaultIdle is for how long a remote may say nothing.
const DefaultIdle = 2 * time.Minute

// idle is for how long a remote may say nothing.
func (o TransportOptions) idle() time.Duration {
	if o.Idle > 0 {
		return o.Idle
	}
	return DefaultIdle
}

// idleSeconds is idle for other programs.
func (o TransportOptions) idleSeconds() int {
	return max(1, int(o.idle()/time.Second))
}

// patience cuts a connection on which nothing moves while we wait for the other side. What
// we do ourselves in between may take as long as it takes.
type patience struct {
	limit time.Duration
	cut   func()

	mu      sync.Mutex // guards what follows
	waiting bool
	over    bool
	last    time.Time // when something moved
	timer   *time.Timer
}

func newPatience(limit time.Duration, cut func()) *patience {
	p := &patience{limit: limit, cut: cut}
	p.timer = time.AfterFunc(limit, p.look)
	p.timer.Stop()
	return p
}

// wait begins to wait for the other side, until the function that it returns is called.
func (p *patience) wait() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting, p.last = true, time.Now()
	p.timer.Reset(p.limit)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting = false
		p.timer.Stop()
	}
}

// moved notes that the other side took something.
func (p *patience) moved() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
}

func (p *patience) look() {
	p.mu.Lock()
	left := p.limit - time.Since(p.last)
	end := p.waiting && left <= 0
	if p.waiting && left > 0 {
		p.timer.Reset(left)
	}
	p.over = p.over || end
	p.mu.Unlock()
	if end {
		p.cut()
	}
}

func (p *patience) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// why says what an error is when the connection was cut here.
func (p *patience) why(err error) error {
	if err != nil && p.isOver() {
		return fmt.Errorf("%w: it has said nothing for %s", ErrRemote, p.limit)
	}
	return err
}

// patientReader reads what the other side says.
type patientReader struct {
	*patience
	r     io.Reader
	first bool // somebody may be asked for a password until the first byte comes
}

func (r *patientReader) Read(b []byte) (int, error) {
	if r.first {
		r.first = false
		return r.r.Read(b)
	}
	defer r.wait()()
	n, err := r.r.Read(b)
	return n, r.why(err)
}

// watchedReader is what the other side is sent.
type watchedReader struct {
	*patience
	r io.Reader
}

func (r watchedReader) Read(b []byte) (int, error) {
	r.moved() // it took what was read before
	return r.r.Read(b)
}
