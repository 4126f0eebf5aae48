package cli

import (
	"fmt"
	"io"
	"sync"

	"tape/internal/display"
)

// watched is standard error where somebody is there to watch it, else nil.
func (a *App) watched() io.Writer {
	if a.quiet || a.json || !isTerminal(a.Stderr) {
		return nil
	}
	return a.Stderr
}

// progress shows on a terminal how far a long piece of work is.
type progress struct {
	mu    sync.Mutex
	out   io.Writer // nil: nobody watches
	label string
	shown bool
	last  int64
}

func (a *App) progress(label string) *progress {
	return &progress{out: a.watched(), label: display.Truncate(display.Line(label), 50)}
}

func (p *progress) show(format string, args ...any) {
	if p.out != nil {
		p.shown = true
		fmt.Fprintf(p.out, format, args...)
	}
}

// step is called with what is begun.
func (p *progress) step(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show("\r\x1b[K%s …", what)
}

// part is called with how much of a size is done.
func (p *progress) part(done, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if size == 0 || done*100/size <= p.last {
		return
	}
	p.last = done * 100 / size
	p.show("\r%s  %3d%% of %s", p.label, p.last, display.Bytes(size))
}

// count is called with how many entries are done, where their number is not known.
func (p *progress) count(done int64) {
	const step = 10_000
	p.mu.Lock()
	defer p.mu.Unlock()
	if done < p.last+step {
		return
	}
	p.last = done
	p.show("\r%s  %s", p.label, display.Entries(done))
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
