package transport

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"

	"tape/internal/git/gitstore"
)

// DefaultIdle is how long a remote may be silent.
const DefaultIdle = 2 * time.Minute

// After a push has sent everything, hooks of the remote may work without a word for this many times as long.
const pushPatience = 5

// quietFor is the silence after which the user is told what is waited for.
const quietFor = 5 * time.Second

// idle returns how long a remote may be silent.
func (o Options) idle() time.Duration { return cmp.Or(o.Idle, DefaultIdle) }

// idleSeconds returns the same in seconds, at least 1, for other programs.
func (o Options) idleSeconds() int { return max(1, int(o.idle()/time.Second)) }

// idleTimer says that a remote is silent, once, and stops a git whose remote is silent for too long. Any
// output of git, progress included, shows that the remote is alive. Once all objects have arrived, git may
// work on them for any time.
type idleTimer struct {
	limit time.Duration              // 0: git is never stopped
	quiet time.Duration              // the silence after which say is called
	say   func(silent time.Duration) // may be nil
	end   func()

	mu     sync.Mutex // guards the fields below
	timer  *time.Timer
	said   bool
	isOver bool
	done   bool
}

// newIdleTimer returns a timer for a run of git, which end stops.
func newIdleTimer(r *gitstore.Repo, run gitRun, end func()) *idleTimer {
	p := &idleTimer{limit: run.options.idle(), end: end}
	switch {
	case run.asks():
		p.limit = 0
	case !run.fetches:
		p.limit *= pushPatience
	}
	if p.quiet = quietFor; run.options.Idle > 0 {
		p.quiet = min(p.quiet, run.options.Idle/2)
	}
	if run.remote == "" {
		return p
	}
	p.say = func(silent time.Duration) {
		until := "Ctrl-C ends this"
		if p.limit > 0 {
			until = "this ends after " + p.limit.String()
		}
		r.ReportWait(fmt.Sprintf("waiting for %s, which has been silent for %s; %s", run.remote, silent, until))
	}
	return p
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
	switch {
	case p.done || p.isOver:
	case p.say != nil && !p.said:
		p.timer = time.AfterFunc(p.quiet, p.word)
	case p.limit > 0:
		p.timer = time.AfterFunc(p.limit, p.giveUp)
	}
}

// word says that the remote is silent, and lets the timer run for the rest of the limit.
func (p *idleTimer) word() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done || p.said {
		return
	}
	p.said = true
	p.say(p.quiet)
	if p.limit > 0 {
		p.timer = time.AfterFunc(p.limit-p.quiet, p.giveUp)
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
