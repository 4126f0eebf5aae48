package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"tape/internal/query"
	"tape/internal/snapshot"
	"tape/internal/workspace"

	"tape/index/internal/fts5"
	"tape/repo"
)

// Known is what the index has of a tape.
type Known struct {
	No        int64
	Parent    int64 // the number of the tape that this one is a fork of; 0: it is stored whole
	Base      int64 // the last entry that is not the fork's own
	BaseBytes int64 // of the lines up to that
	Entries   int64 // the last id
	Bytes     int64 // of all lines
	Newest    sql.NullInt64
	mark      snapshot.Mark
}

// Own is how many entries the index has as the tape's own.
func (k Known) Own() int64 { return k.Entries - k.Base }

// Known looks a tape up. No number, no error: the index does not have it.
func (d *DB) Known(t *repo.Tape) (Known, error) {
	var k Known
	var mark string
	ok, err := d.row("SELECT no, parent, base, base_bytes, entries, bytes, newest, mark FROM tapes WHERE branch = ?", []any{t.Branch()},
		&k.No, &k.Parent, &k.Base, &k.BaseBytes, &k.Entries, &k.Bytes, &k.Newest, &mark)
	if err != nil || !ok {
		return k, err
	}
	if k.mark, err = decodeMark(mark); err != nil {
		return k, fmt.Errorf("%w: mark of %s: %w", ErrStrange, t.Branch(), err)
	}
	if k.Entries != k.mark.LastID || k.Entries < 0 || k.Entries >= 1<<tapeShift {
		return k, fmt.Errorf("%w: %s has %d entries, and ends with entry %d", ErrStrange, t.Branch(), k.Entries, k.mark.LastID)
	}
	if k.Base < 0 || k.Base > k.Entries || k.Parent < 0 || k.Parent >= k.No || (k.Base == 0) != (k.Parent == 0) {
		return k, fmt.Errorf("%w: %s begins behind entry %d of tape %d", ErrStrange, t.Branch(), k.Base, k.Parent)
	}
	return k, nil
}

// encodeMark gives the text of a mark, with a checksum in front: reading on from a place
// that damage made would look as if the tape were damaged.
func encodeMark(m snapshot.Mark) (string, error) {
	raw, err := json.Marshal(m)
	return fmt.Sprintf("%08x %s", crc32.ChecksumIEEE(raw), raw), err
}

func decodeMark(text string) (m snapshot.Mark, err error) {
	sum, raw, _ := strings.Cut(text, " ")
	if sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(raw))) {
		return m, errors.New("the checksum is wrong")
	}
	return m, json.Unmarshal([]byte(raw), &m)
}

// Totals counts the tapes of the index and their entries.
func (d *DB) Totals() (tapes int, entries int64, err error) {
	_, err = d.row("SELECT count(*), coalesce(sum(entries - base), 0) FROM tapes", nil, &tapes, &entries)
	return tapes, entries, err
}

// Stale is of how many tapes the index does not have everything; with all, which says
// that the workspace has no others, also how many it has that are gone.
func (d *DB) Stale(ctx context.Context, tapes []*Target, all bool) (int, error) {
	n := 0
	for _, t := range tapes {
		stale, err := d.isStale(ctx, t)
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

func (d *DB) isStale(ctx context.Context, t *Target) (bool, error) {
	k, err := d.Known(t.Tape)
	if err != nil {
		return false, err
	}
	if k.No == 0 || !query.Unchanged((*workspace.Tape)(t.Tape), k.mark) {
		return true, nil
	}
	fits, err := d.fits(ctx, t, k)
	return !fits, err
}

// CatchUp brings what the index has of the tapes up to date, each in one transaction. A
// fork may be stale because its parent was.
func (d *DB) CatchUp(ctx context.Context, tapes []*Target, progress func(entries int64)) (added int64, err error) {
	for _, t := range tapes {
		stale, err := d.isStale(ctx, t)
		if err != nil {
			return added, err
		}
		if !stale {
			continue
		}
		var n int64
		err = d.writing(func() error {
			n, err = d.addTape(ctx, t, func(n int64) { progress(added + n) })
			return err
		})
		if err != nil {
			return added, err
		}
		added += n
	}
	return added, nil
}

// addTape takes up what the index does not have of a tape.
func (d *DB) addTape(ctx context.Context, t *Target, progress func(int64)) (int64, error) {
	k, err := d.Known(t.Tape)
	if err != nil {
		return 0, err
	}
	s, anew, err := d.lacking(ctx, t, k)
	if err != nil {
		return 0, err
	}
	x, err := d.Words()
	if err != nil {
		return 0, err
	}
	if anew != nil {
		dropped, had := k.No, k.Own()
		if d.Most > 0 && had > d.Most {
			return 0, ErrMany
		}
		if k, err = d.replaceTape(t.Tape, k.No, *anew); err != nil {
			return 0, err
		}
		if err := d.purge(x, dropped, had); err != nil {
			return 0, err
		}
	}
	return d.take(ctx, t.Tape, k, s, x, progress)
}

func (d *DB) take(ctx context.Context, t *repo.Tape, k Known, s *query.Suffix, x *fts5.Index, progress func(int64)) (int64, error) {
	facts, err := d.about(k.No)
	if err != nil {
		return 0, err
	}
	words := &wordWriter{x: x, dir: d.scratch}
	w := &rowWriter{db: d, tape: k.No, files: map[fileKey]int64{}, insert: insertLines(rowsAtOnce), progress: progress}
	err = fill(ctx, s, k.No, facts.Add, w.add, words.add)
	if err == nil {
		err = w.flush()
	}
	if err = errors.Join(err, words.close(err == nil)); err != nil {
		return 0, err
	}
	if w.added > 0 {
		if err := d.merge(x, false); err != nil {
			return 0, err
		}
	}
	mark, ok := s.Mark()
	if !ok {
		return 0, fmt.Errorf("%w: tape %q was not read to its end", ErrStrange, t.Name())
	}
	raw, err := encodeMark(mark)
	if err != nil {
		return 0, err
	}
	known, err := json.Marshal(facts)
	if err != nil {
		return 0, err
	}
	return w.added, d.exec("UPDATE tapes SET name = ?, entries = ?, bytes = ?, newest = ?, mark = ?, about = ? WHERE no = ?",
		t.Name(), mark.LastID, k.Bytes+w.bytes, later(k.Newest, w.newest), raw, string(known), k.No)
}

// lacking returns what the index does not have of a tape; anew, if not nil, tells that
// what it has has to go, and where the tape begins.
func (d *DB) lacking(ctx context.Context, t *Target, k Known) (s *query.Suffix, anew *origin, err error) {
	fits, err := d.fits(ctx, t, k)
	if err != nil {
		return nil, nil, err
	}
	if fits {
		if s, err = query.Since(ctx, (*workspace.Tape)(t.Tape), k.mark); err != nil || !s.Whole() {
			return s, nil, err
		}
	}
	o, err := d.originOf(ctx, t)
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
	if _, err := d.row(`INSERT INTO tapes (branch, name, parent, base, base_bytes, entries, bytes, newest, mark, about)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '{}') RETURNING no`,
		[]any{t.Branch(), t.Name(), k.Parent, k.Base, k.BaseBytes, k.Entries, k.Bytes, k.Newest, mark}, &k.No); err != nil {
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
