package cli

import (
	"fmt"
	"io"
	"sync"

	"tape/internal/show/display"
)

// watched is standard error where somebody is there to watch it, else nil.
func (a *App) watched() io.Writer {
	if a.quiet || a.json || !isTerminal(a.Stderr) {
		return nil
	}
	return a.Stderr
}

const labelCells = 50 // of what progress is about

// progress shows on a terminal how far a long piece of work is.
type progress struct {
	mu    sync.Mutex
	out   io.Writer // nil: nobody watches
	label string
	shown bool
	last  int64
}

func (a *App) progress(label string) *progress {
	return &progress{out: a.watched(), label: display.Truncate(display.Line(label), labelCells)}
}

// at shows how far it is, once that is at least so much further than what is shown.
func (p *progress) at(place, step int64, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil || place < p.last+step {
		return
	}
	p.last, p.shown = place, true
	fmt.Fprintf(p.out, format, args...)
}

func (p *progress) step(what string) { p.at(0, 0, "\r\x1b[K%s …", what) }

// part is called with how much of a size is done.
func (p *progress) part(done, size int64) {
	if size > 0 {
		percent := done * 100 / size
		p.at(percent, 1, "\r%s  %3d%% of %s", p.label, percent, display.Bytes(size))
	}
}

// count is called with how many entries are done, where their number is not known.
func (p *progress) count(done int64) { p.at(done, 10_000, "\r%s  %s", p.label, display.Entries(done)) }

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
