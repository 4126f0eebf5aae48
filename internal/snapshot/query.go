package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"tape/internal/journal"
	"tape/internal/layout"
	"tape/internal/workspace"
	"time"
)

// Latest names the last anchor of a tape wherever an anchor is named.
const Latest = "latest"

// Query selects entries of one tape. The zero Query selects all of them.
//
// The steps are taken in this order: slice by anchors, dates, kinds, limit. An anchor
// may be given by name (the latest of that name is meant), by the number of its phase
// (002), by its folder (002_phase-1) or as Latest. One that does not exist is
// ErrNotFound.
type Query struct {
	// After selects what is behind an anchor, the anchor itself left out.
	After string
	// From and To select what is strictly between two anchors: the latest From, and
	// the first To behind it.
	From, To string
	// Inclusive widens From and To to the phases From through To, whole.
	Inclusive bool
	// Phase selects one phase, its anchor included.
	Phase string
	// SkipFirst leaves out the anchor that opens the tape.
	SkipFirst bool

	// Since and Until bound the dates, both inclusive. ParseSince and ParseUntil read
	// them from text.
	Since, Until time.Time

	// Kinds keeps entries of these kinds; empty keeps all.
	Kinds []string

	// Reverse gives the last entry first.
	Reverse bool
	// Limit keeps the first N entries, in the order shown; Tail the last N. Nil means
	// no limit, a negative number is ErrInvalid.
	Limit, Tail *int
}

// N makes a limit for a Query.
func N(n int) *int { return &n }

// Check refuses a query that cannot be answered, with ErrInvalid.
func (q Query) Check() error {
	bounds := 0
	for _, set := range []bool{q.After != "", q.From != "" || q.To != "", q.Phase != ""} {
		if set {
			bounds++
		}
	}
	switch {
	case bounds > 1:
		return layout.Invalid("give one of them", "a phase, an anchor to start after and a pair of anchors exclude each other")
	case (q.From == "") != (q.To == ""):
		return layout.Invalid("", "between needs two anchors")
	case q.Limit != nil && *q.Limit < 0, q.Tail != nil && *q.Tail < 0:
		return layout.Invalid("", "a limit must not be negative")
	case !q.Since.IsZero() && !q.Until.IsZero() && q.Since.After(q.Until):
		return layout.Invalid("", "the range of dates is empty: it starts at %s and ends at %s",
			q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	}
	return nil
}

// Keep applies the steps behind the anchor slice, the limit excepted.
func (q Query) Keep(e layout.Entry) bool {
	if q.SkipFirst && e.ID == 1 && e.Kind == layout.KindAnchor {
		return false
	}
	if !q.Since.IsZero() || !q.Until.IsZero() {
		at, ok := e.Time()
		if !ok || !q.Since.IsZero() && at.Before(q.Since) || !q.Until.IsZero() && at.After(q.Until) {
			return false
		}
	}
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)
}

// span is a range of phases by index, and whether the first one's anchor counts.
type span struct {
	First, Last int // indexes into snapshot.list, last inclusive
	SkipAnchor  bool
}

// ResolveSpan finds the phases that a query's anchors bound.
func ResolveSpan(t *workspace.Tape, v *Snapshot, q Query) (span, error) {
	all := v.List
	out := span{0, len(all) - 1, false}
	switch {
	case q.Phase != "":
		i, err := FindPhase(t, v, q.Phase)
		return span{i, i, false}, err
	case q.After != "":
		i, err := FindPhase(t, v, q.After)
		return span{i, len(all) - 1, true}, err
	case q.From != "":
		from, err := FindPhase(t, v, q.From)
		if err != nil {
			return out, err
		}
		behind := from + 1
		if q.Inclusive {
			behind = from // one phase, from its anchor to its end, is a range too
		}
		to, err := findPhaseBehind(t, v, q.To, from, behind)
		if err != nil {
			return out, err
		}
		if q.Inclusive {
			return span{from, to, false}, nil
		}
		return span{from, to - 1, true}, nil
	}
	return out, nil
}

// FindPhase returns the index of the latest phase that a name, number or folder means.
func FindPhase(t *workspace.Tape, v *Snapshot, name string) (int, error) {
	all := v.List
	if name == Latest {
		return len(all) - 1, nil
	}
	for i := len(all) - 1; i >= 0; i-- {
		if ok, err := named(t, v, all[i], name); err != nil || ok {
			return i, err
		}
	}
	if i := byNumber(all, name); i >= 0 {
		return i, nil
	}
	return 0, layout.NotFound("tape anchors lists them", "tape %q has no anchor %q", t.Name(), name)
}

func findPhaseBehind(t *workspace.Tape, v *Snapshot, name string, from, behind int) (int, error) {
	all := v.List
	if name == Latest && behind < len(all) {
		return len(all) - 1, nil
	}
	for i := behind; i < len(all); i++ {
		if ok, err := named(t, v, all[i], name); err != nil || ok {
			return i, err
		}
	}
	if i := byNumber(all, name); i >= behind {
		return i, nil
	}
	return 0, layout.NotFound("tape anchors lists them in order", "tape %q has no anchor %q behind %s", t.Name(), name, all[from].Folder)
}

// named reports whether a phase's anchor has that name. The folder's name tells most
// of them apart without a look into anchor.json.
func named(t *workspace.Tape, v *Snapshot, p layout.Phase, name string) (bool, error) {
	if p.Folder != layout.FolderName(p.Seq, name) {
		return false, nil
	}
	anchor, err := ReadAnchor(v, p, t.Name())
	return anchor.Anchor == name, err
}

// byNumber finds 002, 2 with its zeros, or the whole folder name 002_phase-1.
func byNumber(all []layout.Phase, name string) int {
	seq, err := strconv.Atoi(name)
	if err != nil || len(name) < 3 {
		seq, _, _ = layout.ParseFolder(name)
		if seq < 1 || seq > len(all) || all[seq-1].Folder != name {
			return -1
		}
	}
	if seq < 1 || seq > len(all) {
		return -1
	}
	return seq - 1
}

// Entries yields the selected entries. It reads the tape as it was when the iteration
// began; what is appended meanwhile does not appear. After an error it ends.
func Entries(ctx context.Context, t *workspace.Tape, q Query) iter.Seq2[layout.Entry, error] {
	return func(yield func(layout.Entry, error) bool) {
		err := EachEntry(ctx, t, q, func(e layout.Entry) bool { return yield(e, nil) })
		if err != nil {
			yield(layout.Entry{}, fmt.Errorf("read tape %q: %w", t.Name(), err))
		}
	}
}

// EachEntry reads again if the files changed under it before it had delivered anything:
// by a reset, or a torn line that was set aside.
func EachEntry(ctx context.Context, t *workspace.Tape, q Query, yield func(layout.Entry) bool) error {
	const tries = 5
	for try := 1; ; try++ {
		before, _ := journal.PeekOf(t)
		delivered := false
		err := readOnce(ctx, t, q, func(e layout.Entry) bool {
			delivered = true
			return yield(e)
		})
		if !errors.Is(err, layout.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if delivered || try == tries {
			return orGone(t, err)
		}
		if after, _ := journal.PeekOf(t); after.Count == before.Count {
			return orGone(t, err)
		}
	}
}

// orGone is the error of a read, unless the tape itself is gone by now.
func orGone(t *workspace.Tape, err error) error {
	if _, gone := t.Head(); errors.Is(gone, layout.ErrNotFound) {
		return gone
	}
	return err
}

func readOnce(ctx context.Context, t *workspace.Tape, q Query, yield func(layout.Entry) bool) error {
	if err := q.Check(); err != nil {
		return err
	}
	v, err := Take(ctx, t)
	if err != nil {
		return err
	}
	s, err := ResolveSpan(t, v, q)
	if err != nil {
		return err
	}
	sel := selection{v: v, tape: t.Name(), q: q, span: s}
	limit := -1
	if q.Limit != nil {
		limit = *q.Limit
	}
	if q.Tail != nil {
		return sel.tail(ctx, *q.Tail, limit, yield)
	}
	emit := func(e layout.Entry) bool {
		if limit == 0 {
			return false
		}
		limit--
		return yield(e) && limit != 0
	}
	if limit == 0 {
		return nil
	}
	if q.Reverse {
		return sel.backward(ctx, emit)
	}
	return sel.forward(ctx, emit)
}

// Entry returns the entry of an id. ErrNotFound if the tape has none.
func Entry(ctx context.Context, t *workspace.Tape, id int64) (layout.Entry, error) {
	v, err := Take(ctx, t)
	if err != nil {
		return layout.Entry{}, err
	}
	i, err := PhaseOf(v, id)
	if err != nil {
		return layout.Entry{}, err
	}
	found, err := selection{v: v, tape: t.Name()}.window(ctx, i, id, id)
	if err == nil && (len(found) == 0 || found[0].ID != id) {
		err = layout.NotFound("tape info says how many there are", "tape %q has no entry @%d", t.Name(), id)
	}
	if err != nil {
		return layout.Entry{}, err
	}
	return found[0], nil
}
