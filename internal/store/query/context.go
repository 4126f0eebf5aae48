package query

import (
	"context"
	"errors"
	"iter"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Context yields what the next model call needs: the last anchor, the earlier entries that no
// anchor covers, in the order of the tape, and what follows the anchor. It reads the tape as it is
// when the iteration begins, and ends after an error.
func Context(ctx context.Context, t *workspace.Tape) iter.Seq2[layout.Entry, error] {
	return layout.Seq(func(yield func(layout.Entry) bool) error {
		err := snapshot.Reread(t, yield, func(yield func(layout.Entry) bool) error { return readContext(ctx, t, yield) })
		return layout.Wrap(err, "read tape %q", t.Name())
	})
}

func readContext(ctx context.Context, t *workspace.Tape, yield func(layout.Entry) bool) error {
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return err
	}
	last := len(v.List) - 1
	anchor, err := snapshot.ReadAnchor(v, v.List[last], t.Name())
	if err != nil {
		return err
	}
	before, err := uncovered(ctx, t, v, anchor)
	if err != nil {
		return err
	}
	keeps, err := kept(ctx, v, anchor, last)
	if err != nil {
		return err
	}
	if len(before) == 0 { // otherwise it came with a merge, and its writer had seen another tape
		before = keeps
	}
	goOn, failed := true, error(nil)
	w := &snapshot.Walk{V: v, Tape: t.Name(), First: last, Last: last}
	err = w.Read(ctx, func(e layout.Entry) bool {
		if goOn = yield(e); goOn && e.ID == anchor.ID {
			goOn, failed = readSpans(ctx, v, t.Name(), before, yield)
		}
		return goOn && failed == nil
	})
	return errors.Join(failed, err)
}

// span is a range of ids, both ends included.
type span struct{ first, last int64 }

// readSpans yields the entries of the spans, and reports whether to go on.
func readSpans(ctx context.Context, v *snapshot.Snapshot, tape string, spans []span, yield func(layout.Entry) bool) (goOn bool, err error) {
	goOn = true
	for _, s := range spans {
		begin, err := snapshot.PhaseOf(v, s.first)
		if err != nil {
			return false, err
		}
		w := &snapshot.Walk{V: v, Tape: tape, First: begin, Last: len(v.List) - 1, From: snapshot.Place{ID: s.first}}
		err = w.Read(ctx, func(e layout.Entry) bool {
			goOn = yield(e)
			return goOn && e.ID < s.last
		})
		if err != nil || !goOn {
			return false, err
		}
	}
	return goOn, nil
}
