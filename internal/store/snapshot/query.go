package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"time"
)

// Latest stands for the last anchor of a tape wherever an anchor is named.
const Latest = "latest"

// Query selects entries of one tape. The zero Query selects all.
//
// The steps are, in this order: slice by anchors, dates, [Properties], limit. An anchor is given by name (the latest
// of that name), by the number of its phase (002), by its folder (002_phase-1) or as Latest. Errors:
// ErrNotFound for a missing one.
type Query struct {
	// After selects the entries that follow an anchor, without the anchor itself.
	After string
	// From and To select the entries between the latest From and the first To after it.
	From, To string
	// Inclusive extends From and To to the complete phases From through To.
	Inclusive bool
	// Phase selects one phase, its anchor included.
	Phase string
	// FirstID and LastID keep entries with ids from FirstID to LastID; 0 is no bound.
	FirstID, LastID int64
	// SkipFirst leaves out the tape's first anchor.
	SkipFirst bool

	// Since and Until limit the dates, inclusively, and leave out entries without a date; see ParseSince and
	// ParseUntil.
	Since, Until time.Time

	// Kinds keeps entries of these kinds; empty keeps all.
	Kinds []string
	// Roles keeps entries of these roles, see Entry.Role; empty keeps all.
	Roles []string
	// Authors keeps entries whose author, as Name <mail>, contains one of these, ignoring case. An entry
	// without author counts as the tape's owner's. See Of.
	Authors []string
	owner   string

	// Reverse puts the last entry first.
	Reverse bool
	// Tail keeps the newest N entries, and Limit the first N in the order shown. Nil means no limit.
	Limit, Tail *int
}

// N returns a limit for a Query.
func N(n int) *int { return &n }

// Check refuses a contradictory query. Errors: ErrInvalid.
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
		return layout.Invalid("the earlier date comes first, as in since 2026-11-19 until 2026-11-20, or since 3d until yesterday",
			"the range of dates is empty: it starts at %s and ends at %s", q.Since.Format(time.RFC3339), q.Until.Format(time.RFC3339))
	}
	return nil
}

// Of returns the query for a tape. Keep needs it to filter by author.
func (q Query) Of(t *workspace.Tape) Query {
	if len(q.Authors) > 0 {
		head, _ := t.Head() // without one, there is no owner
		q.owner = Owner(t, head)
	}
	return q
}

// Keep reports whether an entry passes the bounds of ids, SkipFirst, the dates and Properties. It ignores
// After, From, To, Phase and limits.
func (q Query) Keep(e layout.Entry) bool {
	if e.ID < q.FirstID || q.LastID > 0 && e.ID > q.LastID {
		return false
	}
	if q.SkipFirst && e.ID == 1 && e.Kind == layout.KindAnchor {
		return false
	}
	if !q.Since.IsZero() || !q.Until.IsZero() {
		date, ok := e.Time()
		if !ok || !q.Since.IsZero() && date.Before(q.Since) || !q.Until.IsZero() && date.After(q.Until) {
			return false
		}
	}
	for i := range Properties {
		if !Properties[i].keeps(&q, e) {
			return false
		}
	}
	return true
}

// span is a range of phases, and whether the first one's anchor is left out.
type span struct {
	First, Last int // indexes into Snapshot.List, inclusive
	SkipAnchor  bool
}

// Select takes a snapshot of a tape, and finds the phases that a query's anchors select.
func Select(ctx context.Context, t *workspace.Tape, q Query) (v *Snapshot, s span, err error) {
	if err = q.Check(); err != nil {
		return nil, s, err
	}
	if v, err = Take(ctx, t); err != nil {
		return nil, s, err
	}
	last := len(v.List) - 1
	switch {
	case q.Phase != "":
		s.First, err = FindPhase(t, v, q.Phase)
		s.Last = s.First
	case q.After != "":
		s.First, err = FindPhase(t, v, q.After)
		s.Last, s.SkipAnchor = last, true
	case q.From != "":
		if s.First, err = FindPhase(t, v, q.From); err != nil {
			break
		}
		lowest := s.First // one phase, from its anchor to its end, is a range too
		if !q.Inclusive {
			lowest++
		}
		if s.Last, err = v.find(q.To, lowest, slices.All(v.List[lowest:])); s.Last < 0 {
			err = v.notAfter(t, q, s.First)
		}
		if !q.Inclusive {
			s.Last, s.SkipAnchor = s.Last-1, true
		}
	default:
		s.Last = last
		if q.FirstID > 0 {
			s.First, err = PhaseOf(v, q.FirstID)
		}
	}
	return v, s, err
}

// notAfter returns the error for a query whose To is not after From, the phase at index from.
func (v *Snapshot) notAfter(t *workspace.Tape, q Query, from int) error {
	if i, err := FindPhase(t, v, q.To); err == nil && i < from {
		return layout.NotFound("the earlier anchor comes first", "%s of tape %q does not come after %s", v.List[i].Folder, t.Name(), v.List[from].Folder)
	}
	return layout.NotFound("", "tape %q has no anchor %q after %s", t.Name(), q.To, v.List[from].Folder).Try(layout.ListAnchorsInOrder, q.To)
}

// FindPhase returns the index of the latest phase with a name, number or folder. Errors: ErrNotFound.
func FindPhase(t *workspace.Tape, v *Snapshot, name string) (int, error) {
	i, err := v.find(name, 0, slices.Backward(v.List))
	if i < 0 {
		return 0, layout.NotFound("", "tape %q has no anchor %q", t.Name(), name).Try(layout.ListAnchors, name)
	}
	return i, err
}

// find returns the index of the first of the given phases, which start at index lowest, that has a name,
// number or folder; -1 if none.
func (v *Snapshot) find(name string, lowest int, phases iter.Seq2[int, layout.Phase]) (int, error) {
	if name == Latest && lowest < len(v.List) {
		return len(v.List) - 1, nil
	}
	for i, p := range phases {
		if p.Folder != layout.FolderName(p.Seq, name) {
			continue // usually saves reading anchor.json
		}
		if anchor, err := ReadAnchor(v, p, ""); err != nil || anchor.Anchor == name {
			return lowest + i, err
		}
	}
	seq, isNumber := PhaseNumber(name)
	i := slices.IndexFunc(v.List, func(p layout.Phase) bool { return isNumber && p.Seq == seq || p.Folder == name })
	if i < lowest {
		i = -1
	}
	return i, nil
}

// PhaseNumber parses the number of a phase: 002, or 2.
func PhaseNumber(name string) (seq int, ok bool) {
	seq, err := strconv.Atoi(name)
	return seq, err == nil && name[0] >= '0' // no sign
}

// Entries yields the selected entries of the tape as it is when the iteration begins; later appends do not
// appear. It ends after an error.
func Entries(ctx context.Context, t *workspace.Tape, q Query) iter.Seq2[layout.Entry, error] {
	return layout.Seq(func(yield func(layout.Entry) bool) error {
		return layout.Wrap(EachEntry(ctx, t, q, yield), "read tape %q", t.Name())
	})
}

// EachEntry is Entries with a callback.
func EachEntry(ctx context.Context, t *workspace.Tape, q Query, yield func(layout.Entry) bool) error {
	return Reread(t, yield, func(yield func(layout.Entry) bool) error { return readOnce(ctx, t, q, yield) })
}

// Reread repeats a read if files changed under it, by a reset, because a torn line was set aside, or because a
// working tree was removed. If it has already delivered entries, it continues after them, provided that the
// tape is still at the same commit.
func Reread(t *workspace.Tape, yield func(layout.Entry) bool, read func(yield func(layout.Entry) bool) error) error {
	const tries = 5
	was, err := t.Head()
	if err != nil {
		return err
	}
	last := int64(0) // the last delivered id
	for try := 1; ; try++ {
		before, err := journal.PeekOf(t)
		if err != nil {
			return err
		}
		skip := last
		err = read(func(e layout.Entry) bool {
			if skip > 0 {
				if e.ID == skip {
					skip = 0
				}
				return true
			}
			last = e.ID
			return yield(e)
		})
		if !errors.Is(err, layout.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		after, recErr := journal.PeekOf(t)
		now, headErr := t.Head()
		if try == tries || recErr != nil || after.Count == before.Count || last > 0 && (headErr != nil || now != was) {
			return orGone(t, was, err)
		}
	}
}

// orGone returns the error of a read, or ErrNotFound if the tape itself is gone. A fork with another commit may
// be a new one of the same name; the files of the old one vanished during the read.
func orGone(t *workspace.Tape, was gitstore.Hash, err error) error {
	now, gone := t.Head()
	switch {
	case errors.Is(gone, layout.ErrNotFound):
		return gone
	case gone == nil && now != was && t.IsFork():
		return layout.NotFound("read it again, if it is still there", "fork %q was closed or changed while it was read", t.Name())
	}
	return err
}

func readOnce(ctx context.Context, t *workspace.Tape, q Query, yield func(layout.Entry) bool) error {
	v, s, err := Select(ctx, t, q)
	if err != nil {
		return err
	}
	sel := selection{v: v, tape: t.Name(), q: q.Of(t), span: s}
	limit := -1
	if q.Limit != nil {
		limit = *q.Limit
	}
	if q.Tail != nil && !q.Reverse {
		return sel.tail(ctx, *q.Tail, limit, yield)
	} else if q.Tail != nil && (limit < 0 || *q.Tail < limit) {
		limit = *q.Tail
	}
	emit := func(e layout.Entry) bool {
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

// Entry returns the entry with an id. Errors: ErrNotFound.
func Entry(ctx context.Context, t *workspace.Tape, id int64) (found layout.Entry, err error) {
	err = Reread(t, func(e layout.Entry) bool { found = e; return true }, func(yield func(layout.Entry) bool) error {
		v, err := Take(ctx, t)
		if err != nil {
			return err
		}
		i, err := PhaseOf(v, id)
		if err != nil {
			return err
		}
		list, err := selection{v: v, tape: t.Name()}.window(ctx, i, id, id)
		if err == nil && (len(list) == 0 || list[0].ID != id) {
			err = layout.NotFound("", "tape %q has no entry @%d", t.Name(), id).Try(layout.ShowEntryCount)
		}
		if err == nil {
			yield(list[0])
		}
		return err
	})
	return found, err
}
