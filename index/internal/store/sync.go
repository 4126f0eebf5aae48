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

// Stale counts the tapes of which the index does not have everything. all says that tapes are all tapes of the
// workspace. Then Stale also counts the tapes in the index that no longer exist.
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

func (d *DB) isStale(ctx context.Context, t *Target, k TapeRow) (bool, error) {
	if k.No == 0 {
		return true, nil
	}
	if !t.hasAll(k) {
		mark, err := d.markOf(k)
		if errors.Is(err, errReplaced) { // the tape was, while a fork of it was added
			return true, nil
		}
		if err != nil || !query.Unchanged((*workspace.Tape)(t.Tape), mark) {
			return true, err
		}
	}
	fits, err := d.fits(ctx, t, k)
	return !fits, err
}

// CatchUp brings the index up to date with the tapes, in one transaction. If a tape cannot be read, it
// starts again with a transaction for each tape, so that the tapes before the unreadable one are added.
func (d *DB) CatchUp(ctx context.Context, tapes []*Target, progress func(entries int64)) (added int64, err error) {
	has, err := d.Has(tapes)
	if err != nil {
		return 0, err
	}
	// The tapes must be in the order of their numbers, because documents must.
	number := func(t *Target) uint64 { return uint64(has[t.Tape.Branch()].No - 1) } // new ones last
	tapes = slices.Clone(tapes)
	slices.SortStableFunc(tapes, func(a, b *Target) int { return cmp.Compare(number(a), number(b)) })
	added, err = d.catchUp(ctx, tapes, has, len(tapes), progress)
	if err == nil || d.scratch != "" || len(tapes) == 1 || errors.Is(err, ErrTooMany) || IsDamage(err) || IsUnwritable(err) || IsBusy(err) || ctx.Err() != nil {
		return added, err
	}
	return d.catchUp(ctx, tapes, has, 1, progress)
}

// catchUp adds the stale tapes, up to perTransaction of them at once. A fork may become stale when its parent
// is added, so each tape is checked just before.
func (d *DB) catchUp(ctx context.Context, tapes []*Target, has Has, perTransaction int, progress func(int64)) (added int64, err error) {
	for len(tapes) > 0 {
		stale, err := d.isStale(ctx, tapes[0], has[tapes[0].Tape.Branch()])
		if err != nil {
			return added, err
		}
		if !stale {
			tapes = tapes[1:]
			continue
		}
		group := tapes[:min(perTransaction, len(tapes))]
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

// addition is shared by the tapes that are added together.
type addition struct {
	filler
	x        *fts5.Index
	added    int64
	progress func(int64)
}

// addTapes adds what the index does not have of the tapes. The first one is known to be stale.
func (d *DB) addTapes(ctx context.Context, tapes []*Target, has Has, progress func(int64)) (int64, error) {
	clear(d.unsettled)
	x, err := d.Words()
	if err != nil {
		return 0, err
	}
	a := &addition{x: x, progress: progress, filler: filler{words: &wordWriter{x: x, dir: d.scratch}, notes: d.View.Plain()}}
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
	if err == nil {
		err = d.settle(ctx, storeOf(tapes[0]))
	}
	if err = errors.Join(err, a.close(err == nil)); err == nil && a.added > 0 {
		err = d.merge(x, false)
	}
	return a.added, err
}

// addTape adds what the index does not have of a tape.
func (d *DB) addTape(ctx context.Context, t *Target, a *addition) error {
	k, err := d.TapeRow(t.Tape)
	if err != nil {
		return err
	}
	s, newOrigin, err := d.missing(ctx, t, k, a)
	if err != nil {
		return err
	}
	if newOrigin != nil {
		dropped, had := k.No, k.Own()
		if d.Most > 0 && had > d.Most {
			return ErrTooMany
		}
		if k, err = d.replaceTape(t.Tape, k.No, *newOrigin); err != nil {
			return err
		}
		if err := d.dropWords(a.x, dropped, had); err != nil {
			return err
		}
	}
	return d.addEntries(ctx, t.Tape, k, s, a)
}

func (d *DB) addEntries(ctx context.Context, t *repo.Tape, k TapeRow, s *query.Suffix, a *addition) error {
	facts, done, err := d.saved(k.No)
	if err != nil {
		return err
	}
	w := &rowWriter{db: d, tape: k.No, session: done, files: map[fileKey]int64{}, insert: insertLines(rowsAtOnce), before: a.added, progress: a.progress}
	read := facts.Add
	if !d.View.Plain() {
		read = func(repo.Entry) {} // the entry is not as it is seen
	}
	rank := done.Rank()
	if err = a.fill(ctx, s, k.No, func(e repo.Entry) repo.Entry { return d.View.Entry(t, e) }, read, w.add); err == nil {
		err = errors.Join(w.flush(), d.addSums(k.No, w.session.Take()), d.addFacts(k.No, w.facts))
	}
	if err == nil && rank != w.session.Rank() && k.Own() > 0 { // what came before may count elsewhere now
		err = d.unsettle(k.No, DocOf(k.No, 0), DocOf(k.No+1, 0)-1)
	}
	if err != nil {
		return err
	}
	a.added += w.added
	mark, ok := s.Mark()
	if !ok {
		return fmt.Errorf("%w: tape %q was not read to its end", ErrInconsistent, t.Name())
	}
	raw, err := encodeMark(mark)
	if err != nil {
		return err
	}
	facts.Marks = w.session.Marks()
	about, err1 := json.Marshal(facts)
	if err1 != nil {
		return err1
	}
	return d.exec(`UPDATE tapes SET name = ?, entries = ?, bytes = ?, newest = ?, head = ?, in_tree = ?, mark = ?,
		about = ?, project = ?, agent = ?, session = ?, activity = ?, rank = ? WHERE no = ?`,
		t.Name(), mark.LastID, k.Bytes+w.bytes, later(k.Newest, w.newest), mark.Head, mark.Disk, raw,
		string(about), facts.Project, facts.Agent, sessionOf(t, w.session.Helper), encodeActivity(w.session), w.session.Rank(), k.No)
}

// missing returns what the index does not have of a tape. If newOrigin is not nil, the tape's rows
// must be replaced, and the new rows begin there.
func (d *DB) missing(ctx context.Context, t *Target, k TapeRow, a *addition) (s *query.Suffix, newOrigin *origin, err error) {
	fits, err := d.fits(ctx, t, k)
	if err != nil {
		return nil, nil, err
	}
	if fits {
		var mark snapshot.ReadMark
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

// replaceTape makes a new tape for a branch, and drops the old one's rows. Numbers are never reused, so words
// that are left from the old tape belong to no tape.
func (d *DB) replaceTape(t *repo.Tape, old int64, o origin) (TapeRow, error) {
	if old != 0 {
		if err := d.dropTape(old); err != nil {
			return TapeRow{}, err
		}
	}
	mark, err := encodeMark(o.mark)
	if err != nil {
		return TapeRow{}, err
	}
	k := o.TapeRow
	if _, err := d.row(`INSERT INTO tapes (branch, name, parent, base, base_bytes, entries, bytes, newest, head, in_tree, mark, about)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '{}') RETURNING no`,
		[]any{t.Branch(), t.Name(), k.Parent, k.Base, k.BaseBytes, k.Entries, k.Bytes, k.Newest, o.mark.Head, o.mark.Disk, mark}, &k.No); err != nil {
		return TapeRow{}, err
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
		d.exec("DELETE FROM label_blocks WHERE label IN (SELECT no FROM labels) AND block BETWEEN ? AND ?", first>>labelShift, last>>labelShift),
		d.exec("DELETE FROM dates WHERE block BETWEEN ? AND ?", first>>BlockShift, last>>BlockShift),
		d.exec("DELETE FROM files WHERE tape = ?", no),
		d.exec("DELETE FROM phases WHERE tape = ?", no),
		d.unsettle(no, first, last),
		d.exec("DELETE FROM facts WHERE doc BETWEEN ? AND ?", first, last),
		d.dropSums(no),
		d.exec("DELETE FROM tapes WHERE no = ?", no),
	)
}

// dropWords removes the words of dropped tapes if they had many entries. A few wait for the next merge. tape
// is the number of a dropped tape; 0: none was dropped.
func (d *DB) dropWords(x *fts5.Index, tape, entries int64) error {
	const many = 10_000
	if tape == 0 || entries < many {
		return nil
	}
	return d.merge(x, true)
}

// merge merges segments of words, and removes from them the words of tapes that no longer exist.
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

// goneTape is a tape in the index that no longer exists.
type goneTape struct{ no, entries int64 }

// gone returns the tapes in the index that are not among the given ones.
func (d *DB) gone(tapes []*Target) ([]goneTape, error) {
	exists := map[string]bool{}
	for _, t := range tapes {
		exists[t.Tape.Branch()] = true
	}
	var out []goneTape
	var g goneTape
	var branch string
	err := d.rows("SELECT no, entries - base, branch FROM tapes", nil, []any{&g.no, &g.entries, &branch}, func() error {
		if !exists[branch] {
			out = append(out, g)
		}
		return nil
	})
	return out, err
}

// DropGone removes the tapes that no longer exist from the index. tapes are all tapes of the workspace.
func (d *DB) DropGone(ctx context.Context, in *repo.Store, tapes []*Target) error {
	clear(d.unsettled)
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
		if err := d.settle(ctx, in); err != nil {
			return err
		}
		x, err := d.Words()
		if err != nil {
			return err
		}
		return d.dropWords(x, drop[0].no, entries)
	})
}
