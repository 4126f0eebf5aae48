package transport

import (
	"bytes"
	"cmp"
	"io"
	"sync"
	"time"
)

// DefaultIdle is for how long a remote may say nothing.
const DefaultIdle = 2 * time.Minute

// idle is for how long a remote may say nothing.
func (o Options) idle() time.Duration { return cmp.Or(o.Idle, DefaultIdle) }

// idleSeconds is idle for other programs.
func (o Options) idleSeconds() int { return max(1, int(o.idle()/time.Second)) }

// patience ends a git that waits for a remote which says nothing. What git tells, and how far
// it is, shows that the remote goes on. Once all objects have come, what git does with them
// here may take as long as it takes.
type patience struct {
	limit time.Duration
	end   func()

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	over  bool
	done  bool
}

// watching passes on what git writes, and begins to wait.
func (p *patience) watching(w io.Writer) io.Writer {
	p.moved(false)
	return &watchedWriter{p, w}
}

// moved begins the time anew; done ends the watch.
func (p *patience) moved(done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = p.done || done
	if p.timer != nil {
		p.timer.Stop()
	}
	if !p.done && !p.over {
		p.timer = time.AfterFunc(p.limit, p.giveUp)
	}
}

func (p *patience) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.over = true
		p.end()
	}
}

// stop ends the watch.
func (p *patience) stop() { p.moved(true) }

func (p *patience) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

type watchedWriter struct {
	*patience
	to io.Writer
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	w.moved(bytes.Contains(b, []byte("Receiving objects: 100%")))
	return w.to.Write(b)
}
