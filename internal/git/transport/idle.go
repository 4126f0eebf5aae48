package transport

import (
	"bytes"
	"cmp"
	"io"
	"sync"
	"time"
)

// DefaultIdle is how long a remote may be silent.
const DefaultIdle = 2 * time.Minute

// idle returns how long a remote may be silent.
func (o Options) idle() time.Duration { return cmp.Or(o.Idle, DefaultIdle) }

// idleSeconds returns the same in seconds, at least 1, for other programs.
func (o Options) idleSeconds() int { return max(1, int(o.idle()/time.Second)) }

// idleTimer stops a git whose remote is silent. Any output of git, progress included, shows that the
// remote is alive. Once all objects have arrived, git may work on them for any time.
type idleTimer struct {
	limit time.Duration
	end   func()

	mu     sync.Mutex // guards the fields below
	timer  *time.Timer
	isOver bool
	done   bool
}

// watching returns a writer that passes git's output on, and starts the timer.
func (p *idleTimer) watching(w io.Writer) io.Writer {
	p.restart(false)
	return &watchedWriter{p, w}
}

// restart restarts the timer, or stops it for good if done.
func (p *idleTimer) restart(done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = p.done || done
	if p.timer != nil {
		p.timer.Stop()
	}
	if !p.done && !p.isOver {
		p.timer = time.AfterFunc(p.limit, p.giveUp)
	}
}

func (p *idleTimer) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.isOver = true
		p.end()
	}
}

// stop stops the timer for good.
func (p *idleTimer) stop() { p.restart(true) }

func (p *idleTimer) expired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isOver
}

type watchedWriter struct {
	*idleTimer
	to io.Writer
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	w.restart(bytes.Contains(b, []byte("Receiving objects: 100%")))
	return w.to.Write(b)
}
