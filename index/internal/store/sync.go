package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"

	"tape/index/internal/fts5"
	"tape/repo"
)

// Totals counts the tapes of the index and their entries.
func (d *DB) Totals() (tapes int, entries int64, err error) {
	_, err = d.row("SELECT count(*), coalesce(sum(entries - base), 0) FROM tapes", nil, &tapes, &entries)
	return tapes, entries, err
}

// Stale is of how many tapes the index does not have everything; with all, which says
// that the workspace has no others, also how many it has that are gone.
func (d *DB) Stale(ctx context.Context, tapes []*Target, has Has, all bool) (int, error) {
	n := 0
	for _, t := range tapes {
		stale, err := d.isStale(ctx, t, has[t.Tape.Branch()])
		if err != nil {
			return 0, err
		}
		if stale {
			n++
		}
	}
	if !all {
		return n, nil
	}
	gone, err := d.gone(tapes)
	return n + len(gone), err
}

func (d *DB) isStale(ctx context.Context, t *Target, k Known) (bool, error) {
	if k.No == 0 {
		return true, nil
	}
	if !t.hasAll(k) {
		mark, err := d.markOf(k)
		if errors.Is(err, errReplaced) { // with a fork of it that came before
			return true, nil
		}
		if err != nil || !query.Unchanged((*workspace.Tape)(t.Tape), mark) {
			return true, err
		}
	}
	fits, err := d.fits(ctx, t, k)
	return !fits, err
}

// CatchUp brings what the index has of the tapes up to date, all in one transaction. If that
// fails, as one of them cannot be read, those before it are taken up one by one.
func (d *DB) CatchUp(ctx context.Context, tapes []*Target, progress func(entries int64)) (added int64, err error) {
	has, err := d.Has(tapes)
	if err != nil {
		return 0, err
	}
	// Those that the index has come in the order of their numbers, as documents do.
	number := func(t *Target) uint64 { return uint64(has[t.Tape.Branch()].No - 1) } // new ones last
	tapes = slices.Clone(tapes)
	slices.SortStableFunc(tapes, func(a, b *Target) int { return cmp.Compare(number(a), number(b)) })
	added, err = d.catchUp(ctx, tapes, has, len(tapes), progress)
	if err == nil || d.scratch != "" || len(tapes) == 1 || errors.Is(err, ErrMany) || IsDamage(err) || IsUnwritable(err) || IsBusy(err) || ctx.Err() != nil {
		return added, err
	}
	return d.catchUp(ctx, tapes, has, 1, progress)
}

// catchUp takes up some tapes in each transaction. A fork may be stale because its parent was.
func (d *DB) catchUp(ctx context.Context, tapes []*Target, has Has, some int, progress func(int64)) (added int64, err error) {
	for len(tapes) > 0 {
		stale, err := d.isStale(ctx, tapes[0], has[tapes[0].Tape.Branch()])
		if err != nil {
			return added, err
		}
		if !stale {
			tapes = tapes[1:]
			continue
		}
		group := tapes[:min(some, len(tapes))]
		tapes = tapes[len(group):]
		var n int64
		err = d.writing(func() error {
			n, err = d.addTapes(ctx, group, has, func(n int64) { progress(added + n) })
			return err
		})
		if err != nil {
			return added, err
		}
		added += n
	}
	return added, nil
}

// adding is what the taking up of several tapes has in common.
type adding struct {
	filler
	x        *fts5.Index
	added    int64
	progress func(int64)
}

// addTapes takes up what the index does not have of tapes.
func (d *DB) addTapes(ctx context.Context, tapes []*Target, has Has, progress func(int64)) (int64, error) {
	x, err := d.Words()
	if err != nil {
		return 0, err
	}
	a := &adding{x: x, progress: progress, filler: filler{words: &wordWriter{x: x, dir: d.scratch}}}
	if _, err := d.row("SELECT coalesce(max(no), 0) FROM tapes", nil, &a.old); err != nil {
		return 0, err
	}
	for i, t := range tapes {
		stale := i == 0
		if !stale {
			stale, err = d.isStale(ctx, t, has[t.Tape.Branch()])
		}
		if err == nil && stale {
			err = d.addTape(ctx, t, a)
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, a.close(err == nil)); err == nil && a.added > 0 {
		err = d.merge(x, false)
	}
	return a.added, err
}

// addTape takes up what the index does not have of a tape.
func (d *DB) addTape(ctx context.Context, t *Target, a *adding) error {
	k, err := d.Known(t.Tape)
	if err != nil {
		return err
	}
	s, anew, err := d.lacking(ctx, t, k, a)
	if err != nil {
		return err
	}
	if anew != nil {
		dropped, had := k.No, k.Own()
		if d.Most > 0 && had > d.Most {
			return ErrMany
		}
		if k, err = d.replaceTape(t.Tape, k.No, *anew); err != nil {
			return err
		}
		if err := d.purge(a.x, dropped, had); err != nil {
			return err
		}
	}
	return d.take(ctx, t.Tape, k, s, a)
}

func (d *DB) take(ctx context.Context, t *repo.Tape, k Known, s *query.Suffix, a *adding) error {
	facts, err := d.about(k.No)
	if err != nil {
		return err
	}
	w := &rowWriter{db: d, tape: k.No, files: map[fileKey]int64{}, insert: insertLines(rowsAtOnce), before: a.added, progress: a.progress}
	if err = a.fill(ctx, s, k.No, func(e repo.Entry) repo.Entry { return d.As.Entry(t, e) }, facts.Add, w.add); err == nil {
		err = w.flush()
	}
	if err != nil {
		return err
	}
	a.added += w.added
	mark, ok := s.Mark()
	if !ok {
		return fmt.Errorf("%w: tape %q was not read to its end", ErrStrange, t.Name())
	}
	raw, err := encodeMark(mark)
	if err != nil {
		return err
	}
	known, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	return d.exec("UPDATE tapes SET name = ?, entries = ?, bytes = ?, newest = ?, head = ?, in_tree = ?, mark = ?, about = ? WHERE no = ?",
		t.Name(), mark.LastID, k.Bytes+w.bytes, later(k.Newest, w.newest), mark.Head, mark.Disk, raw, string(known), k.No)
}

// lacking returns what the index does not have of a tape; anew, if not nil, tells that
// what it has has to go, and where the tape begins.
func (d *DB) lacking(ctx context.Context, t *Target, k Known, a *adding) (s *query.Suffix, anew *origin, err error) {
	fits, err := d.fits(ctx, t, k)
	if err != nil {
		return nil, nil, err
	}
	if fits {
		var mark snapshot.Mark
		if mark, err = d.markOf(k); err != nil {
			return nil, nil, err
		}
		if s, err = query.Since(ctx, (*workspace.Tape)(t.Tape), mark); err != nil || !s.Whole() {
			return s, nil, err
		}
	}
	o, err := d.originOf(ctx, t, a)
	if err != nil {
		return nil, nil, err
	}
	if s, err = query.Since(ctx, (*workspace.Tape)(t.Tape), o.mark); err != nil {
		return nil, nil, err
	}
	if s.Whole() {
		o = origin{}
	}
	return s, &o, nil
}

// replaceTape makes a new tape of a branch, and drops the old one's rows. Its number is
// never used again: words that are left of it belong to nobody.
func (d *DB) replaceTape(t *repo.Tape, old int64, o origin) (Known, error) {
	if old != 0 {
		if err := d.dropTape(old); err != nil {
			return Known{}, err
		}
	}
	mark, err := encodeMark(o.mark)
	if err != nil {
		return Known{}, err
	}
	k := o.Known
	if _, err := d.row(`INSERT INTO tapes (branch, name, parent, base, base_bytes, entries, bytes, newest, head, in_tree, mark, about)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '{}') RETURNING no`,
		[]any{t.Branch(), t.Name(), k.Parent, k.Base, k.BaseBytes, k.Entries, k.Bytes, k.Newest, o.mark.Head, o.mark.Disk, mark}, &k.No); err != nil {
		return Known{}, err
	}
	if k.Parent != 0 {
		err = d.putPhase(k.No, o.mark.Seq, o.open)
	}
	return k, err
}

func (d *DB) dropTape(no int64) error {
	first, last := DocOf(no, 0), DocOf(no+1, 0)-1
	return errors.Join(
		d.exec("DELETE FROM lines WHERE doc BETWEEN ? AND ?", first, last),
		d.exec("DELETE FROM dates WHERE block BETWEEN ? AND ?", first>>BlockShift, last>>BlockShift),
		d.exec("DELETE FROM files WHERE tape = ?", no),
		d.exec("DELETE FROM phases WHERE tape = ?", no),
		d.exec("DELETE FROM tapes WHERE no = ?", no),
	)
}

// purge drops the words of a tape that is gone, if many. A few wait for the next merge.
func (d *DB) purge(x *fts5.Index, tape, entries int64) error {
	const many = 10_000
	if tape == 0 || entries < many {
		return nil
	}
	return d.merge(x, true)
}

// merge joins parts of the words, and drops those of tapes that are gone.
func (d *DB) merge(x *fts5.Index, all bool) error {
	live := map[int64]bool{}
	var no int64
	err := d.rows("SELECT no FROM tapes", nil, []any{&no}, func() error {
		live[no] = true
		return nil
	})
	if err != nil {
		return err
	}
	return x.Merge(func(doc int64) bool { return live[TapeOf(doc)] }, all)
}

// goneTape is one that the index has, and the workspace has no more.
type goneTape struct{ no, entries int64 }

func (d *DB) gone(tapes []*Target) ([]goneTape, error) {
	there := map[string]bool{}
	for _, t := range tapes {
		there[t.Tape.Branch()] = true
	}
	var out []goneTape
	var g goneTape
	var branch string
	err := d.rows("SELECT no, entries - base, branch FROM tapes", nil, []any{&g.no, &g.entries, &branch}, func() error {
		if !there[branch] {
			out = append(out, g)
		}
		return nil
	})
	return out, err
}

// DropGone removes the tapes that are not among those of the workspace.
func (d *DB) DropGone(tapes []*Target) error {
	drop, err := d.gone(tapes)
	if err != nil || len(drop) == 0 {
		return err
	}
	return d.writing(func() error {
		var entries int64
		for _, g := range drop {
			entries += g.entries
			if err := d.dropTape(g.no); err != nil {
				return err
			}
		}
		x, err := d.Words()
		if err != nil {
			return err
		}
		return d.purge(x, drop[0].no, entries)
	})
}
