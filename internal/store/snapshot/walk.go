package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"tape/internal/store/layout"
)

// Walk reads several phases of a snapshot.
type Walk struct {
	V           *Snapshot
	Tape        string // the name that entries get
	First, Last int    // indexes of phases
	From        Place  // where to start in the first one

	R *PhaseReader // the current phase
}

// Read yields the entries in order. At a damaged entry it returns an error, after yielding the entries before
// it.
func (w *Walk) Read(ctx context.Context, yield func(layout.Entry) bool) error {
	from := w.From
	for i := w.First; i <= w.Last; i++ {
		var err error
		if w.R, err = ReadPhase(w.V, w.V.List[i], w.Tape, from); err != nil {
			return err
		}
		from = Place{}
		for n := 0; ; n++ {
			if n%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			e, err := w.R.Next()
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
		if err := w.V.checkEnd(i, w.R.Last, w.Tape); err != nil {
			return err
		}
	}
	return nil
}

// checkEnd checks that the phase with index i ends with the id last: the next phase, if any, must begin right
// after it. It does not if files are missing, for example because the working tree is being removed.
func (v *Snapshot) checkEnd(i int, last int64, tape string) error {
	if i+1 >= len(v.List) {
		return nil
	}
	next, err := ReadAnchor(v, v.List[i+1], tape)
	if err == nil && next.ID != last+1 {
		err = &layout.CorruptError{File: v.Where(v.List[i], ""), Msg: fmt.Sprintf("the phase ends at id %d, but the next one begins at id %d", last, next.ID)}
	}
	return err
}

type selection struct {
	v    *Snapshot
	tape string
	q    Query
	span span
}

func (s selection) keeps(e layout.Entry) bool {
	skip := s.span.SkipAnchor && e.Kind == layout.KindAnchor && e.AnchorSeq == s.span.First+1
	return !skip && s.q.Keep(e)
}

func (s selection) forward(ctx context.Context, yield func(layout.Entry) bool) error {
	w := &Walk{V: s.v, Tape: s.tape, First: s.span.First, Last: s.span.Last}
	return w.Read(ctx, func(e layout.Entry) bool { return !s.keeps(e) || yield(e) })
}

// backward reads windows of ids from the end, so that a small limit reads little of a long phase.
func (s selection) backward(ctx context.Context, yield func(layout.Entry) bool) error {
	const first, largest = 64, 16 << 10 // ids
	before := int64(0)                  // last id of the phase, according to the anchor after it; 0 if that was not read
	for i := s.span.Last; i >= s.span.First; i-- {
		anchor, err := ReadAnchor(s.v, s.v.List[i], s.tape)
		if err != nil {
			return err
		}
		high, err := LastID(s.v, s.v.List[i])
		if err == nil && high != before {
			err = s.v.checkEnd(i, high, s.tape)
		}
		if err != nil {
			return err
		}
		before = anchor.ID - 1
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

// window returns the selected entries of the phase with index i, with ids from low to high.
func (s selection) window(ctx context.Context, i int, low, high int64) ([]layout.Entry, error) {
	var batch []layout.Entry
	w := &Walk{V: s.v, Tape: s.tape, First: i, Last: i, From: Place{ID: low}}
	last := low - 1
	err := w.Read(ctx, func(e layout.Entry) bool {
		last = e.ID
		if s.keeps(e) {
			batch = append(batch, e)
		}
		return e.ID < high
	})
	if err == nil && last < high && i+1 < len(s.v.List) {
		err = s.v.checkEnd(i, last, s.tape)
	}
	return batch, err
}

// tail yields the last n entries, oldest first, and of these at most limit.
func (s selection) tail(ctx context.Context, n, limit int, yield func(layout.Entry) bool) error {
	var out []layout.Entry
	if n > 0 {
		if err := s.backward(ctx, func(e layout.Entry) bool {
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
