package stdio

import (
	"fmt"
	"io"
	"sync"

	"tape/internal/show/display"
)

// ProgressWriter is standard error if it is a terminal and messages are wanted, otherwise nil.
func (s *Streams) ProgressWriter() io.Writer {
	if s.Quiet || s.JSON || !IsTerminal(s.Stderr) || IsDumb(s.Getenv) {
		return nil
	}
	return s.Stderr
}

// LabelCells is how long the label of progress may be.
const LabelCells = 50

// Progress shows the progress of a long operation on a terminal.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer // nil: nothing is shown
	label string
	shown bool
	last  int64
}

// Progress returns the progress of an operation with a label.
func (s *Streams) Progress(label string) *Progress {
	return &Progress{out: s.ProgressWriter(), label: display.Truncate(display.Line(label), LabelCells)}
}

// at shows the progress at place, if that is at least step beyond the place that is shown.
func (p *Progress) at(place, step int64, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil || place < p.last+step {
		return
	}
	p.last, p.shown = place, true
	fmt.Fprintf(p.out, format, args...)
}

// Step says what is being done.
func (p *Progress) Step(what string) { p.at(0, 0, "\r\x1b[K%s …", what) }

// Part shows how much of a size in bytes is done.
func (p *Progress) Part(done, size int64) {
	if size > 0 {
		percent := done * 100 / size
		p.at(percent, 1, "\r%s  %3d%% of %s", p.label, percent, display.Bytes(size))
	}
}

// Count shows how many entries are done, if their total is unknown: every 10,000 entries.
func (p *Progress) Count(done int64) { p.at(done, 10_000, "\r%s  %s", p.label, display.Entries(done)) }

// Clear removes the progress from the screen.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
