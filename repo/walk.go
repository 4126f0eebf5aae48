package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// walk goes through phases of a snapshot.
type walk struct {
	v           *snapshot
	tape        string // the name that entries get
	first, last int    // indexes of phases
	from        place  // in the first one

	loaded func(s segment, data []byte) // if set, is shown each file that is read

	r    *phaseReader // the phase in hand
	done bool         // all was read
}

// read yields the entries in order. What comes before a damage is delivered with it.
func (w *walk) read(ctx context.Context, yield func(Entry) bool) error {
	from := w.from
	for i := w.first; i <= w.last; i++ {
		var err error
		if w.r, err = readPhase(w.v, w.v.list[i], w.tape, from, w.loaded); err != nil {
			return err
		}
		from = place{}
		for n := 0; ; n++ {
			if n%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			e, err := w.r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if e.ID > 0 && !yield(e) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if err := w.joins(i); err != nil {
			return err
		}
	}
	w.done = true
	return nil
}

// joins checks that the next phase begins where this one ends.
func (w *walk) joins(i int) error {
	if i+1 >= len(w.v.list) {
		return nil
	}
	next, err := readAnchor(w.v, w.v.list[i+1], w.tape)
	if err == nil && next.ID != w.r.last+1 {
		err = &CorruptError{File: w.v.where(w.v.list[i], ""), Msg: fmt.Sprintf("the phase ends at id %d, but the next one begins at id %d", w.r.last, next.ID),
			Fix: "bring back what was committed with: git restore -- " + anchorsDir}
	}
	return err
}

// selection is what a query selects of a snapshot.
type selection struct {
	v    *snapshot
	tape string
	q    Query
	span span
}

func (s selection) keeps(e Entry) bool {
	skip := s.span.skipAnchor && e.Kind == KindAnchor && e.AnchorSeq == s.span.first+1
	return !skip && s.q.keep(e)
}

func (s selection) forward(ctx context.Context, yield func(Entry) bool) error {
	w := &walk{v: s.v, tape: s.tape, first: s.span.first, last: s.span.last}
	return w.read(ctx, func(e Entry) bool { return !s.keeps(e) || yield(e) })
}

// backward reads from the end, a window of ids at a time, so that a short limit reads
// little of a long phase.
func (s selection) backward(ctx context.Context, yield func(Entry) bool) error {
	const first, largest = 64, 16 << 10 // ids
	for i := s.span.last; i >= s.span.first; i-- {
		anchor, err := readAnchor(s.v, s.v.list[i], s.tape)
		if err != nil {
			return err
		}
		high, err := lastID(s.v, s.v.list[i])
		if err != nil {
			return err
		}
		for size := int64(first); high >= anchor.ID; size = min(size*4, largest) {
			low := max(anchor.ID, high-size+1)
			batch, err := s.window(ctx, i, low, high)
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
func (s selection) window(ctx context.Context, i int, low, high int64) ([]Entry, error) {
	var batch []Entry
	w := &walk{v: s.v, tape: s.tape, first: i, last: i, from: place{id: low}}
	err := w.read(ctx, func(e Entry) bool {
		if s.keeps(e) {
			batch = append(batch, e)
		}
		return e.ID < high
	})
	return batch, err
}

// tail yields the last n entries in the order shown, of which limit keeps the first.
func (s selection) tail(ctx context.Context, n, limit int, yield func(Entry) bool) error {
	var out []Entry
	order := s.backward
	if s.q.Reverse {
		order = s.forward
	}
	if n > 0 {
		if err := order(ctx, func(e Entry) bool {
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
