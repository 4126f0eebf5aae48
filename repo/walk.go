package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// walk goes through a span of phases of a view.
type walk struct {
	ctx  context.Context
	v    view
	q    Query
	tape string
	span span

	loaded func(s segment, data []byte) // if set, is shown each file that is read
}

// phase yields the kept entries of the i-th phase, and reports whether to go on.
func (w *walk) phase(i int, yield func(Entry) bool) (bool, error) {
	if err := w.ctx.Err(); err != nil {
		return false, err
	}
	r, err := readPhaseFrom(w.v, w.v.phases()[i], w.tape, 0, w.loaded)
	if err != nil {
		return false, err
	}
	skip := w.span.skipAnchor && i == w.span.first
	for {
		e, err := r.next()
		if errors.Is(err, io.EOF) {
			return true, w.joins(i, r.last)
		}
		if err != nil {
			// What came before a damage is delivered with it.
			if e.ID > 0 && w.q.keep(e) && !skip {
				yield(e)
			}
			return false, err
		}
		if skip {
			skip = false
			continue
		}
		if w.q.keep(e) && !yield(e) {
			return false, nil
		}
	}
}

// rest yields what a reader has left of the i-th phase, and reports whether to go on. What
// comes before a damage is delivered with it.
func (w *walk) rest(i int, r *phaseReader, yield func(Entry) bool) (bool, error) {
	for n := 0; ; n++ {
		if n%1024 == 0 && w.ctx.Err() != nil {
			return false, w.ctx.Err()
		}
		e, err := r.next()
		if errors.Is(err, io.EOF) {
			return true, w.joins(i, r.last)
		}
		if e.ID > 0 && !yield(e) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// joins checks that the next phase begins where this one ends.
func (w *walk) joins(i int, last int64) error {
	all := w.v.phases()
	if i+1 >= len(all) {
		return nil
	}
	next, err := readAnchor(w.v, all[i+1], w.tape)
	if err != nil {
		return err
	}
	if next.ID != last+1 {
		return &CorruptError{File: w.v.where(all[i], ""), Msg: fmt.Sprintf("the phase ends at id %d, but the next one begins at id %d", last, next.ID),
			Fix: "bring back what was committed with: git restore -- " + anchorsDir}
	}
	return nil
}

func (w *walk) forward(yield func(Entry) bool) error {
	for i := w.span.first; i <= w.span.last; i++ {
		if more, err := w.phase(i, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

// backward reads from the end, a window of ids at a time, so that a short limit reads
// little of a long phase.
func (w *walk) backward(yield func(Entry) bool) error {
	const first, largest = 64, 16 << 10 // ids
	for i := w.span.last; i >= w.span.first; i-- {
		p := w.v.phases()[i]
		anchor, err := readAnchor(w.v, p, w.tape)
		if err != nil {
			return err
		}
		high, err := lastID(w.v, p)
		if err != nil {
			return err
		}
		for size := int64(first); high >= anchor.ID; size = min(size*4, largest) {
			low := max(anchor.ID, high-size+1)
			batch, err := w.window(i, low, high)
			if err != nil {
				return err
			}
			for _, e := range slices.Backward(batch) {
				if !yield(e) {
					return nil
				}
			}
			high = low - 1
		}
	}
	return nil
}

// window returns the kept entries of a phase from one id to another.
func (w *walk) window(i int, low, high int64) ([]Entry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	r, err := readPhaseFrom(w.v, w.v.phases()[i], w.tape, low, w.loaded)
	if err != nil {
		return nil, err
	}
	var batch []Entry
	for r.last < high || !r.started {
		e, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && (e.ID == 0 || e.ID < high) {
			return nil, err
		}
		if e.Kind == KindAnchor && w.span.skipAnchor && i == w.span.first {
			continue
		}
		if w.q.keep(e) {
			batch = append(batch, e)
		}
	}
	return batch, nil
}

// tail yields the last n entries in the order shown, of which limit keeps the first.
func (w *walk) tail(n, limit int, yield func(Entry) bool) error {
	var out []Entry
	order := w.backward
	if w.q.Reverse {
		order = w.forward
	}
	if n > 0 {
		if err := order(func(e Entry) bool {
			out = append(out, e)
			return len(out) < n
		}); err != nil {
			return err
		}
	}
	slices.Reverse(out)
	if limit >= 0 && limit < len(out) {
		out = out[:limit]
	}
	for _, e := range out {
		if !yield(e) {
			break
		}
	}
	return nil
}
