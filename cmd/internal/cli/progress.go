package cli

import (
	"fmt"
	"sync"
)

// progress shows on a terminal how far a long piece of work is.
type progress struct {
	mu    sync.Mutex
	app   *App
	label string
	shown bool
	last  int64
}

func (a *App) progress(label string) *progress {
	if a.quiet || a.json || !isTerminal(a.Stderr) {
		return &progress{}
	}
	return &progress{app: a, label: truncate(safeLine(label), 50)}
}

// tell is called with how much of a size is done.
func (p *progress) tell(done, size int64) {
	if p.app == nil || size == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := done * 100 / size
	if percent <= p.last {
		return
	}
	p.last, p.shown = percent, true
	fmt.Fprintf(p.app.Stderr, "\r%s  %3d%% of %s", p.label, percent, bytesText(size))
}

// count is called with how many entries are done, where their number is not known.
func (p *progress) count(done int64) {
	const step = 10_000
	if p.app == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if done < p.last+step {
		return
	}
	p.last, p.shown = done, true
	fmt.Fprintf(p.app.Stderr, "\r%s  %s", p.label, entries(done))
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.app.Stderr, "\r\x1b[K")
	}
}
